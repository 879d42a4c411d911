import type { Transport } from '../transport/transport.ts'
import { scanBeats } from './beat.ts'
import type { Beats } from './delays.ts'

/** Sends as `send` does and notes the beats of each stream, by the id that the metronome gives its answer. */
export function noteBeats(send: Transport, note: (answerId: string, beats: Beats) => void): Transport {
  return async (request, signal) => {
    const { onStreamBytes } = request
    if (onStreamBytes === null) return send(request, signal)
    const beats: Beats = { writtenMs: [], lateMs: [] }
    const scan = scanBeats((writtenMs, lateMs) => {
      beats.writtenMs.push(writtenMs)
      beats.lateMs.push(lateMs)
    })
    // What is measured comes first, so that looking for beats delays the next chunk and not this one.
    const read = (bytes: Buffer, atMs: number) => {
      onStreamBytes(bytes, atMs)
      scan(bytes)
    }
    const exchange = await send({ ...request, onStreamBytes: read }, signal)
    note(exchange.headers['cf-ray'] ?? '', beats)
    return exchange
  }
}
