/** Milliseconds, monotonic, counted from the clock's own origin (the start of the run). */
export type Clock = {
  /** Monotonic milliseconds since the origin, with sub-millisecond digits. */
  readonly nowMs: () => number
  /** Unix time in milliseconds. Moves with `nowMs`, so that a step of the system clock cannot reorder a run. */
  readonly wallMs: () => number
  /** Calls `wake` once, at or after `dueMs`, and never before `at` has returned. The result cancels it. */
  readonly at: (dueMs: number, wake: () => void) => Cancel
  /** As `at`, and less late: for what is measured by when it happens. It costs up to two milliseconds of CPU. */
  readonly sharplyAt: (dueMs: number, wake: () => void) => Cancel
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
    sharplyAt: (dueMs, wake) => wakeSharply(nowMs, dueMs, wake),
  }
}

/** A timer that is set for one millisecond may wake after two. */
const coarseMs = 2

/** Sleeps as long as a timer cannot be late, and waits for the rest in turns of the event loop, which serves all others. */
function wakeSharply(nowMs: () => number, dueMs: number, wake: () => void): Cancel {
  const wait = (): Cancel => {
    const leftMs = dueMs - nowMs()
    if (leftMs > coarseMs) {
      const timer = setTimeout(check, Math.floor(leftMs) - 1)
      return () => clearTimeout(timer)
    }
    const turn = setImmediate(check)
    return () => clearImmediate(turn)
  }
  const check = () => {
    if (nowMs() >= dueMs) wake()
    else cancel = wait()
  }
  let cancel = wait()
  return () => cancel()
}

/** Resolves at `dueMs`, or as soon as `signal` aborts; never rejects. */
export const sleepUntil = (clock: Clock, dueMs: number, signal?: AbortSignal): Promise<void> =>
  sleep(clock.at, dueMs, signal)

/** As `sleepUntil`, by `sharplyAt`. */
export const sleepSharplyUntil = (clock: Clock, dueMs: number, signal?: AbortSignal): Promise<void> =>
  sleep(clock.sharplyAt, dueMs, signal)

function sleep(at: Clock['at'], dueMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise(resolve => {
    if (signal?.aborted) return resolve()
    const wake = () => {
      cancel()
      signal?.removeEventListener('abort', wake)
      resolve()
    }
    const cancel = at(dueMs, wake)
    signal?.addEventListener('abort', wake, { once: true })
  })
}
