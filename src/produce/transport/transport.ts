import type { FailureReason, LocalFault } from '../../observation/observation.ts'
import type { Timeouts } from '../../plan/plan.ts'

/** One complete HTTP request. The transport adds only the headers that HTTP requires. */
export type HttpRequest = {
  readonly method: 'GET' | 'POST'
  /** Relative to the target's base address, with a leading slash. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  readonly timeouts: Timeouts
  /** Whether it must never be sent a second time, because a sign-in in it is valid once. */
  readonly isOnce?: boolean | undefined
  /** Whether it has an idempotency key in a header of the profile. */
  readonly hasKey?: boolean | undefined
  /** A longer response body ends the exchange as `body-too-large`. */
  readonly maxBodyBytes: number
  /** Takes the body of an event stream (any success status) as it arrives. Such a body is not kept. */
  readonly onStreamBytes: OnStreamBytes | null
  /** When to leave before the response is complete. Missing: never. */
  readonly leave?: Leave | undefined
  /** How long the client takes to read this many bytes of an event stream, which it just got. Missing: no time. */
  readonly readingMs?: ((bytes: number) => number) | undefined
}

/** The client closes the connection on purpose. The exchange then ends as `left`. */
export type Leave = {
  /** The headers or the first byte of a success, a time from the sending on, or what bytes of the body have brought. */
  readonly at: 'headers' | 'first-byte' | { readonly ms: number } | { readonly isReached: () => boolean }
  /** The same in words. */
  readonly text: string
  /** How long it stops reading before. Missing: it closes at once. */
  readonly silentMs?: number
}

/** How long, and for how many bytes, to wait for a response that needs no inference. */
export type ControlBounds = { readonly timeouts: { readonly control: Timeouts }; readonly maxBodyBytes: number }

export const getJson = (path: string, headers: HttpRequest['headers'], bounds: ControlBounds): HttpRequest => ({
  method: 'GET',
  path,
  headers: { accept: 'application/json', ...headers },
  body: null,
  timeouts: bounds.timeouts.control,
  maxBodyBytes: bounds.maxBodyBytes,
  onStreamBytes: null,
})

/** An `HttpRequest`, or a write to a metrics receiver, whose body may be binary. */
export type RawHttpRequest = Omit<HttpRequest, 'method' | 'body'> & {
  readonly method: HttpRequest['method'] | 'PUT'
  readonly body: string | Uint8Array | null
}

export type OnStreamBytes = (bytes: Buffer, atMs: number) => void

/** The result of one request. Times are milliseconds on the clock of the run. */
export type Exchange = {
  readonly sentMs: number
  readonly headersMs: number | null
  readonly endMs: number
  readonly status: number | null
  /** Names in lower case, repeated ones joined with ", ". Empty before the headers. */
  readonly headers: Readonly<Record<string, string>>
  /** Whether there were more headers than `headers` has. */
  readonly headersCut?: boolean | undefined
  /** Whether the request was sent a second time, on a new connection. All times count from the first. */
  readonly retried?: boolean | undefined
  /** Empty if the body went to `onStreamBytes`. */
  readonly body: Buffer
  readonly bytes: number
  /** null if the response is complete HTTP. */
  readonly failure: TransportFailure | null
}

/** `left`: the client closed the connection on purpose. */
export type EndReason = FailureReason | 'left'

export type TransportFailure = { readonly reason: EndReason | LocalFault; readonly detail: string }

/**
 * Sends one request, without a redirect. Never rejects; an abort ends the exchange as `cancelled`. The only retry is for
 * a kept connection that the target had just closed, if the second attempt cannot have an effect of its own.
 *
 * `onFree` is called as soon as a complete response has left its connection free, before the promise resolves; not at all
 * after a failure, or if the transport cannot tell.
 */
export type Transport<Request = HttpRequest> = (
  request: Request,
  signal: AbortSignal,
  onFree?: () => void,
) => Promise<Exchange>

/** A request that waits for a connection. `onEnd` is called once. */
export type PendingRequest = {
  readonly request: HttpRequest
  readonly onEnd: (exchange: Exchange) => void
}

/**
 * Keeps this many connections busy. Each connection calls `next` as soon as it has a response, and closes when it
 * returns null. Resolves when all connections are closed. An abort ends requests in flight as `cancelled`.
 */
export type Saturate = (next: () => PendingRequest | null, connections: number, signal: AbortSignal) => Promise<void>
