import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TlsOptions } from 'node:tls'
import { type Clock, systemClock } from '../lib/clock.ts'
import { basePath, type Reply, type ReplyBody, type ServiceRequest } from './message.ts'
import { bodyLimitBytes, type Service } from './service.ts'

type ServerOptions = {
  readonly service: Service
  /** 0 for any free port. */
  readonly port: number
  readonly host: string
  /** Plain HTTP by default. */
  readonly tls?: TlsOptions | null
  /** How long a connection may be idle; clients are told whole seconds. By default longer than any pause of a client. */
  readonly keepAliveMs?: number
}

export type RunningServer = {
  readonly port: number
  readonly close: () => Promise<void>
}

/** Serves `service` over HTTP/1.1 under the base path. */
export function startServer({
  service,
  port,
  host,
  tls = null,
  keepAliveMs = 75_000,
}: ServerOptions): Promise<RunningServer> {
  const clock = systemClock()
  const options = { keepAliveTimeout: keepAliveMs, noDelay: true, requireHostHeader: false }
  const onRequest = (incoming: IncomingMessage, response: ServerResponse) => {
    receive(incoming, request => {
      const leaves = new AbortController()
      response.on('close', () => {
        if (!response.writableFinished) leaves.abort()
      })
      const later = service.respondLater(request, leaves.signal)
      if (later === null) send(clock, service.respond(request), response)
      else later.then(reply => send(clock, reply, response)).catch(() => response.destroy())
    })
  }
  const server = tls === null ? createServer(options, onRequest) : createSecureServer({ ...options, ...tls }, onRequest)
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
    const unreadable = statuses[error.code ?? ''] ?? 400
    socket.end(written(service.respond({ method: '', path: '', headers: {}, body: '', unreadable })))
  })
  // Without these two, Node.js responds without the headers of every response, or not at all.
  server.on('checkExpectation', onRequest)
  server.on('connect', (incoming: IncomingMessage, socket) => {
    socket.on('error', () => {})
    socket.end(written(service.respond({ method: 'CONNECT', path: '', headers: headersOf(incoming), body: '' })))
  })
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve({
        port: (server.address() as AddressInfo).port,
        close: () =>
          new Promise(closed => {
            server.close(() => closed())
            server.closeAllConnections()
          }),
      })
    })
  })
}

/** The statuses of what Node.js cannot read, where it is not 400. */
const statuses: Readonly<Record<string, number>> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 }

/** A whole reply as it is sent where no request could be read. */
function written({ status, headers, body }: Reply): string {
  const text = body.kind === 'whole' ? body.text : ''
  const lines = Object.entries({ ...headers, 'content-length': Buffer.byteLength(text), connection: 'close' })
  const head = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines.map(([name, value]) => `${name}: ${value}`)]
  return `${head.join('\r\n')}\r\n\r\n${text}`
}

function headersOf(incoming: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(incoming.headers)) if (typeof value === 'string') headers[name] = value
  return headers
}

/** Calls `done` once, when the body is complete or exceeds the limit. */
function receive(incoming: IncomingMessage, done: (request: ServiceRequest) => void): void {
  const headers = headersOf(incoming)
  const { method = '', url = '' } = incoming
  const path = url === basePath || url.startsWith(`${basePath}/`) ? url.slice(basePath.length) : ''
  let chunks: Buffer[] = []
  let bytes = 0
  let isComplete = false
  const respond = (body: Buffer | string) => {
    isComplete = true
    const isNameless = headers.host === undefined && incoming.httpVersion === '1.1'
    done({ method, path, headers, body, ...(isNameless && { unreadable: 400 }) })
  }

  incoming.on('data', (chunk: Buffer) => {
    if (isComplete) return
    bytes += chunk.length
    chunks.push(chunk)
    if (bytes <= bodyLimitBytes) return
    chunks = []
    headers['content-length'] = String(bytes)
    respond('')
  })
  incoming.on('end', () => {
    if (!isComplete) respond(chunks.length === 1 ? (chunks[0] ?? '') : Buffer.concat(chunks))
  })
  // A client may disconnect while it sends. Without a listener, that error would end the process.
  incoming.on('error', () => {})
}

type StreamBody = Pick<Extract<ReplyBody, { kind: 'stream' }>, 'chunks' | 'whileFull'>

/** Sends each part when it is due. Stops when the client disconnects. */
function send(clock: Clock, { status, headers: texts, afterMs, body, onLeave }: Reply, response: ServerResponse): void {
  const headers = onWire(texts)
  const startMs = clock.nowMs()
  let cancel = () => {}
  const at = (dueMs: number, wake: () => void) => {
    if (dueMs <= clock.nowMs()) wake()
    else cancel = clock.at(dueMs, wake)
  }
  response.sendDate = false
  response.on('error', () => {})
  response.on('close', () => {
    cancel()
    if (!response.writableFinished) onLeave?.(clock.nowMs() - startMs)
  })

  at(startMs + afterMs, () => {
    switch (body.kind) {
      case 'whole':
        return void response
          .writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body.text) })
          .end(body.text)
      case 'bytes':
        return void response.writeHead(status, { ...headers, 'content-length': body.bytes.length }).end(body.bytes)
      case 'stream':
        response.writeHead(status, headers)
        response.flushHeaders()
        return stream(body, 0)
      case 'live':
        response.writeHead(status, headers)
        response.flushHeaders()
        return void pump(body.parts, response)
    }
  })

  function stream({ chunks, whileFull }: StreamBody, from: number): void {
    const nowMs = clock.nowMs() - startMs
    let next = from
    let text = ''
    for (let chunk = chunks[next]; chunk !== undefined && chunk.afterMs <= nowMs; chunk = chunks[++next]) {
      const fate = response.writableNeedDrain ? whileFull?.(chunk.text) : 'waits'
      if (fate === 'breaks-off') return void response.destroy()
      if (fate !== 'is-lost') text += chunk.text
    }
    if (text !== '') response.write(text)
    const coming = chunks[next]
    if (coming === undefined) response.end()
    else at(startMs + coming.afterMs, () => stream({ chunks, whileFull }, next))
  }
}

const plainText = /^[\t\x20-\x7e]*$/

/** Headers hold bytes: a name of a model in any script is sent as UTF-8. Control characters cannot be sent. */
function onWire(headers: Reply['headers']): Reply['headers'] {
  if (Object.values(headers).every(text => plainText.test(text))) return headers
  return Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, bytesOf(text)]))
}

const bytesOf = (text: string): string => Buffer.from(text.replace(/\p{Cc}/gu, ' ')).toString('latin1')

/** Sends each part as it comes, no faster than the client reads. Without an end, the client must not see one. */
async function pump(parts: AsyncIterable<string>, response: ServerResponse): Promise<void> {
  try {
    for await (const text of parts) if (!response.write(text)) await drained(response)
    response.end()
  } catch {
    response.destroy()
  }
}

/** Resolves when more can be written, or when the client has disconnected. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      response.off('drain', done)
      response.off('close', done)
      resolve()
    }
    response.on('drain', done)
    response.on('close', done)
    if (response.destroyed) done()
  })
}
