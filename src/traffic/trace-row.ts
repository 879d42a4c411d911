import { isObject, type JsonObject, parseObject } from '../lib/json.ts'
import { describeValue, type Mistake } from '../lib/usage-error.ts'

/** One request of recorded traffic. Times are milliseconds since any instant. */
export type TraceRow = {
  readonly timeMs: number
  /** The call that sends it; null: unknown. */
  readonly call: string | null
  /** null: its call decides its prompt. */
  readonly lengths: { readonly input: number; readonly output: number } | null
  /** Requests with the same ids at their beginning have the same text there. */
  readonly hashIds: readonly number[]
  /** Its conversation; null: none, or unknown. */
  readonly session: string | null
  /** Tokens that the service had in its cache. */
  readonly cached: number
  /** The prompt; null: unknown, or not wanted. */
  readonly text: string | null
}

/** A line that is not a request: what is wrong with it. */
export type BadRow = { readonly mistake: Omit<Mistake, 'where'> }

/** What a part of a file is: a request, something else that is left out, or a mistake. */
export type TrafficItem = { readonly line: number } & (
  | { readonly row: TraceRow; readonly model: string | null }
  | { readonly leftOut: string }
  | { readonly mistake: Omit<Mistake, 'where'> }
)

type ReadOptions = {
  /** Whether to keep the text of prompts. */
  readonly keepsText: boolean
  /** Gets the bytes that were read since the last call. */
  readonly onBytes: (bytes: number) => void
}

/** A way to write recorded traffic down. */
export type TrafficFormat = {
  readonly title: string
  /** Whether a file is of this format. `head`: its beginning. */
  readonly matches: (head: string) => boolean
  /** The requests of a file of any size, in batches. */
  readonly read: (file: string, options: ReadOptions) => AsyncIterable<readonly TrafficItem[]>
  /** Tokens of the blocks that the ids name. */
  readonly blockTokens: number
}

/** The longest prompt and answer that a scenario may have. */
const maxTokens = 1_000_000

export const emptyRow = { call: null, lengths: null, hashIds: [], session: null, cached: 0, text: null } as const

/** `name`: of the value that is wrong. */
export const bad = (name: string, value: unknown, expected: string): BadRow => ({
  mistake: { got: `${name} ${describeValue(value)}`, expected },
})

/** A number of tokens; or what is wrong with it. `from`: the least that makes sense. */
const tokensOf = (value: unknown, name: string, from = 1): number | BadRow =>
  typeof value === 'number' && Number.isInteger(value) && value >= from && value <= maxTokens
    ? value
    : bad(name, value, `a whole number from ${from} to ${maxTokens}`)

/** The lengths of a request. An answer without a token, as of a request that failed, counts as one of one token. */
export function lengthsOf(
  input: unknown,
  output: unknown,
  names: readonly [input: string, output: string],
): { readonly input: number; readonly output: number } | BadRow {
  const prompt = tokensOf(input, names[0])
  const answer = tokensOf(output, names[1], 0)
  if (typeof prompt !== 'number') return prompt
  return typeof answer === 'number' ? { input: prompt, output: Math.max(1, answer) } : answer
}

const dateParts = /^(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(\.\d+)?(?:Z|([+-])(\d\d):?(\d\d))?$/

/** `2023-11-16 18:15:46.6805900`, also with an offset from UTC, in milliseconds; null: no such date. */
export function parseDate(written: string): number | null {
  const [
    match,
    year,
    month,
    day,
    hour,
    minute,
    second,
    fraction = '0',
    sign = '+',
    offsetHours = 0,
    offsetMinutes = 0,
  ] = dateParts.exec(written) ?? []
  if (match === undefined) return null
  const atUtc = Date.UTC(
    ...([Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second)] as const),
  )
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * 60_000
  return atUtc + Number(fraction) * 1_000 + (sign === '-' ? offset : -offset)
}

/** An element of a list in a JSON document. `text`: null if the document ends within the list. */
export function elementIn(text: string | null, expected: string): { readonly element: JsonObject } | BadRow {
  const element = text === null ? null : parseObject(text)
  if (element !== null) return { element }
  return { mistake: { got: text === null ? 'the end of the file within a list' : 'no JSON', expected } }
}

/**
 * Reads a line of a trace: `timestamp` in milliseconds, `input_length`, `output_length` and `hash_ids`, as in Mooncake.
 * `asMooncake` changes the members of a line in another format.
 */
export function parseTraceLine(
  text: string,
  asMooncake: (line: JsonObject) => JsonObject = line => line,
): TraceRow | BadRow {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { mistake: { got: 'a line that is not JSON', expected: 'a JSON object' } }
  }
  return isObject(value)
    ? rowOf(asMooncake(value))
    : { mistake: { got: describeValue(value), expected: 'a JSON object' } }
}

function rowOf(value: JsonObject): TraceRow | BadRow {
  const { timestamp, hash_ids: hashIds = [], call = null, session_id: session = null } = value
  const { text_input: text = null, cached_length: cachedLength = 0 } = value
  if (typeof timestamp !== 'number' || !(Math.abs(timestamp) <= maxTimeMs))
    return bad('timestamp', timestamp, 'a number of milliseconds')
  const isAnyLength = value.input_length !== undefined || value.output_length !== undefined || text !== null
  if (!isAnyLength && call === null)
    return { mistake: { got: 'a request without input_length', expected: 'input_length and output_length' } }
  const lengths = isAnyLength
    ? lengthsOf(value.input_length, value.output_length, ['input_length', 'output_length'])
    : null
  if (lengths !== null && 'mistake' in lengths) return lengths
  if (!Array.isArray(hashIds) || !hashIds.every(isId)) return bad('hash_ids', hashIds, 'a list of whole numbers')
  if (call !== null && typeof call !== 'string') return bad('call', call, 'the name of a call')
  if (session !== null && typeof session !== 'string' && typeof session !== 'number')
    return bad('session_id', session, 'a text or a number')
  if (text !== null && typeof text !== 'string') return bad('text_input', text, 'a text')
  const cached = tokensOf(cachedLength, 'cached_length', 0)
  if (typeof cached !== 'number') return cached
  return { timeMs: timestamp, call, lengths, hashIds, session: session === null ? null : String(session), cached, text }
}

const isId = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

/** Beyond it, a number has no microseconds left. */
const maxTimeMs = 8.64e15

/** The line of a request in a trace, without a line break. */
export function traceLine({ timeMs, call, lengths, hashIds, session, cached, text }: TraceRow): string {
  return JSON.stringify({
    timestamp: Math.round(timeMs * 1_000) / 1_000,
    ...(lengths !== null && { input_length: lengths.input, output_length: lengths.output }),
    ...(hashIds.length > 0 && { hash_ids: hashIds }),
    ...(session !== null && { session_id: session }),
    ...(cached > 0 && { cached_length: cached }),
    ...(call !== null && { call }),
    ...(text !== null && { text_input: text }),
  })
}
