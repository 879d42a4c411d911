import { connect, type Socket } from 'node:net'
import { type Clock, sleepUntil } from '../lib/clock.ts'
import type { TokenStamps } from './result.ts'
import { type StreamLoad, streamMs, streamStartsPerSecond } from './stream-load.ts'
import { scanStamps } from './token-stamps.ts'

export type RawReader = {
  readonly load: StreamLoad
  readonly port: number
  readonly clock: Clock
  readonly stop: AbortSignal
  /** Called when a stream has ended: its stamps, and when each was read, on the clock. */
  readonly onStream: (stamps: TokenStamps, readMs: readonly number[]) => void
}

/** The end of a chunked body. The last read of a stream ends with it. */
const bodyEnd = '0\r\n\r\n'

/**
 * Reads the same streams over plain sockets, and parses only their stamps. The remaining delay is that of the server, the
 * kernel and the event loop. Rejects if a connection fails.
 */
export async function readRawStreams({ load, port, clock, stop, onStream }: RawReader): Promise<void> {
  const sockets: Socket[] = []
  const free: Socket[] = []
  const startMs = clock.nowMs()
  const perSecond = streamStartsPerSecond(load)
  const streams = Math.round(perSecond * (streamMs(load) / 1000 + load.seconds))
  const reading: Promise<void>[] = []
  let hasFailed = false
  const body = JSON.stringify({ stream: true, max_completion_tokens: load.tokens })
  const request = `POST /api/v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: ${body.length}\r\n\r\n${body}`

  const open = (): Socket => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    // The close event that follows ends the stream.
    socket.on('error', () => socket.destroy())
    sockets.push(socket)
    return socket
  }

  /** Resolves when the stream has ended or failed. */
  const readStream = (socket: Socket): Promise<void> =>
    new Promise(resolve => {
      const stamps: TokenStamps = { writtenMs: [], lateMs: [] }
      const readMs: number[] = []
      let atMs = 0
      let last = ''
      const scan = scanStamps((writtenMs, lateMs) => {
        stamps.writtenMs.push(writtenMs)
        stamps.lateMs.push(lateMs)
        readMs.push(atMs)
      })
      const fail = () => {
        hasFailed = true
        resolve()
      }
      const read = (bytes: Buffer) => {
        atMs = clock.nowMs()
        scan(bytes)
        last = (last + bytes.toString('latin1', Math.max(0, bytes.length - bodyEnd.length))).slice(-bodyEnd.length)
        if (last !== bodyEnd) return
        socket.off('data', read).off('close', fail)
        free.push(socket)
        onStream(stamps, readMs)
        resolve()
      }
      if (socket.destroyed) return fail()
      socket.on('data', read).on('close', fail)
      socket.write(request)
    })

  try {
    for (let index = 0; index < streams && !stop.aborted && !hasFailed; index++) {
      await sleepUntil(clock, startMs + (1000 * index) / perSecond, stop)
      reading.push(readStream(free.pop() ?? open()))
    }
    await Promise.all(reading)
    if (hasFailed) throw new Error('the calibration server closed a connection')
  } finally {
    for (const socket of sockets) socket.destroy()
  }
}
