/** A fixed window of one scope of one account. */
export type Window = {
  readonly startMs: number
  /** A request at or past this instant is in the next window. */
  readonly resetMs: number
  requests: number
  /** Used by completed requests, reserved by those under way. */
  tokens: number
}

/**
 * The window that a request at `nowMs` falls into. A window opens with its first request, at the start of that
 * request's second: the reset stamp has whole seconds, and has to be exact.
 */
export function windowAt(previous: Window | undefined, nowMs: number, windowMs: number): Window {
  if (previous !== undefined && nowMs < previous.resetMs) return previous
  const startMs = Math.floor(nowMs / 1000) * 1000
  return { startMs, resetMs: startMs + windowMs, requests: 0, tokens: 0 }
}
