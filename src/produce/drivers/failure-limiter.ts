/** Limits the failures of each caller, so that deliberate failures do not trigger the abuse block of the target. */
export type FailureLimiter = {
  /** When the caller may fail `failures` times more; null: immediately. Call again at that time. */
  readonly waitUntilMs: (caller: string, failures: number, nowMs: number) => number | null
  /** Called before and after `failures` expected failures are in flight. */
  readonly begin: (caller: string, failures: number) => void
  readonly end: (caller: string, failures: number) => void
  /** Records the failure of a request, expected or not. */
  readonly recordFailure: (caller: string, atMs: number) => void
}

type Count = { inFlight: number; readonly failedMs: number[] }

/** Allows each caller at most `max` failures within `windowMs`. */
export function createFailureLimiter({
  max,
  windowMs,
}: {
  readonly max: number
  readonly windowMs: number
}): FailureLimiter {
  const counts = new Map<string, Count>()
  const countOf = (caller: string): Count => {
    const known = counts.get(caller)
    if (known !== undefined) return known
    const count = { inFlight: 0, failedMs: [] }
    counts.set(caller, count)
    return count
  }
  return {
    waitUntilMs: (caller, failures, nowMs) => {
      if (failures === 0) return null
      const { inFlight, failedMs } = countOf(caller)
      while ((failedMs[0] ?? nowMs) + windowMs <= nowMs) failedMs.shift()
      const excess = failedMs.length + inFlight + failures - max
      if (excess <= 0 || failedMs.length + inFlight === 0) return null
      // The requests in flight have no outcome yet. They count as if they had just failed.
      return (failedMs[excess - 1] ?? nowMs) + windowMs
    },
    begin: (caller, failures) => {
      if (failures > 0) countOf(caller).inFlight += failures
    },
    end: (caller, failures) => {
      if (failures > 0) countOf(caller).inFlight -= failures
    },
    recordFailure: (caller, atMs) => {
      const { failedMs } = countOf(caller)
      failedMs.push(atMs)
      // With `max` failures every call must wait, so older ones are not needed.
      if (failedMs.length > max) failedMs.shift()
    },
  }
}
