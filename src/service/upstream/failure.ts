import { faultReply } from '../faults.ts'
import type { Reply, RequestState } from '../message.ts'

/** The documented status of a failure. The document has no 502. */
type FailureStatus = 500 | 503 | 504

/** A request to an upstream that failed. The message is for the operator. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError' as const
  readonly status: FailureStatus
  readonly retryAfter: string | null

  constructor(status: FailureStatus, note: string, retryAfter: string | null = null) {
    super(note)
    this.status = status
    this.retryAfter = retryAfter
  }
}

/** The error of a status that says nothing about the request; null for any other status. */
export function statusError(
  name: string,
  { status, retryAfter }: { readonly status: number; readonly retryAfter: string | null },
): UpstreamError | null {
  const note = `The ${name} upstream responded ${status}.`
  if (status === 401 || status === 403)
    return new UpstreamError(500, `${note} Check TURNPIKE_${name.toUpperCase()}_UPSTREAM_KEY.`)
  if (status === 429 || status === 503 || status === 529) return new UpstreamError(503, note, retryAfter)
  return status === 408 || status === 504 || status === 524 ? new UpstreamError(504, note) : null
}

type FailureWatch = { readonly warn: (note: string) => void; readonly leaves: AbortSignal }

/** The documented error for an upstream that failed. Anything else is thrown again. */
export function failureReply(state: RequestState, cause: unknown, { warn, leaves }: FailureWatch): Reply {
  if (!(cause instanceof UpstreamError)) throw cause
  // A caller that leaves aborts its own request.
  if (!leaves.aborted) warn(cause.message)
  if (cause.retryAfter !== null) state.headers['retry-after'] = cause.retryAfter
  return faultReply(state, cause.status)
}
