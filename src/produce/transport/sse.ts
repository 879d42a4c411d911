/**
 * Takes the data of one event: its `data:` lines, joined by line feeds. `cut`: the event was longer than the maximum,
 * and `data` is only its beginning.
 */
export type OnSseEvent = (data: string, cut: boolean) => void

/**
 * Called wherever an event may start. It may read the event itself if the event is complete and has exactly one `data:`
 * line. It then returns the start of the next event, or else -1 to have this event decoded.
 */
export type TakeSseEvent = (bytes: Buffer, start: number) => number

export type SseOptions = {
  /** Maximum data of one event; longer data is cut. */
  readonly maxEventBytes?: number | undefined
  readonly takeEvent?: TakeSseEvent | null
}

export type SseDecoder = {
  /** The decoder may keep a reference to the bytes, so the caller must not change them. */
  readonly push: (bytes: Buffer) => void
  /** Call once, after the last bytes. Returns true if the stream stopped inside an event, which is then dropped. */
  readonly end: () => boolean
}

const LF = 0x0a
const CR = 0x0d
const COLON = 0x3a
const SPACE = 0x20
const BOM = [0xef, 0xbb, 0xbf] as const
const DATA = [0x64, 0x61, 0x74, 0x61] as const
const PING = ['event: ping', 'event:ping'].map(line => Buffer.from(line))

/**
 * Turns the bytes of an event stream into events. Reads may split the bytes anywhere
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream). Only CRLF, LF and CR end a
 * line; U+2028 is text. Comments and the fields `event`, `id` and `retry` are skipped, and so is an event named `ping`, which
 * keeps a connection alive as a comment does. The decoder works on bytes, because a read may split a character, and because
 * line ends need no decoding.
 */
export function createSseDecoder(
  onEvent: OnSseEvent,
  { maxEventBytes = 1_048_576, takeEvent = null }: SseOptions = {},
): SseDecoder {
  // The data of a line of this length certainly exceeds the maximum, with any prefix.
  const maxLineBytes = BOM.length + 'data: '.length + maxEventBytes + 1
  let pieces: Buffer[] = []
  let piecesBytes = 0
  let firstLine = true
  let afterCr = false
  let data: string | null = null
  let dataBytes = 0
  let cut = false
  let isPing = false

  const push = (bytes: Buffer): void => {
    if (bytes.length === 0) return
    let start = afterCr && bytes[0] === LF ? 1 : 0
    afterCr = false
    // Each search starts after the last result, so each byte is searched once for LF and once for CR.
    let lf = start - 1
    let cr = start - 1
    while (start < bytes.length) {
      const isInside = firstLine || isPing || data !== null || pieces.length > 0
      const next = takeEvent === null || isInside ? -1 : takeEvent(bytes, start)
      if (next !== -1) {
        start = next
        continue
      }
      if (lf < start) lf = find(LF, bytes, start)
      if (cr < start) cr = find(CR, bytes, start)
      const end = Math.min(lf, cr)
      if (end === bytes.length) {
        hold(bytes.subarray(start))
        return
      }
      endLine(bytes, start, end)
      start = end + 1
      if (end !== cr) continue
      if (start === bytes.length) afterCr = true
      else if (bytes[start] === LF) start++
    }
  }

  const end = (): boolean => {
    const rest = Buffer.concat(pieces)
    const start = firstLine ? bomLength(rest, 0, rest.length) : 0
    return data !== null || (start < rest.length && rest[start] !== COLON)
  }

  const hold = (piece: Buffer): void => {
    const room = maxLineBytes - piecesBytes
    if (room === 0) return
    const part = piece.length > room ? piece.subarray(0, room) : piece
    pieces.push(part)
    piecesBytes += part.length
  }

  const endLine = (bytes: Buffer, start: number, end: number): void => {
    if (pieces.length === 0) {
      readLine(bytes, start, end)
      return
    }
    hold(bytes.subarray(start, end))
    const line = Buffer.concat(pieces)
    pieces = []
    piecesBytes = 0
    readLine(line, 0, line.length)
  }

  const readLine = (bytes: Buffer, from: number, end: number): void => {
    const start = firstLine ? from + bomLength(bytes, from, end) : from
    firstLine = false
    if (start === end) dispatch()
    else if (isDataField(bytes, start, end)) addData(bytes, start + DATA.length + 1, end)
    else if (PING.some(line => line.equals(bytes.subarray(start, end)))) isPing = true
  }

  const addData = (bytes: Buffer, afterColon: number, end: number): void => {
    const start = afterColon < end && bytes[afterColon] === SPACE ? afterColon + 1 : afterColon
    const room = maxEventBytes - dataBytes
    if (end - start > room) cut = true
    if (room < 0) return
    const text = start < end ? bytes.toString('utf8', start, Math.min(end, start + room)) : ''
    data = data === null ? text : `${data}\n${text}`
    dataBytes += end - start + 1
  }

  const dispatch = (): void => {
    const wasPing = isPing
    isPing = false
    if (data === null) return
    const eventData = data
    const wasCut = cut
    data = null
    dataBytes = 0
    cut = false
    if (!wasPing) onEvent(eventData, wasCut)
  }

  return { push, end }
}

/** The position of the byte; the length of `bytes` if there is none. */
function find(byte: number, bytes: Buffer, from: number): number {
  const at = bytes.indexOf(byte, from)
  return at === -1 ? bytes.length : at
}

/** `data` alone, or `data:` and anything after it. */
const isDataField = (bytes: Buffer, start: number, end: number): boolean =>
  bytes[start] === DATA[0] &&
  bytes[start + 1] === DATA[1] &&
  bytes[start + 2] === DATA[2] &&
  bytes[start + 3] === DATA[3] &&
  (start + DATA.length === end || (start + DATA.length < end && bytes[start + DATA.length] === COLON))

const bomLength = (bytes: Buffer, start: number, end: number): number =>
  end - start >= BOM.length && BOM.every((byte, index) => bytes[start + index] === byte) ? BOM.length : 0
