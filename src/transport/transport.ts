import type { FailureReason } from '../observation/observation.ts'
import type { Timeouts } from '../plan/plan.ts'

/** One HTTP request, complete: nothing is added on the way but what HTTP itself needs. */
export type WireRequest = {
  readonly method: 'GET' | 'POST'
  /** Relative to the target's base address, with a leading slash. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  readonly timeouts: Timeouts
  /** A longer body ends the exchange as `body-too-large`. */
  readonly maxBodyBytes: number
  /** Takes the body of an event stream (status 200) as it arrives; such a body is not kept. */
  readonly onStreamBytes: OnStreamBytes | null
}

/** What can go over the wire: a `WireRequest`, or what is pushed to others than the target, which is no text. */
export type RawRequest = Omit<WireRequest, 'method' | 'body'> & {
  readonly method: WireRequest['method'] | 'PUT'
  readonly body: string | Uint8Array | null
}

export type OnStreamBytes = (bytes: Buffer, atMs: number) => void

/** What happened to one request. Instants are milliseconds on the clock of the run. */
export type Exchange = {
  readonly sentMs: number
  readonly headersMs: number | null
  readonly endMs: number
  readonly status: number | null
  /** Names in lower case, repeated ones joined with ", ". Empty before the headers. */
  readonly headers: Readonly<Record<string, string>>
  /** The body, or nothing where it went to `onStreamBytes`. */
  readonly body: Buffer
  readonly bytes: number
  /** null when the answer is complete as HTTP goes. */
  readonly failure: { readonly reason: FailureReason; readonly detail: string } | null
}

/** Sends one request once: no retry, no redirect. Never rejects; aborting ends it as `cancelled`. */
export type Transport = (request: WireRequest, signal: AbortSignal) => Promise<Exchange>

/** A request without a stream, and who is told once what became of it. */
export type Errand = {
  readonly request: Omit<WireRequest, 'onStreamBytes'>
  readonly onEnd: (exchange: Exchange) => void
}

/**
 * Keeps so many connections busy: each of them asks for its next errand as soon as it has its answer, and is done when
 * there is none. Resolves when all of them are; aborting ends what is under way as `cancelled`.
 */
export type Saturate = (next: () => Errand | null, connections: number, signal: AbortSignal) => Promise<void>
