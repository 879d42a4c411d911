import { choicesOf } from '../../contract/chat-options.ts'
import { type FurtherLimit, unitsOf } from '../../contract/limit-headers/further-limits.ts'
import { toObject } from '../../lib/json.ts'
import { type Observation, streamOf } from '../observation.ts'
import { is2xx, jsonObject } from '../response.ts'
import { isChat, maxPromptTokens } from './chat.ts'
import { isRpc } from './rpc.ts'

type FurtherUse = { readonly certain: number; readonly most: number; readonly reserved: number }

/** What a request uses of a further limit: at least if it was accepted, at most, and at most while it is in progress. */
export function furtherUse(
  observation: Observation,
  { counts, units, unused }: Pick<FurtherLimit, 'counts' | 'units' | 'unused'>,
): FurtherUse {
  if (counts === 'requests') return units === null ? { certain: 1, most: 1, reserved: 1 } : unitUse(observation, units)
  const { request, response } = observation
  if (!isChat(request)) return { certain: 0, most: 0, reserved: 0 }
  const bound = {
    'input-tokens': maxPromptTokens(request),
    'output-tokens': request.maxCompletionTokens * choicesOf(request.options),
  }
  const reserved = counts === 'tokens' ? bound['input-tokens'] + bound['output-tokens'] : bound[counts]
  if (response === null || !is2xx(response.status)) {
    const isGivenBack = response?.status === 429 && unused === 'returned'
    return { certain: 0, most: isGivenBack ? 0 : reserved, reserved }
  }
  const usage = toObject(streamOf(observation)?.usage ?? jsonObject(response)?.usage)
  const prompt = countIn(usage?.prompt_tokens)
  const completion = countIn(usage?.completion_tokens)
  if (prompt === null || completion === null) return { certain: 0, most: reserved, reserved }
  // Cached tokens may count for nothing.
  const input = prompt - Math.min(prompt, countIn(toObject(usage?.prompt_tokens_details)?.cached_tokens) ?? 0)
  const certain = { 'input-tokens': input, 'output-tokens': completion, tokens: input + completion }[counts]
  const actual = { 'input-tokens': prompt, 'output-tokens': completion, tokens: prompt + completion }[counts]
  const most = Math.max(actual, reserved)
  return { certain, most: unused === 'returned' ? actual : most, reserved: most }
}

/** A call that fails may count nothing. What a crafted request counts is open, and whether others than RPC calls count. */
function unitUse({ request, response }: Observation, units: NonNullable<FurtherLimit['units']>): FurtherUse {
  if (!isRpc(request)) {
    const most = request.kind === 'probe' ? Number.POSITIVE_INFINITY : unitsOf(units, 'default')
    return { certain: 0, most, reserved: most }
  }
  const body = response?.body.kind === 'json' ? response.body.value : null
  const results = (Array.isArray(body) ? body : [body]).map(toObject).filter(each => each !== null && 'result' in each)
  const succeeded = new Set(results.map(each => each?.id))
  const sumOf = (items: typeof request.items) => items.reduce((sum, { method }) => sum + unitsOf(units, method), 0)
  const most = sumOf(request.items)
  return { certain: sumOf(request.items.filter(({ id }) => succeeded.has(id))), most, reserved: most }
}

const countIn = (value: unknown): number | null =>
  Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : null
