/** Keeps count of how often each caller fails, so that a run is not blocked for failures that it means to cause. */
export type Governor = {
  /** When the caller may fail `failures` times more; null: at once. To be asked again then. */
  readonly heldUntilMs: (caller: string, failures: number, nowMs: number) => number | null
  /** So many failures that are meant are under way, and are no longer. */
  readonly begin: (caller: string, failures: number) => void
  readonly end: (caller: string, failures: number) => void
  /** A failure, meant or not, was seen. */
  readonly note: (caller: string, atMs: number) => void
}

type Count = { underWay: number; readonly seenMs: number[] }

/** At most `most` failures of one caller within `windowMs`, as far as they are meant. */
export function createGovernor({ most, windowMs }: { readonly most: number; readonly windowMs: number }): Governor {
  const counts = new Map<string, Count>()
  const countOf = (caller: string): Count => {
    const known = counts.get(caller)
    if (known !== undefined) return known
    const count = { underWay: 0, seenMs: [] }
    counts.set(caller, count)
    return count
  }
  return {
    heldUntilMs: (caller, failures, nowMs) => {
      if (failures === 0) return null
      const { underWay, seenMs } = countOf(caller)
      while ((seenMs[0] ?? nowMs) <= nowMs - windowMs) seenMs.shift()
      const tooMany = seenMs.length + underWay + failures - most
      if (tooMany <= 0 || seenMs.length + underWay === 0) return null
      // How those end that are under way is not known: they are waited for as if they had just failed.
      return (seenMs[tooMany - 1] ?? nowMs) + windowMs
    },
    begin: (caller, failures) => {
      if (failures > 0) countOf(caller).underWay += failures
    },
    end: (caller, failures) => {
      if (failures > 0) countOf(caller).underWay -= failures
    },
    note: (caller, atMs) => {
      const { seenMs } = countOf(caller)
      seenMs.push(atMs)
      // More than what holds everything back need not be known.
      if (seenMs.length > most) seenMs.shift()
    },
  }
}
