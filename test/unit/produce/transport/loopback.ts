import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { systemClock } from '../../../../src/lib/clock.ts'
import type { Exchange, HttpRequest } from '../../../../src/produce/transport/transport.ts'
import { undiciTransport } from '../../../../src/produce/transport/undici.ts'

/** What a local server has received so far. */
export type Seen = { connections: number; readonly requests: string[] }

/**
 * Starts a server that sends `answer` to each request, as raw bytes. Text leaves the connection open; a function may do
 * anything with the socket. The server stops at the end of the test.
 */
export async function responding(response: string | ((socket: Socket) => void)): Promise<{ url: string; seen: Seen }> {
  const seen: Seen = { connections: 0, requests: [] }
  const server = createServer(socket => {
    seen.connections++
    socket.on('error', () => {})
    let received = ''
    socket.on('data', bytes => {
      received += bytes.toString('latin1')
      while (isComplete(received)) {
        const length = requestLength(received)
        seen.requests.push(received.slice(0, length))
        received = received.slice(length)
        if (typeof response === 'string') socket.write(response, 'latin1')
        else response(socket)
      }
    })
  })
  return { url: `http://127.0.0.1:${await portOf(server)}`, seen }
}

/** Listens on a free local port. The server and its connections are closed at the end of the test. */
export async function portOf(server: Server): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

export type Send = (request?: Partial<HttpRequest>, signal?: AbortSignal) => Promise<Exchange>

/** A transport to `url` that is closed at the end of the test, with generous timeouts for requests that set none. */
export function sendingTo(url: string, maxConnections = 8): Send {
  const { send, close } = undiciTransport({ baseUrl: url, clock: systemClock(), maxConnections })
  onTestFinished(close)
  return (request = {}, signal = new AbortController().signal) => send({ ...plainRequest, ...request }, signal)
}

export const limits = { connectMs: 5_000, headersMs: 5_000, idleMs: 5_000, totalMs: 10_000 } as const

export const plainRequest: HttpRequest = {
  method: 'POST',
  path: '/chat/completions',
  headers: { 'content-type': 'application/json' },
  body: '{"model":"m"}',
  timeouts: limits,
  maxBodyBytes: 100_000,
  onStreamBytes: null,
}

export const ok = (body: string, headers = ''): string =>
  `HTTP/1.1 200 OK\r\n${headers}content-length: ${body.length}\r\n\r\n${body}`

const headEnd = (received: string): number => received.indexOf('\r\n\r\n') + 4

const requestLength = (received: string): number =>
  headEnd(received) + Number(/content-length: (\d+)/i.exec(received.slice(0, headEnd(received)))?.[1] ?? 0)

const isComplete = (received: string): boolean => headEnd(received) > 3 && received.length >= requestLength(received)
