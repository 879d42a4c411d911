import { toObject } from '../lib/json.ts'
import type { Observation } from '../observation/observation.ts'

/** `usage.completion_tokens` of the response; null where it has none, or no count. */
export function outputTokens(o: Observation): number | null {
  const body = o.answer?.body
  if (body?.kind === 'stream') return countIn(body.stream.usage)
  return body?.kind === 'json' ? countIn(toObject(body.value)?.usage) : null
}

function countIn(usage: unknown): number | null {
  const count = toObject(usage)?.completion_tokens
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : null
}
