import type { LimiterAlgorithm } from '../contract/contract.ts'

/** How the requests of one limit are counted, if not in windows that end as a whole. Times in Unix milliseconds. */
export type Counter = {
  /** Requests that count now. */
  readonly used: (nowMs: number) => number
  readonly add: (nowMs: number) => void
  /** Takes the last added request back. */
  readonly takeBack: () => void
  /** When a request fits again or, for a token bucket, when it is full again. */
  readonly resetMs: (nowMs: number) => number
  /** When a request fits again, if that is before the reset. */
  readonly fitsMs?: (nowMs: number) => number
}

/** null: requests count in windows that end as a whole. */
export function createCounter(
  algorithm: LimiterAlgorithm | null,
  { limit, windowMs }: { readonly limit: number; readonly windowMs: number },
): Counter | null {
  switch (algorithm) {
    case 'sliding-log':
      return slidingLog(windowMs)
    case 'sliding-counter':
      return slidingCounter(limit, windowMs)
    case 'token-bucket':
      return tokenBucket(limit, windowMs)
    case 'gcra':
      return gcra(limit, windowMs)
    case 'fixed-window':
    case 'aligned-window':
    case null:
      return null
  }
}

/** Each request counts for the length of a window. */
function slidingLog(windowMs: number): Counter {
  let log: readonly number[] = []
  return {
    used: nowMs => {
      log = log.filter(atMs => atMs > nowMs - windowMs)
      return log.length
    },
    add: nowMs => {
      log = [...log, nowMs]
    },
    takeBack: () => {
      log = log.slice(0, -1)
    },
    resetMs: nowMs => (log[0] ?? nowMs) + windowMs,
  }
}

/** The requests of this window count, and those of the previous one by the part of it that a sliding window overlaps. */
function slidingCounter(limit: number, windowMs: number): Counter {
  let window = 0
  let current = 0
  let previous = 0
  const moveTo = (nowMs: number): number => {
    const now = Math.floor(nowMs / windowMs)
    if (now > window) {
      previous = now === window + 1 ? current : 0
      current = 0
      window = now
    }
    return nowMs / windowMs - now
  }
  return {
    used: nowMs => {
      const passed = moveTo(nowMs)
      return Math.ceil(previous * (1 - passed) + current)
    },
    add: nowMs => {
      moveTo(nowMs)
      current++
    },
    takeBack: () => {
      current--
    },
    resetMs: nowMs => {
      moveTo(nowMs)
      const endMs = (window + 1) * windowMs
      // In the next window, today's requests count less with each moment.
      if (current >= limit) return endMs + Math.ceil(windowMs / limit)
      if (previous === 0) return endMs
      const fitsMs = window * windowMs + windowMs * (1 - (limit - 1 - current) / previous)
      return Math.min(endMs, Math.max(nowMs, fitsMs))
    },
  }
}

/** A request takes a token. Tokens come back all the time, as many per window as the bucket holds. */
function tokenBucket(limit: number, windowMs: number): Counter {
  let missing = 0
  let knownMs = 0
  const refill = (nowMs: number) => {
    missing = Math.max(0, missing - ((nowMs - knownMs) * limit) / windowMs)
    knownMs = nowMs
  }
  return {
    used: nowMs => {
      refill(nowMs)
      return Math.ceil(missing)
    },
    add: nowMs => {
      refill(nowMs)
      missing++
    },
    takeBack: () => {
      missing--
    },
    resetMs: nowMs => {
      refill(nowMs)
      return nowMs + (missing * windowMs) / limit
    },
    fitsMs: nowMs => {
      refill(nowMs)
      return nowMs + (Math.max(0, missing - limit + 1) * windowMs) / limit
    },
  }
}

/** The same as a token bucket, kept as the time at which the next request would be exactly on schedule. */
function gcra(limit: number, windowMs: number): Counter {
  const intervalMs = windowMs / limit
  let scheduledMs = 0
  return {
    used: nowMs => Math.ceil(Math.max(0, scheduledMs - nowMs) / intervalMs),
    add: nowMs => {
      scheduledMs = Math.max(scheduledMs, nowMs) + intervalMs
    },
    takeBack: () => {
      scheduledMs -= intervalMs
    },
    resetMs: nowMs => Math.max(nowMs, scheduledMs - windowMs + intervalMs),
  }
}
