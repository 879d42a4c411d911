import { isObject, isPresent, type JsonObject, parseObject } from '../../lib/json.ts'
import type { TakeSseEvent } from '../transport/sse.ts'

export type RepeatedChunkReader = {
  /** Remembers a parsed chunk that contained only one token. */
  readonly remember: (data: string, chunk: JsonObject) => void
  readonly match: TakeSseEvent
}

/** Called with the token of a chunk that was not parsed. Its text is the bytes from `from` to `end`. */
export type OnToken = (bytes: Buffer, from: number, end: number, isContent: boolean) => void

/** After this many consecutive layouts that no later chunk matched, the rest of the stream is parsed. */
const maxUnmatched = 4

/**
 * Reads chunks that repeat an earlier chunk except for the text of their token. This is three quarters cheaper than
 * decoding and parsing them. The parser reads every other chunk.
 */
export function createRepeatedChunkReader(echoField: string | null, onToken: OnToken): RepeatedChunkReader {
  let layout: ChunkLayout | null = null
  let unmatched = 0
  return {
    remember: (data, chunk) => {
      if (unmatched === maxUnmatched) return
      const delta = onlyDelta(chunk, echoField)
      const field = delta === null ? null : tokenFieldOf(delta)
      const next = delta === null || field === null ? null : chunkLayoutOf(data, field, String(delta[field]))
      if (next === null) return
      layout = next
      unmatched++
    },
    match: (bytes, start) => {
      if (layout === null) return -1
      const end = findTextEnd(layout, bytes, start)
      if (end === -1) return -1
      unmatched = 0
      onToken(bytes, start + layout.head.length, end, layout.field === 'content')
      return end + layout.tail.length
    },
  }
}

/** The delta of a chunk whose only new content, if it is repeated, is its token; null for any other chunk. */
function onlyDelta(chunk: JsonObject, echoField: string | null): JsonObject | null {
  if (isPresent(chunk.cost) || (echoField !== null && isObject(chunk[echoField]))) return null
  const choice = onlyChoice(chunk)
  if (choice === null || isPresent(choice.stop_reason) || typeof choice.index === 'object') return null
  return isObject(choice.delta) ? choice.delta : null
}

/** The field whose text is counted, if a delta has several. */
const tokenFieldOf = (delta: JsonObject): TokenField | null =>
  (['content', 'reasoning_content', 'reasoning'] as const).find(
    name => typeof delta[name] === 'string' && delta[name] !== '',
  ) ?? null

/**
 * The bytes around the text of a token. Most events of a stream share them. An event with this `head`, then plain text,
 * then this `tail` has the same value as the event of the layout, except for that text: replacing one string in a JSON
 * text changes no other value.
 */
type ChunkLayout = { readonly head: Buffer; readonly tail: Buffer; readonly field: TokenField }

type TokenField = 'content' | 'reasoning_content' | 'reasoning'

const QUOTE = 0x22
const BACKSLASH = 0x5c
/** Lower bytes are not allowed in a JSON string. */
const SPACE = 0x20

const maxChunkLength = 16_384
const maxTextLength = 4_096
/** Text that JSON writes unescaped. */
const plain = /^[^"\\\p{Cc}\p{Cs}]+$/u

/**
 * The layout of an event whose only token is the text of `field` in the delta of its only choice; null if unknown.
 * Finds the text in `data`, and verifies the position: it replaces the text and parses the result.
 */
function chunkLayoutOf(data: string, field: TokenField, text: string): ChunkLayout | null {
  if (data.length > maxChunkLength || !plain.test(text)) return null
  const at = data.indexOf(`"${text}"`, data.indexOf(`"${field}"`) + field.length + 2)
  if (at === -1) return null
  const head = data.slice(0, at + 1)
  const tail = data.slice(at + 1 + text.length)
  const other = `${text}.`
  const choice = onlyChoice(parseObject(head + other + tail))
  if (!isObject(choice?.delta) || choice.delta[field] !== other) return null
  // If the stream has different line ends, or events of several lines, no chunk matches.
  return { head: Buffer.from(`data: ${head}`), tail: Buffer.from(`${tail}\n\n`), field }
}

function onlyChoice(chunk: JsonObject | null): JsonObject | null {
  const choices = chunk?.choices
  if (!Array.isArray(choices) || choices.length !== 1) return null
  const choice: unknown = choices[0]
  return isObject(choice) ? choice : null
}

/** The end of the text of the event at `start`; -1 if the event is incomplete or has another layout. */
function findTextEnd({ head, tail }: ChunkLayout, bytes: Buffer, start: number): number {
  const from = start + head.length
  if (from + tail.length >= bytes.length || !isAt(head, bytes, start)) return -1
  let end = from
  for (;;) {
    const byte = bytes[end]
    if (byte === QUOTE) break
    if (byte === undefined || byte === BACKSLASH || byte < SPACE || end - from === maxTextLength) return -1
    end++
  }
  return end > from && end + tail.length <= bytes.length && isAt(tail, bytes, end) ? end : -1
}

const isAt = (part: Buffer, bytes: Buffer, start: number): boolean =>
  bytes.compare(part, 0, part.length, start, start + part.length) === 0
