import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'

/** Handles one request on a socket. Bytes and text (as Latin-1) that it returns are written. */
export type Behavior = (socket: Socket, request: string) => unknown

export type RawTarget = { readonly port: number; readonly close: () => void }

export type RawOptions = {
  readonly onConnect?: (socket: Socket) => void
  /** Called with each complete POST. A GET gets an empty object. */
  readonly onRequest?: Behavior
}

/** A TCP server on a free local port. */
export async function startRawTarget({ onConnect, onRequest }: RawOptions): Promise<RawTarget> {
  const sockets = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    socket.on('end', () => socket.end())
    onConnect?.(socket)
    let received = ''
    socket.on('data', bytes => {
      received += bytes.toString('latin1')
      for (let length = requestLength(received); length > 0; length = requestLength(received)) {
        const answer = received.startsWith('GET') ? response('{}') : onRequest?.(socket, received.slice(0, length))
        if (onRequest !== undefined && typeof answer === 'string') socket.write(answer, 'latin1')
        else if (onRequest !== undefined && Buffer.isBuffer(answer)) socket.write(answer)
        received = received.slice(length)
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return {
    port: address.port,
    close: () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

/** The length of the first request; 0 if it is not complete. */
function requestLength(received: string): number {
  const end = received.indexOf('\r\n\r\n')
  if (end === -1) return 0
  const length = end + 4 + Number(/content-length: (\d+)/i.exec(received.slice(0, end))?.[1] ?? 0)
  return received.length >= length ? length : 0
}

/** Writes `part` again and again until the socket closes. */
export function repeat(socket: Socket, part: string | Buffer, everyMs: number): void {
  const timer = setInterval(() => socket.write(part), everyMs)
  socket.on('close', () => clearInterval(timer))
}

/**
 * Writes as fast as the socket takes it. Other targets in this process have their turn after each part: a socket
 * whose reader keeps up takes every part at once, so that a loop would hold them up until it closes.
 */
export function flood(socket: Socket, part: string | Buffer): void {
  const write = () => {
    if (!socket.destroyed && socket.write(part)) setImmediate(write)
  }
  socket.on('drain', write)
  write()
}

/** Writes one character at a time. */
export function drip(socket: Socket, text: string, everyMs: number): void {
  let at = 0
  const timer = setInterval(() => {
    if (at === text.length) return clearInterval(timer)
    socket.write(text[at++] ?? '')
  }, everyMs)
  socket.on('close', () => clearInterval(timer))
}

/** A complete response with a length. */
export function response(
  body: string | Buffer,
  headers = 'content-type: application/json\r\n',
  status = '200 OK',
): Buffer {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  return Buffer.concat([
    Buffer.from(`HTTP/1.1 ${status}\r\n${headers}content-length: ${bytes.length}\r\n\r\n`, 'latin1'),
    bytes,
  ])
}

/** The head of an event stream without a length. */
export const streamHead = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n'

/** A whole event stream, after which the connection ends. */
export const stream =
  (body: string | Buffer): Behavior =>
  socket => {
    socket.write(streamHead)
    socket.end(body)
  }

export const chunk = (choice: object, more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [choice], ...more })}\n\n`
