import type { LimiterAlgorithm } from '../contract/contract.ts'

/**
 * How requests, or tokens, of one limit are counted. Times in Unix milliseconds. An amount that was reserved and is not used
 * is taken back from the time at which it was added.
 */
export type Counter = {
  /** What counts now. */
  readonly used: (nowMs: number) => number
  readonly add: (nowMs: number, amount?: number) => void
  /** Takes a part back of what was added last, or at `addedMs`. */
  readonly takeBack: (amount?: number, addedMs?: number) => void
  /** When a request fits again or, for a token bucket, when it is full again. */
  readonly resetMs: (nowMs: number) => number
  /** When an amount fits again, if that is before the reset. */
  readonly fitsMs?: (nowMs: number, amount?: number) => number
}

type Size = { readonly limit: number; readonly windowMs: number }

/** null: requests count in windows that end as a whole. */
export function createCounter(algorithm: LimiterAlgorithm | null, { limit, windowMs }: Size): Counter | null {
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

/** Windows that end as a whole, from their first request on, or at multiples of their length. */
export function windowCounter(isAligned: boolean, windowMs: number): Counter {
  let startMs = Number.NEGATIVE_INFINITY
  let sum = 0
  const moveTo = (nowMs: number) => {
    if (nowMs < startMs + windowMs) return
    startMs = isAligned ? Math.floor(nowMs / windowMs) * windowMs : nowMs
    sum = 0
  }
  return {
    used: nowMs => {
      moveTo(nowMs)
      return sum
    },
    add: (nowMs, amount = 1) => {
      moveTo(nowMs)
      sum += amount
    },
    takeBack: (amount = 1, addedMs = startMs) => {
      if (addedMs >= startMs) sum -= amount
    },
    resetMs: nowMs => {
      moveTo(nowMs)
      return startMs + windowMs
    },
  }
}

/** Each request counts for the length of a window. */
function slidingLog(windowMs: number): Counter {
  let log: readonly { readonly atMs: number; readonly amount: number }[] = []
  return {
    used: nowMs => {
      log = log.filter(({ atMs }) => atMs > nowMs - windowMs)
      return log.reduce((sum, { amount }) => sum + amount, 0)
    },
    add: (nowMs, amount = 1) => {
      log = [...log, { atMs: nowMs, amount }]
    },
    takeBack: (amount = 1, addedMs = log.at(-1)?.atMs) => {
      const place = log.findLastIndex(({ atMs }) => atMs === addedMs)
      log = log
        .map((each, index) => (index === place ? { ...each, amount: each.amount - amount } : each))
        .filter(each => each.amount > 0)
    },
    resetMs: nowMs => (log[0]?.atMs ?? nowMs) + windowMs,
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
    add: (nowMs, amount = 1) => {
      moveTo(nowMs)
      current += amount
    },
    takeBack: (amount = 1, addedMs = window * windowMs) => {
      if (addedMs >= window * windowMs) current -= amount
      else if (addedMs >= (window - 1) * windowMs) previous -= amount
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
    add: (nowMs, amount = 1) => {
      refill(nowMs)
      missing += amount
    },
    takeBack: (amount = 1) => {
      missing = Math.max(0, missing - amount)
    },
    resetMs: nowMs => {
      refill(nowMs)
      return nowMs + (missing * windowMs) / limit
    },
    fitsMs: (nowMs, amount = 1) => {
      refill(nowMs)
      return nowMs + (Math.max(0, missing - limit + amount) * windowMs) / limit
    },
  }
}

/** The same as a token bucket, kept as the time at which the next request would be exactly on schedule. */
function gcra(limit: number, windowMs: number): Counter {
  const intervalMs = windowMs / limit
  let scheduledMs = 0
  return {
    // An interval is rarely a whole number, and Unix times have few digits behind the point.
    used: nowMs => Math.ceil(Math.max(0, (scheduledMs - nowMs) / intervalMs - 0.001)),
    add: (nowMs, amount = 1) => {
      scheduledMs = Math.max(scheduledMs, nowMs) + intervalMs * amount
    },
    takeBack: (amount = 1) => {
      scheduledMs -= intervalMs * amount
    },
    resetMs: nowMs => Math.max(nowMs, scheduledMs - windowMs + intervalMs),
  }
}
