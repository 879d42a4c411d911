import type { Dispatcher } from 'undici'
import type { Clock } from '../../lib/clock.ts'
import { createAbortListeners } from './abort-listeners.ts'
import { type Connection, type Connections, createConnections, type TlsSettings } from './connections.ts'
import {
  cancelWith,
  createFairQueue,
  type ExchangeRecorder,
  endExchange,
  onBody,
  onConnected,
  onHeaders,
  onReconnect,
  recordExchange,
} from './exchange.ts'
import { type ConnectionState, transportFailureOf } from './failures.ts'
import { createDeadlineWatch } from './timeouts.ts'
import type { Exchange, RawHttpRequest, Transport } from './transport.ts'

export type UndiciTransport = {
  readonly send: Transport<RawHttpRequest>
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
  const watch = createDeadlineWatch(clock)
  const onAbort = createAbortListeners()
  const { callLater, callOne } = createFairQueue(clock)
  const carriers = new Map<Connection, Carrier>()
  let closed = false
  let chunks = 0

  /**
   * Streams that arrive must not delay what is due. One turn of the event loop may read hundreds of chunks, so that what is due is
   * sent between them, once the parser of undici has returned.
   */
  const afterChunk = (): void => {
    clock.wakeDue(clock.nowMs())
    if (++chunks % chunksPerResponse === 0) queueMicrotask(callOne)
  }

  const carrierOf = (connection: Connection): Carrier => {
    let carrier = carriers.get(connection)
    if (carrier === undefined) {
      carrier = createCarrier(connection, clock, afterChunk, () => connections.release(connection))
      carriers.set(connection, carrier)
    }
    return carrier
  }

  function startExchange(
    request: RawHttpRequest,
    signal: AbortSignal,
    resolve: (exchange: Exchange) => void,
    onFree: (() => void) | undefined,
  ): void {
    const { method, headers, body } = request
    const recorder = recordExchange(
      clock,
      watch,
      request,
      exchange => {
        removeAbortListener()
        callLater(() => resolve(exchange))
      },
      reason => {
        if (sending.carrier === null) leaveQueue()
        else sending.carrier.cancel(sending, reason)
      },
    )
    const options = { path: pathPrefix + request.path || '/', method, headers, body }
    const sending: Sending = {
      recorder,
      options,
      onFree,
      carrier: null,
      abortRequest: null,
      unansweredSinceMs: null,
    }
    const removeAbortListener = onAbort(signal, () => cancelWith(recorder, 'cancelled', 'aborted by the harness'))
    const leaveQueue = connections.take(connection => carrierOf(connection).carry(sending))
  }

  return {
    send: (request, signal, onFree) =>
      new Promise(resolve => {
        if (closed || signal.aborted) resolve(notSent(clock.nowMs()))
        else startExchange(request, signal, resolve, onFree)
      }),
    close: async () => {
      closed = true
      await connections.close()
    },
    preopen: connections.preopen,
  }
}

/** Between as many chunks of streams, one complete response is handed on. Its work delays the stamps of further chunks. */
const chunksPerResponse = 8

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

/** An exchange and its way over a connection. */
type Sending = {
  readonly recorder: ExchangeRecorder
  readonly options: Dispatcher.DispatchOptions
  readonly onFree: (() => void) | undefined
  /** null: it waits for a connection, or undici is done with it. */
  carrier: Carrier | null
  /** null: undici has not written it yet. */
  abortRequest: ((error: Error) => void) | null
  /** When the request was written to the connection; null if it was not, or if a byte of the response has arrived. */
  unansweredSinceMs: number | null
}

/** Carries one exchange at a time over a connection. */
type Carrier = {
  readonly carry: (sending: Sending) => void
  readonly cancel: (sending: Sending, reason: string) => void
}

/**
 * Reports the events of undici to the recorder of the current exchange. A timeout or an abort can end an exchange before
 * undici is done; the connection is released only when undici is done. There is one handler for all exchanges of a
 * connection, because the closures of a handler for each would be a tenth of the garbage of a request.
 */
