import type { Clock } from '../lib/clock.ts'
import { abortWatch } from './abort-watch.ts'
import { connectionsTo } from './connections.ts'
import { createDelivery } from './delivery.ts'
import { startExchange, type Wire } from './exchange.ts'
import type { Exchange, RawRequest } from './transport.ts'

export type UndiciTransport = {
  readonly send: (request: RawRequest, signal: AbortSignal) => Promise<Exchange>
  /** Closes every connection; what is still under way ends as `cancelled`. */
  readonly close: () => Promise<void>
}

export type UndiciTransportOptions = {
  /** `http:` or `https:`; a path in it is put in front of the path of each request. */
  readonly baseUrl: string
  readonly clock: Clock
  /** One request is on a connection at a time; a request beyond that waits, within its limit to connect. */
  readonly maxConnections: number
}

/**
 * HTTP/1.1 over undici, and nothing that undici could do besides: no retry, no redirect, no pipelining, no cookie, no
 * decompression. The certificate of an `https:` target is verified.
 */
export function undiciTransport({ baseUrl, clock, maxConnections }: UndiciTransportOptions): UndiciTransport {
  const base = new URL(baseUrl)
  const connections = connectionsTo(base.origin, maxConnections)
  const pathPrefix = base.pathname.replace(/\/+$/, '')
  const wire: Wire = { clock, connections, watchAbort: abortWatch(), pathPrefix }
  const deliver = createDelivery(clock)
  let closed = false
  return {
    send: (request, signal) =>
      new Promise(resolve => {
        if (closed || signal.aborted) resolve(neverSent(clock.nowMs()))
        else startExchange(wire, request, signal, exchange => deliver(() => resolve(exchange)))
      }),
    close: async () => {
      closed = true
      await connections.close()
    },
  }
}

const neverSent = (atMs: number): Exchange => ({
  sentMs: atMs,
  headersMs: null,
  endMs: atMs,
  status: null,
  headers: {},
  body: Buffer.alloc(0),
  bytes: 0,
  failure: { reason: 'cancelled', detail: 'aborted before it was sent' },
})
