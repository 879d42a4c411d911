import type { Observation } from '../observation/observation.ts'

/** `usage.completion_tokens` as the answer said it; null where it did not say, or said no count. */
export function outputTokens(o: Observation): number | null {
  const body = o.answer?.body
  if (body?.kind === 'stream') return countIn(body.stream.usage)
  return body?.kind === 'json' && isObject(body.value) && 'usage' in body.value ? countIn(body.value.usage) : null
}

function countIn(usage: unknown): number | null {
  if (!isObject(usage) || !('completion_tokens' in usage)) return null
  const count = usage.completion_tokens
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : null
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null