function createCarrier(connection: Connection, clock: Clock, afterChunk: () => void, release: () => void): Carrier {
  let current: Sending | null = null

  /** Whether the target seems to have closed a kept connection before it had the request. */
  const isIdleClose = ({ abortRequest, unansweredSinceMs }: Sending): boolean => {
    if (!connection.isReused()) return false
    if (abortRequest === null) return true
    return unansweredSinceMs !== null && clock.nowMs() - unansweredSinceMs <= maxCloseMs
  }
  const leave = (sending: Sending): void => {
    sending.carrier = null
    current = null
    release()
  }

  // undici's older handler interface. The newer one builds an object of all headers of every response, which takes a
  // tenth of the time of a call.
  const handler: Dispatcher.DispatchHandler = {
    onConnect: abort => {
      if (current === null) return
      // The connection came too late for this request. An error keeps it open for the next request; an abort closes it.
      if (current.recorder.ended) throw new Error('ended before it was sent')
      current.abortRequest = abort
      current.unansweredSinceMs = clock.nowMs()
      onConnected(current.recorder, current.unansweredSinceMs)
    },
    onResponseStarted: () => {
      if (current !== null) current.unansweredSinceMs = null
    },
    onHeaders: (status, raw) => {
      // A 1xx response comes before the final one.
      if (status >= 200 && current !== null) onHeaders(current.recorder, status, raw)
      return true
    },
    onData: bytes => {
      if (current === null) return true
      onBody(current.recorder, bytes)
      if (current?.recorder.onStreamBytes) afterChunk()
      return !current?.recorder.silent
    },
    onComplete: () => {
      const sending = current
      if (sending === null) return
      connection.onResponse()
      const isCutOff = connection.peerState() === 'reset'
      endExchange(
        sending.recorder,
        isCutOff ? { reason: 'connection-lost', detail: 'ECONNRESET: reset inside the body' } : null,
      )
      leave(sending)
      // undici sends a request that it gets now without first waiting for a turn of the event loop.
      sending.onFree?.()
    },
    onError: error => {
      const sending = current
      if (sending === null) return
      const { recorder, abortRequest, options } = sending
      const failure = transportFailureOf(error, abortRequest === null ? 'opening' : stateOf(connection))
      const wasClosed = failure.reason === 'connection-lost' && isIdleClose(sending)
      const isSent = abortRequest !== null
      if (wasClosed && !recorder.ended && (!isSent || isRepeatable(recorder.request))) {
        sending.abortRequest = null
        onReconnect(recorder, isSent, clock.nowMs())
        // The connection has lost its socket, so it opens a new one. That one is not reused, so this happens once.
        queueMicrotask(() => connection.dispatch(options, handler, recorder.request.readingMs !== undefined))
        return
      }
      endExchange(recorder, wasClosed ? { ...failure, reason: 'connection-reused-closed' } : failure)
      // undici is still cleaning up after the failed request and cannot take a new one yet.
      queueMicrotask(() => leave(sending))
    },
  }

  const carrier: Carrier = {
    carry: sending => {
      current = sending
      sending.carrier = carrier
      sending.recorder.hold = connection.hold
      connection.dispatch(sending.options, handler, sending.recorder.request.readingMs !== undefined)
    },
    cancel: ({ abortRequest }, reason) => {
      if (abortRequest === null) connection.giveUp()
      else abortRequest(new Error(reason))
    },
  }
  return carrier
}

/**
 * A close that the target sent before the request arrived takes at most this long to be seen. A later one may be the
 * response to the request.
 */
const maxCloseMs = 500

/**
 * Whether a request may be sent again although the target may have processed it (RFC 9110, section 9.2.2): its method is
 * idempotent, or its key makes it so, and nothing in it is valid only once.
 */
const isRepeatable = ({ method, headers, isOnce, hasKey }: RawHttpRequest): boolean =>
  isOnce !== true && (method !== 'POST' || hasKey === true || 'idempotency-key' in headers)

const stateOf = (connection: Connection): ConnectionState => (connection.peerState() === 'open' ? 'open' : 'ended')
