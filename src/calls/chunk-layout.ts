import { isObject, type JsonObject, parseObject } from '../lib/json.ts'

/**
 * What the events of a stream are, byte for byte, that differ in the text of their token only: most events of most
 * streams. An event that begins with `head`, goes on with a plain text and ends with `tail` says what the event did from
 * which the layout was learned, but for that text, because a JSON text whose one string is exchanged for another is
 * otherwise the same value.
 */
export type ChunkLayout = { readonly head: Buffer; readonly tail: Buffer; readonly member: TokenMember }

export type TokenMember = 'content' | 'reasoning_content' | 'reasoning'

const QUOTE = 0x22
const BACKSLASH = 0x5c
/** Nothing below may stand in a JSON string as it is. */
const SPACE = 0x20

const longestChunk = 16_384
const longestText = 4_096
/** Nothing that JSON would write otherwise. */
const plain = /^[^"\\\p{Cc}\p{Cs}]+$/u

/**
 * The layout of an event whose only token is the text of `member` in the delta of its only choice; null where it cannot
 * be told. Which text in `data` that is, is found out by exchanging it and reading the whole again.
 */
export function learnLayout(data: string, member: TokenMember, text: string): ChunkLayout | null {
  if (data.length > longestChunk || !plain.test(text)) return null
  const at = data.indexOf(`"${text}"`, data.indexOf(`"${member}"`) + member.length + 2)
  if (at === -1) return null
  const head = data.slice(0, at + 1)
  const tail = data.slice(at + 1 + text.length)
  const other = `${text}.`
  const choice = onlyChoice(parseObject(head + other + tail))
  if (!isObject(choice?.delta) || choice.delta[member] !== other) return null
  // Where the lines of a stream end otherwise, or an event has more of them, none will match.
  return { head: Buffer.from(`data: ${head}`), tail: Buffer.from(`${tail}\n\n`), member }
}

export function onlyChoice(chunk: JsonObject | null): JsonObject | null {
  const choices = chunk?.choices
  if (!Array.isArray(choices) || choices.length !== 1) return null
  const choice: unknown = choices[0]
  return isObject(choice) ? choice : null
}

/** Where the text ends of the event that begins at `start`; -1 where that event is not there as a whole in this layout. */
export function findTextEnd({ head, tail }: ChunkLayout, bytes: Buffer, start: number): number {
  const from = start + head.length
  if (from + tail.length >= bytes.length || !isAt(head, bytes, start)) return -1
  let end = from
  for (;;) {
    const byte = bytes[end]
    if (byte === QUOTE) break
    if (byte === undefined || byte === BACKSLASH || byte < SPACE || end - from === longestText) return -1
    end++
  }
  return end > from && end + tail.length <= bytes.length && isAt(tail, bytes, end) ? end : -1
}

const isAt = (part: Buffer, bytes: Buffer, start: number): boolean =>
  bytes.compare(part, 0, part.length, start, start + part.length) === 0
