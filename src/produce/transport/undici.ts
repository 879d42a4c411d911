import type { Dispatcher } from 'undici'
import type { Clock } from '../../lib/clock.ts'
import { createAbortListeners, type OnAbort } from './abort-listeners.ts'
import { type Connection, type Connections, createConnections, type TlsSettings } from './connections.ts'
import {
  cancelWith,
  createFairQueue,
  endExchange,
  onBody,
  onConnected,
  onHeaders,
  onReconnect,
  recordExchange,
} from './exchange.ts'
import { type ConnectionState, transportFailureOf } from './failures.ts'
import type { Exchange, RawHttpRequest } from './transport.ts'

export type UndiciTransport = {
  readonly send: (request: RawHttpRequest, signal: AbortSignal) => Promise<Exchange>
  /** Closes every connection. Requests in flight end as `cancelled`. */
  readonly close: () => Promise<void>
  readonly preopen: Connections['preopen']
}

export type UndiciTransportOptions = {
  /** `http:` or `https:`. Its path is the prefix of the path of each request. */
  readonly baseUrl: string
  readonly clock: Clock
  /** Each connection carries one request at a time. Further requests wait, within their connect timeout. */
  readonly maxConnections: number
  readonly tls?: TlsSettings | undefined
}

/**
 * HTTP/1.1 over undici, without its other features: no redirects, pipelining, cookies or decompression. The
 * certificate of an `https:` target is verified.
 */
export function undiciTransport({ baseUrl, clock, maxConnections, tls }: UndiciTransportOptions): UndiciTransport {
  const base = new URL(baseUrl)
  const connections = createConnections(base.origin, maxConnections, tls)
  const pathPrefix = base.pathname.replace(/\/+$/, '')
  const callLater = createFairQueue(clock)
  const context: UndiciContext = { clock, connections, onAbort: createAbortListeners(), pathPrefix, callLater }
  let closed = false
  return {
    send: (request, signal) =>
      new Promise(resolve => {
        if (closed || signal.aborted) resolve(notSent(clock.nowMs()))
        else startExchange(context, request, signal, resolve)
      }),
    close: async () => {
      closed = true
      await connections.close()
    },
    preopen: connections.preopen,
  }
}

const notSent = (atMs: number): Exchange => ({
  sentMs: atMs,
  headersMs: null,
  endMs: atMs,
  status: null,
  headers: {},
  body: Buffer.alloc(0),
  bytes: 0,
  failure: { reason: 'cancelled', detail: 'aborted before it was sent' },
})

/** Shared by all exchanges of a transport. */
type UndiciContext = {
  readonly clock: Clock
  readonly connections: Connections
  readonly onAbort: OnAbort
  readonly pathPrefix: string
  readonly callLater: (callback: () => void) => void
}

/**
 * Reports the events of undici to a recorder. A timeout or an abort can end the exchange before undici is done; the
 * connection is released only when undici is done.
 */
function startExchange(
  { clock, connections, onAbort, pathPrefix, callLater }: UndiciContext,
  request: RawHttpRequest,
  signal: AbortSignal,
  resolve: (exchange: Exchange) => void,
): void {
  let connection: Connection | null = null
  let abortRequest: ((error: Error) => void) | null = null
  /** When the request was written to the connection; null if it was not, or if a byte of the response has arrived. */
  let unansweredSinceMs: number | null = null

  const recorder = recordExchange(
    clock,
    request,
    exchange => {
      removeAbortListener()
      callLater(() => resolve(exchange))
    },
    reason => {
      if (connection === null) leaveQueue()
      else if (abortRequest === null) connection.giveUp()
      else abortRequest(new Error(reason))
    },
  )
  const options = (): Dispatcher.DispatchOptions => {
    const { method, headers, body } = request
    return { path: pathPrefix + request.path || '/', method, headers, body }
  }
  /** Whether the target seems to have closed a kept connection before it had the request. */
  const isIdleClose = (): boolean => {
    if (connection === null || !connection.isReused()) return false
    if (abortRequest === null) return true
    return unansweredSinceMs !== null && clock.nowMs() - unansweredSinceMs <= maxCloseMs
  }
  const release = (): void => {
    const used = connection
    connection = null
    if (used !== null) connections.release(used)
  }

  // undici's older handler interface. The newer one builds an object of all headers of every response, which takes a
  // tenth of the time of a call.
  const handler: Dispatcher.DispatchHandler = {
    onConnect: abort => {
      // The connection came too late for this request. An error keeps it open for the next request; an abort closes it.
      if (recorder.ended) throw new Error('ended before it was sent')
      abortRequest = abort
      unansweredSinceMs = clock.nowMs()
      onConnected(recorder, unansweredSinceMs)
    },
    onResponseStarted: () => {
      unansweredSinceMs = null
    },
    onHeaders: (status, raw) => {
      // A 1xx response comes before the final one.
      if (status >= 200) onHeaders(recorder, status, raw)
      return true
    },
    onData: bytes => {
      onBody(recorder, bytes)
      return true
    },
    onComplete: () => {
      connection?.onResponse()
      const isCutOff = connection?.peerState() === 'reset'
      endExchange(
        recorder,
        isCutOff ? { reason: 'connection-lost', detail: 'ECONNRESET: reset inside the body' } : null,
      )
      release()
    },
    onError: error => {
      const failure = transportFailureOf(error, abortRequest === null ? 'opening' : stateOf(connection))
      const wasClosed = failure.reason === 'connection-lost' && isIdleClose()
      const isSent = abortRequest !== null
      if (wasClosed && !recorder.ended && (!isSent || isRepeatable(request))) {
        abortRequest = null
        onReconnect(recorder, isSent, clock.nowMs())
        // The connection has lost its socket, so it opens a new one. That one is not reused, so this happens once.
        queueMicrotask(() => connection?.dispatch(options(), handler))
        return
      }
      endExchange(recorder, wasClosed ? { ...failure, reason: 'connection-reused-closed' } : failure)
      // undici is still cleaning up after the failed request and cannot take a new one yet.
      queueMicrotask(release)
    },
  }

  const removeAbortListener = onAbort(signal, () => cancelWith(recorder, 'cancelled', 'aborted by the harness'))
  const leaveQueue = connections.take(taken => {
    connection = taken
    taken.dispatch(options(), handler)
  })
}

/**
 * A close that the target sent before the request arrived takes at most this long to be seen. A later one may be the
 * response to the request.
 */
const maxCloseMs = 500

/**
 * Whether a request may be sent again although the target may have processed it (RFC 9110, section 9.2.2): its method is
 * idempotent, or its key makes it so.
 */
const isRepeatable = ({ method, headers }: RawHttpRequest): boolean => method !== 'POST' || 'idempotency-key' in headers

const stateOf = (connection: Connection | null): ConnectionState =>
  connection?.peerState() === 'open' ? 'open' : 'ended'
