import type { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import autocannon from 'autocannon'
import type { Clock } from '../../lib/clock.ts'
import { createAbortListeners } from './abort-listeners.ts'
import {
  createFairQueue,
  type ExchangeRecorder,
  endExchange,
  onBody,
  onConnected,
  onHeaders,
  recordExchange,
} from './exchange.ts'
import { transportFailureOf } from './failures.ts'
import { createDeadlineWatch } from './timeouts.ts'
import type { Exchange, HttpRequest, Saturate, TransportFailure } from './transport.ts'

/** autocannon's client of one connection. Its published types omit most fields; the version is pinned and tested. */
type Client = EventEmitter & {
  readonly conn: Socket
  readonly parser: {
    [callback: number]: (bytes: Buffer, start: number, length: number) => void
    readonly constructor: { readonly kOnBody: number }
    readonly hadError: boolean
  }
  /** Called whenever the connection is free, to send the next request. */
  _doRequest: () => void
  /** Requests that were sent and have no response yet. A response without a request crashes autocannon. */
  readonly pipelinedRequests: { readonly insertRequest: (request: object) => void }
  readonly destroy: () => void
}

/** The duration for autocannon, because the caller decides when to stop. In seconds; a timer supports this value. */
const forever = 2_000_000
/** Delay before another attempt after a connection could not be opened. */
const reopenMs = 100

/**
 * Keeps connections of autocannon busy. autocannon corrects latencies with an interval in the wrong unit, and decodes a
 * body chunk by chunk. It sends on a connection that is closing, and treats the responses of a new connection as the
 * rest of the last one. So Turnpike ignores its statistics, takes the bytes of bodies from its parser, and replaces a
 * connection at the first irregularity.
 *
 * autocannon would send from within its read callback. A write that wakes an idle target takes five times as long, and
 * work between two reads delays the stamp of the second. So Turnpike first reads everything that has arrived, and then
 * sends several requests in a row.
 */
export function createSaturate({
  baseUrl,
  clock,
}: {
  /** `http:` only, because autocannon verifies no certificate. */
  readonly baseUrl: string
  readonly clock: Clock
}): Saturate {
  const { protocol, origin, host, pathname } = new URL(baseUrl)
  if (protocol !== 'http:') throw new RangeError(`autocannon cannot be used with ${protocol}`)
  const base = { host, pathPrefix: pathname.replace(/\/+$/, '') }
  const onAbort = createAbortListeners()
  const watch = createDeadlineWatch(clock)
  const { callLater } = createFairQueue(clock)
  const batchWrite = batchWrites()

  return (next, connections, signal) =>
    new Promise((resolve, reject) => {
      let open = connections
      const close = () =>
        callLater(() => {
          if (--open === 0) resolve()
        })

      function start(count: number): void {
        autocannon({
          url: origin,
          connections: count,
          duration: forever,
          timeout: forever,
          setupClient: client => runConnection(client as unknown as Client),
        }).then(() => {}, reject)
      }

      /** Runs one connection from its opening to its end. */
      function runConnection(client: Client): void {
        let exchange: ExchangeRecorder | null = null
        let isConnected = false
        let isOver = false

        const finish = (then: () => void): void => {
          if (isOver) return
          isOver = true
          removeAbortListener()
          // autocannon ignores the end of a client that it is still creating.
          if (exchange === null) callLater(client.destroy.bind(client))
          else client.destroy()
          then()
        }
        const reopen = () => start(1)
        const disconnect = () => finish(isConnected ? reopen : () => void clock.at(clock.nowMs() + reopenMs, reopen))
        const fail = (failure: TransportFailure | null) => {
          if (exchange !== null) endExchange(exchange, failure)
        }
        const removeAbortListener = onAbort(signal, () => {
          fail(aborted)
          finish(close)
        })

        const watchConnection = () => {
          const { conn, parser } = client
          conn.once('connect', () => {
            isConnected = true
            if (exchange !== null) onConnected(exchange, clock.nowMs())
          })
          // Runs before autocannon's own listener, which opens a new connection and continues as if it were this one.
          conn.prependListener('end', () => {
            fail(exchange !== null && isComplete(exchange) ? null : closedByTarget)
            disconnect()
          })
          conn.on('data', () => {
            if (!parser.hadError) return
            fail({ reason: 'protocol', detail: 'the response is not HTTP' })
            disconnect()
          })
          parser[parser.constructor.kOnBody] = (bytes, start, length) => {
            if (exchange !== null) onBody(exchange, bytes.subarray(start, start + length))
          }
        }

        const send = () => {
          const pending = isOver ? null : next()
          if (pending === null) return finish(close)
          const { request } = pending
          const text = toHttpText(request, base)
          const onEnd = (ended: Exchange) =>
            callLater(() => {
              // Sends the next request before this response is processed.
              send()
              pending.onEnd(ended)
            })
          batchWrite(() => {
            // autocannon would compute statistics of each response.
            if (exchange === null) client.removeAllListeners('response').on('response', onResponse)
            exchange = recordExchange(clock, watch, request, onEnd, disconnect)
            if (isConnected) onConnected(exchange, exchange.sentMs)
            if (isOver) return endExchange(exchange, aborted)
            client.pipelinedRequests.insertRequest(request)
            client.conn.write(text)
          })
        }
        client._doRequest = () => {
          // autocannon calls this again after each response.
          if (exchange !== null) return
          watchConnection()
          send()
        }

        client.on('headers', (head: unknown) => {
          const { statusCode, headers } = head as { readonly statusCode: number; readonly headers: readonly string[] }
          if (exchange === null) return
          if (statusCode >= 200) onHeaders(exchange, statusCode, headers)
          else endExchange(exchange, interimResponse(statusCode))
          // Bytes after the end of a response belong to no request.
          if (exchange.ended) disconnect()
        })
        const onResponse = () => {
          fail(null)
          if (exchange !== null && closesConnection(exchange)) finish(reopen)
        }
        client.on('connError', (error: unknown) => {
          fail(transportFailureOf(error, isConnected ? 'open' : 'opening'))
          disconnect()
        })
      }

      start(connections)
    })
}

const aborted: TransportFailure = { reason: 'cancelled', detail: 'aborted by the harness' }

const closedByTarget: TransportFailure = {
  reason: 'connection-lost',
  detail: 'the target closed the connection',
}

const interimResponse = (status: number): TransportFailure => ({
  reason: 'cancelled',
  detail: `autocannon cannot read a response after status ${status}`,
})

/** Whether the end of the connection completes the response: its body has no length and no chunks. */
const isComplete = ({ headersMs, headers }: ExchangeRecorder): boolean =>
  headersMs !== null && !('content-length' in headers) && !('transfer-encoding' in headers)

const closesConnection = ({ headers }: ExchangeRecorder): boolean => /\bclose\b/i.test(headers.connection ?? '')

/** Runs all writes of one callback in a row, after the callback has returned. */
function batchWrites(): (write: () => void) => void {
  let waiting: (() => void)[] = []
  const writeAll = () => {
    const ready = waiting
    waiting = []
    for (const write of ready) write()
  }
  return write => {
    if (waiting.push(write) === 1) queueMicrotask(writeAll)
  }
}

/** The HTTP/1.1 text of a request on a keep-alive connection. */
export function toHttpText(
  { method, path, headers, body }: Pick<HttpRequest, 'method' | 'path' | 'headers' | 'body'>,
  { host, pathPrefix }: { readonly host: string; readonly pathPrefix: string },
): string {
  let text = `${method} ${pathPrefix + path || '/'} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`
  for (const name in headers) text += `${name}: ${headers[name]}\r\n`
  return body === null ? `${text}\r\n` : `${text}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}
