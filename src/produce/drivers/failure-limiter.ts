/** Limits how often each caller fails, so that a run is not blocked for failures that it causes on purpose. */
export type FailureLimiter = {
  /** When the caller may fail `failures` times more; null: at once. To be asked again then. */
  readonly waitUntilMs: (caller: string, failures: number, nowMs: number) => number | null
  /** That many expected failures are now in flight, and no longer are. */
  readonly begin: (caller: string, failures: number) => void
  readonly end: (caller: string, failures: number) => void
  /** A request failed, on purpose or not. */
  readonly recordFailure: (caller: string, atMs: number) => void
}

type Count = { inFlight: number; readonly failedMs: number[] }

/** At most `max` failures of one caller within `windowMs`, as far as the run causes them. */
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
      while ((failedMs[0] ?? nowMs) <= nowMs - windowMs) failedMs.shift()
      const excess = failedMs.length + inFlight + failures - max
      if (excess <= 0 || failedMs.length + inFlight === 0) return null
      // How those in flight end is not known: they count as if they had just failed.
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
      // More failures than make every call wait need not be known.
      if (failedMs.length > max) failedMs.shift()
    },
  }
}
