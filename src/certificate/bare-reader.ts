import { connect, type Socket } from 'node:net'
import { type Clock, sleepUntil } from '../lib/clock.ts'
import { scanBeats } from './beat.ts'
import type { Beats } from './delays.ts'
import { type StreamLoad, startsPerSecond, streamMs } from './stream-load.ts'

export type BareReader = {
  readonly load: StreamLoad
  readonly port: number
  readonly clock: Clock
  readonly stop: AbortSignal
  /** A stream has ended: its beats, and when each was read, on the clock. */
  readonly onStream: (beats: Beats, readMs: readonly number[]) => void
}

/** What ends a body that is sent in parts, where the bytes of the last read end with it. */
const bodyEnd = '0\r\n\r\n'

/**
 * The same streams over bare sockets: nothing is read of them but their beats. What remains between written and read is
 * the metronome's, the kernel's, and that of the event loop which wakes for a socket. Rejects when a connection fails.
 */
export async function readBarely({ load, port, clock, stop, onStream }: BareReader): Promise<void> {
  const sockets: Socket[] = []
  const free: Socket[] = []
  const startMs = clock.nowMs()
  const stepMs = 1000 / startsPerSecond(load)
  const endMs = startMs + streamMs(load) + load.seconds * 1000
  const underWay: Promise<void>[] = []
  const body = JSON.stringify({ stream: true, max_completion_tokens: load.tokens })
  const request = `POST /api/v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: ${body.length}\r\n\r\n${body}`

  const open = (): Socket => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    sockets.push(socket)
    return socket
  }

  const readStream = (socket: Socket): Promise<void> =>
    new Promise((resolve, reject) => {
      const beats: Beats = { writtenMs: [], lateMs: [] }
      const readMs: number[] = []
      let atMs = 0
      let last = ''
      const scan = scanBeats((writtenMs, lateMs) => {
        beats.writtenMs.push(writtenMs)
        beats.lateMs.push(lateMs)
        readMs.push(atMs)
      })
      const fail = () => reject(new Error('the metronome closed a connection'))
      const read = (bytes: Buffer) => {
        atMs = clock.nowMs()
        scan(bytes)
        last = (last + bytes.toString('latin1', Math.max(0, bytes.length - bodyEnd.length))).slice(-bodyEnd.length)
        if (last !== bodyEnd) return
        socket.off('data', read).off('close', fail)
        free.push(socket)
        onStream(beats, readMs)
        resolve()
      }
      socket.on('data', read).on('close', fail)
      socket.write(request)
    })

  try {
    for (let dueMs = startMs; dueMs < endMs && !stop.aborted; dueMs += stepMs) {
      await sleepUntil(clock, dueMs, stop)
      underWay.push(readStream(free.pop() ?? open()))
    }
    await Promise.all(underWay)
  } finally {
    for (const socket of sockets) socket.destroy()
  }
}
