import { quote } from '../lib/format.ts'
import { toObject } from '../lib/json.ts'

/** What a completion says that it used. */
export type TokenCounts = {
  readonly prompt: number
  readonly completion: number
  readonly total: number
  /** Of the prompt, what came from a cache and what was written to one. */
  readonly cached: number
  readonly written: number
  /** What is wrong with the two, which then count as nothing; null: nothing is. */
  readonly wrong: string | null
}

/** Null where it does not say it. */
export function tokenCounts(usage: unknown): TokenCounts | null {
  const said = toObject(usage)
  if (said === null) return null
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } = said
  if (!isCount(prompt) || !isCount(completion) || !isCount(total)) return null
  return { prompt, completion, total, ...cacheCounts(said.prompt_tokens_details, prompt) }
}

type CacheCounts = Pick<TokenCounts, 'cached' | 'written' | 'wrong'>

const none: CacheCounts = { cached: 0, written: 0, wrong: null }

/** A count that is missing, or null, is none: few services have both. */
function cacheCounts(details: unknown, prompt: number): CacheCounts {
  if (details === undefined || details === null) return none
  const said = toObject(details)
  if (said === null) return { ...none, wrong: `prompt_tokens_details is ${quote(details)}, expected null or an object` }
  const { cached_tokens: cached, cache_creation_input_tokens: written } = said
  const [read, wrote] = [cached ?? 0, written ?? 0]
  if (!isCount(read)) return { ...none, wrong: `cached_tokens is ${quote(cached)}, expected a whole number` }
  if (!isCount(wrote))
    return { ...none, wrong: `cache_creation_input_tokens is ${quote(written)}, expected a whole number` }
  if (read === 0 && wrote === 0) return none
  if (read + wrote <= prompt) return { cached: read, written: wrote, wrong: null }
  return {
    ...none,
    wrong: `${read} tokens are cached and ${wrote} written, expected no more than the prompt's ${prompt}`,
  }
}

export const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0
