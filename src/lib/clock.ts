/** Milliseconds, monotonic, counted from the clock's own origin (the start of the run). */
export type Clock = {
  /** Monotonic milliseconds since the origin, with sub-millisecond digits. */
  readonly nowMs: () => number
  /** Unix time in milliseconds. Moves with `nowMs`, so that a step of the system clock cannot reorder a run. */
  readonly wallMs: () => number
  /** Calls `wake` once, at or after `dueMs`, and never before `at` has returned. The result cancels it. */
  readonly at: (dueMs: number, wake: () => void) => Cancel
}

export type Cancel = () => void

/** The machine's clock, with its origin at the moment of the call. */
export function systemClock(): Clock {
  const originMs = performance.now()
  const originWallMs = Date.now()
  const nowMs = () => performance.now() - originMs
  return {
    nowMs,
    wallMs: () => originWallMs + nowMs(),
    at: (dueMs, wake) => {
      // setTimeout truncates to whole milliseconds and may wake early by a fraction; rounding up keeps "never before".
      const timer = setTimeout(wake, Math.max(0, Math.ceil(dueMs - nowMs())))
      return () => clearTimeout(timer)
    },
  }
}

/** Resolves at `dueMs`, or as soon as `signal` aborts; never rejects. */
export function sleepUntil(clock: Clock, dueMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal?.aborted) return resolve()
    const wake = () => {
      cancel()
      signal?.removeEventListener('abort', wake)
      resolve()
    }
    const cancel = clock.at(dueMs, wake)
    signal?.addEventListener('abort', wake, { once: true })
  })
}
