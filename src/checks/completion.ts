import type { ClausesOf } from '../contract/clauses.ts'
import type { Contract } from '../contract/contract.ts'
import { distance, parsePico, pico } from '../lib/money.ts'
import type { ChatAsked, Observation } from '../observation/observation.ts'
import { asObject } from '../observation/scope.ts'
import { quote } from './check.ts'

/** The clauses that hold for a completion whether it was streamed or not, and the voice to speak about them. */
type Shared = ClausesOf<'chat-answer'> & ClausesOf<'chat-stream'>
type Voice = {
  readonly kept: (clause: Shared) => void
  readonly broken: (clause: Shared, because: string, seqs: readonly number[]) => void
}

export const finishReasons: readonly unknown[] = ['stop', 'length', 'tool_calls']

export type Completion = {
  readonly id: unknown
  readonly created: unknown
  readonly model: unknown
  readonly usage: unknown
  readonly cost: unknown
}

/** Who made the completion and when, what it used, what it cost. */
export function checkCompletion(
  completion: Completion,
  observation: Observation & { readonly asked: ChatAsked },
  contract: Contract,
  say: Voice,
): void {
  const seqs = [observation.seq]
  const { id, model, created, usage, cost } = completion
  const expect = (clause: Shared, kept: boolean, because: () => string) =>
    kept ? say.kept(clause) : say.broken(clause, because(), seqs)

  expect('chat.id', typeof id === 'string' && id !== '', () => `id is ${quote(id)}, expected a text`)
  // An alias may be answered by the model that it stands for; the id of a known model is that model.
  const exact = contract.models.some(known => known.id === observation.asked.model)
  const isModel = exact ? model === observation.asked.model : typeof model === 'string' && model !== ''
  expect(
    'chat.model',
    isModel,
    () => `model is ${quote(model)}, expected ${exact ? quote(observation.asked.model) : 'a name'}`,
  )
  expect(
    'chat.created',
    isRecent(created, observation),
    () => `created is ${quote(created)}, expected the Unix time of the request in seconds`,
  )

  const counts = tokenCounts(usage)
  expect('chat.usage', counts !== null, () => `usage is ${quote(usage)}, expected three whole token counts`)
  if (counts !== null) {
    const { prompt, completion: generated, total } = counts
    expect(
      'chat.usage.sum',
      prompt + generated === total,
      () => `${prompt} + ${generated} tokens are said to be ${total}`,
    )
    const bound = observation.asked.maxCompletionTokens
    expect(
      'chat.max-completion-tokens',
      generated <= bound,
      () => `${generated} tokens were generated, at most ${bound} were asked for`,
    )
  }

  if (cost === undefined || cost === null) return
  const { usd, diem } = asObject(cost) ?? {}
  const fits = isAmount(usd) && isAmount(diem)
  expect('chat.cost', fits, () => `cost is ${quote(cost)}, expected usd and diem, both numbers not below zero`)
  const expected = counts && listPrice(observation.asked.model, counts, contract)
  if (!fits || expected === null) return
  const claimed = claimedPico(usd) + claimedPico(diem)
  const tolerance = (expected * BigInt(Math.round(contract.chat.costTolerance * 1e9))) / 1_000_000_000n + 1n
  expect(
    'chat.cost.amount',
    distance(claimed, expected) <= tolerance,
    () =>
      `cost is ${quote(cost)}, expected ${Number(expected) / 1e12} by the list price for ${counts?.prompt} + ${counts?.completion} tokens`,
  )
}

type TokenCounts = {
  readonly prompt: number
  readonly completion: number
  readonly total: number
  readonly cached: boolean
}

function tokenCounts(usage: unknown): TokenCounts | null {
  const said = asObject(usage)
  const [prompt, completion, total] = [said?.prompt_tokens, said?.completion_tokens, said?.total_tokens]
  if (!isCount(prompt) || !isCount(completion) || !isCount(total)) return null
  const details = asObject(said?.prompt_tokens_details)
  const cached = Number(details?.cached_tokens ?? 0) > 0 || Number(details?.cache_creation_input_tokens ?? 0) > 0
  return { prompt, completion, total, cached }
}

/** What the tokens cost by the list, in pico-USD; null where no price is known, or cached tokens have one of their own. */
function listPrice(modelId: string, { prompt, completion, cached }: TokenCounts, contract: Contract): bigint | null {
  const price = contract.models.find(model => model.id === modelId)?.usdPerMillion
  if (!price || cached) return null
  return (BigInt(prompt) * pico(price.input) + BigInt(completion) * pico(price.output)) / 1_000_000n
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0
const isAmount = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value) && value >= 0

/** A JSON number may carry the noise of a double behind its 12th decimal. */
export const claimedPico = (amount: number): bigint => parsePico(amount) ?? pico(amount.toFixed(12))

/**
 * The target's own clock is in its Date header, so the skew of ours does not matter: `created` lies between the time
 * that the answer took before that stamp, and the stamp. A second is left on each side for the stamps' grain.
 */
function isRecent(created: unknown, { answer, sentMs, endMs }: Observation): boolean {
  if (!Number.isSafeInteger(created)) return false
  const stampMs = Date.parse(answer?.headers.date ?? '')
  if (Number.isNaN(stampMs) || sentMs === null || endMs === null) return true
  const tookMs = endMs - sentMs
  const createdMs = Number(created) * 1000
  return createdMs >= stampMs - tookMs - 2000 && createdMs <= stampMs + tookMs + 2000
}
