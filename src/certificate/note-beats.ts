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
    const reads: Buffer[] = []
    const read = (bytes: Buffer, atMs: number) => {
      onStreamBytes(bytes, atMs)
      reads.push(bytes)
    }
    const exchange = await send({ ...request, onStreamBytes: read }, signal)
    // Not before, because to look for beats would make the stamps late that are measured by them.
    for (const bytes of reads) scan(bytes)
    note(exchange.headers['cf-ray'] ?? '', beats)
    return exchange
  }
}
