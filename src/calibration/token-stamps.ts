import type { Transport } from '../produce/transport/transport.ts'
import type { TokenStamps } from './result.ts'

/** When the metronome wrote a token, on the clock of the machine, and how much later that was than it was to be. */
export type TokenStamp = { readonly writtenMs: number; readonly lateMs: number }

const decimals = 4
const unitsPerMs = 10 ** decimals

/** The line of an event that holds its beat: its `id`, by the standard, which no reader of completions asks for. */
export const stampLine = ({ writtenMs, lateMs }: TokenStamp): string =>
  `id: beat ${writtenMs.toFixed(decimals)} ${lateMs.toFixed(decimals)}\n`

const opening = Buffer.from('id: beat ')
const [LF, SPACE, POINT, ZERO] = [0x0a, 0x20, 0x2e, 0x30]

/**
 * Finds the beats in the bytes of a stream, however those were cut on the way. Cheaper than to read the events, because
 * it goes on inside the process that is measured; no other line that the metronome writes has this opening in it.
 */
export function scanStamps(onBeat: (writtenMs: number, lateMs: number) => void): (bytes: Buffer) => void {
  let rest: Buffer | null = null
  return bytes => {
    const whole: Buffer = rest === null ? bytes : Buffer.concat([rest, bytes])
    let from = 0
    let at = whole.indexOf(opening)
    while (at !== -1) {
      from = readBeat(whole, at + opening.length, onBeat)
      if (from === -1) break
      at = whole.indexOf(opening, from)
    }
    // A beat may be cut; or the beginning of an opening may stand at the end, unless a line ends there.
    if (at !== -1) rest = whole.subarray(at)
    else if (whole.at(-1) === LF) rest = null
    else rest = whole.subarray(Math.max(from, whole.length - opening.length + 1))
  }
}

/** Gives where the line ends; -1 where it does not. Both numbers have all of their decimals. */
function readBeat(bytes: Buffer, start: number, onBeat: (writtenMs: number, lateMs: number) => void): number {
  let written = 0
  let units = 0
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at] ?? LF
    if (byte === LF) {
      onBeat(written / unitsPerMs, units / unitsPerMs)
      return at
    }
    if (byte === SPACE) {
      written = units
      units = 0
    } else if (byte !== POINT) units = units * 10 + byte - ZERO
  }
  return -1
}

/** Sends as `send` does and notes the beats of each stream, by the id that the metronome gives its answer. */
export function collectStamps(send: Transport, note: (responseId: string, stamps: TokenStamps) => void): Transport {
  return async (request, signal) => {
    const { onStreamBytes } = request
    if (onStreamBytes === null) return send(request, signal)
    const stamps: TokenStamps = { writtenMs: [], lateMs: [] }
    const scan = scanStamps((writtenMs, lateMs) => {
      stamps.writtenMs.push(writtenMs)
      stamps.lateMs.push(lateMs)
    })
    // What is measured comes first, so that looking for beats delays the next chunk and not this one.
    const read = (bytes: Buffer, atMs: number) => {
      onStreamBytes(bytes, atMs)
      scan(bytes)
    }
    const exchange = await send({ ...request, onStreamBytes: read }, signal)
    note(exchange.headers['cf-ray'] ?? '', stamps)
    return exchange
  }
}
