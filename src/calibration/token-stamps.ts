import type { Transport } from '../produce/transport/transport.ts'
import type { TokenStamps } from './result.ts'

/** When the server wrote a token, on the monotonic clock of the machine, and how late that was. */
export type TokenStamp = { readonly writtenMs: number; readonly lateMs: number }

const decimals = 4
const unitsPerMs = 10 ** decimals

/** The line of an event with its stamp: its `id`, which readers of completions ignore. */
export const stampLine = ({ writtenMs, lateMs }: TokenStamp): string =>
  `id: stamp ${writtenMs.toFixed(decimals)} ${lateMs.toFixed(decimals)}\n`

const opening = Buffer.from('id: stamp ')
const [LF, SPACE, POINT, ZERO] = [0x0a, 0x20, 0x2e, 0x30]

/**
 * Finds the stamps in the bytes of a stream, however these are split. Parsing the events would cost more, and this runs
 * in the measured process. No other text of the server contains the opening.
 */
export function scanStamps(onStamp: (writtenMs: number, lateMs: number) => void): (bytes: Buffer) => void {
  let rest: Buffer | null = null
  return bytes => {
    const whole: Buffer = rest === null ? bytes : Buffer.concat([rest, bytes])
    let from = 0
    let at = whole.indexOf(opening)
    while (at !== -1) {
      from = readStamp(whole, at + opening.length, onStamp)
      if (from === -1) break
      at = whole.indexOf(opening, from)
    }
    // Keep a split stamp. Without one, keep the last bytes, since they may start an opening, unless a line ends there.
    if (at !== -1) rest = whole.subarray(at)
    else if (whole.at(-1) === LF) rest = null
    else rest = whole.subarray(Math.max(from, whole.length - opening.length + 1))
  }
}

/** Returns the end of the line; -1 if it is missing. Both numbers always have all decimals. */
function readStamp(bytes: Buffer, start: number, onStamp: (writtenMs: number, lateMs: number) => void): number {
  let written = 0
  let units = 0
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at] ?? LF
    if (byte === LF) {
      onStamp(written / unitsPerMs, units / unitsPerMs)
      return at
    }
    if (byte === SPACE) {
      written = units
      units = 0
    } else if (byte !== POINT) units = units * 10 + byte - ZERO
  }
  return -1
}

/** Wraps `send` to collect the stamps of each stream, by the id of its response. */
export function collectStamps(send: Transport, note: (responseId: string, stamps: TokenStamps) => void): Transport {
  return async (request, signal) => {
    const { onStreamBytes } = request
    if (onStreamBytes === null) return send(request, signal)
    const stamps: TokenStamps = { writtenMs: [], lateMs: [] }
    const scan = scanStamps((writtenMs, lateMs) => {
      stamps.writtenMs.push(writtenMs)
      stamps.lateMs.push(lateMs)
    })
    // The measured code runs first, so that finding stamps delays the next chunk and not this one.
    const read = (bytes: Buffer, atMs: number) => {
      onStreamBytes(bytes, atMs)
      scan(bytes)
    }
    const exchange = await send({ ...request, onStreamBytes: read }, signal)
    note(exchange.headers['cf-ray'] ?? '', stamps)
    return exchange
  }
}
