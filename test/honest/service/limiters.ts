import type { Variant } from './variant.ts'

/** What a limit says about itself. Times are Unix milliseconds of the service. */
export type LimitView = {
  readonly limit: number
  readonly remaining: number
  readonly resetAt: number
  /** The earliest time at which one more is allowed. */
  readonly retryAt: number
}

export type Limiter = {
  readonly view: (now: number) => LimitView
  readonly draw: (now: number, amount: number) => void
  /** Another request was refused. */
  readonly refuse: (now: number) => void
}

type Terms = { readonly limit: number; readonly windowMs: number; readonly refusedCount: boolean }

export function createLimiter(kind: Variant['limiter'], terms: Terms): Limiter {
  switch (kind) {
    case 'fixed':
      return windowed(terms, start => start)
    case 'aligned':
      return windowed(terms, start => Math.floor(start / terms.windowMs) * terms.windowMs)
    case 'log':
      return slidingLog(terms)
    case 'counter':
      return slidingCounter(terms)
    case 'bucket':
      return tokenBucket(terms)
    case 'gcra':
      return cellRate(terms)
  }
}

/** Whole windows. The first begins where `align` puts its first request. */
function windowed({ limit, windowMs }: Terms, align: (at: number) => number): Limiter {
  let start = Number.NEGATIVE_INFINITY
  let used = 0
  const roll = (now: number) => {
    if (now < start + windowMs) return
    start = align(now)
    used = 0
  }
  return {
    view: now => {
      const open = now < start + windowMs
      const end = (open ? start : align(now)) + windowMs
      const remaining = Math.max(0, limit - (open ? used : 0))
      return { limit, remaining, resetAt: end, retryAt: remaining > 0 ? now : end }
    },
    draw: (now, amount) => {
      roll(now)
      used += amount
    },
    refuse: () => {},
  }
}

/** Remembers the time of each request for one window. */
function slidingLog({ limit, windowMs, refusedCount }: Terms): Limiter {
  let entries: { readonly at: number; readonly amount: number }[] = []
  const prune = (now: number) => {
    entries = entries.filter(({ at }) => at + windowMs > now)
  }
  const sum = () => entries.reduce((total, { amount }) => total + amount, 0)
  return {
    view: now => {
      prune(now)
      const used = sum()
      const oldest = entries[0]
      let [left, retryAt] = [used, now]
      for (const { at, amount } of entries) {
        if (left < limit) break
        left -= amount
        retryAt = at + windowMs
      }
      const resetAt = oldest === undefined ? now + windowMs : oldest.at + windowMs
      return { limit, remaining: Math.max(0, limit - used), resetAt: Math.max(resetAt, retryAt), retryAt }
    },
    draw: (now, amount) => {
      entries.push({ at: now, amount })
    },
    refuse: now => {
      if (refusedCount) entries.push({ at: now, amount: 1 })
    },
  }
}

/** Two aligned windows, of which the previous one counts by the part of it that the sliding window still covers. */
function slidingCounter({ limit, windowMs, refusedCount }: Terms): Limiter {
  let [index, current, previous] = [0, 0, 0]
  const roll = (now: number) => {
    const at = Math.floor(now / windowMs)
    if (at === index) return
    previous = at === index + 1 ? current : 0
    current = 0
    index = at
  }
  const draw = (now: number, amount: number) => {
    roll(now)
    current += amount
  }
  return {
    view: now => {
      roll(now)
      const start = index * windowMs
      const estimate = previous * (1 - (now - start) / windowMs) + current
      const remaining = Math.max(0, Math.floor(limit - estimate + 1e-9))
      const end = start + windowMs
      const inThis = end - (windowMs * (limit - 1 - current)) / Math.max(previous, 1)
      const inNext = end + windowMs * Math.max(0, 1 - (limit - 1) / Math.max(current, 1))
      const later = current <= limit - 1 ? Math.min(inThis, end) : inNext
      const retryAt = remaining > 0 ? now : Math.max(now, later)
      return { limit, remaining, resetAt: Math.max(end, retryAt), retryAt }
    },
    draw,
    refuse: now => {
      if (refusedCount) draw(now, 1)
    },
  }
}

/** Full at first; it fills up evenly, once per window. */
function tokenBucket({ limit, windowMs }: Terms): Limiter {
  let [level, at] = [limit, 0]
  const fill = (now: number) => {
    level = Math.min(limit, level + ((now - at) * limit) / windowMs)
    at = now
  }
  return {
    view: now => {
      fill(now)
      const remaining = Math.floor(level + 1e-9)
      const wait = (missing: number) => now + (missing * windowMs) / limit
      return { limit, remaining, resetAt: wait(limit - level), retryAt: remaining > 0 ? now : wait(1 - level) }
    },
    draw: (now, amount) => {
      fill(now)
      level = Math.max(0, level - amount)
    },
    refuse: () => {},
  }
}

/** In requests. Fractions of Unix milliseconds are steps of 0.0002 ms, and an interval takes some milliseconds. */
const rounding = 1e-4

/** The generic cell rate algorithm, with a whole window as its burst. */
function cellRate({ limit, windowMs }: Terms): Limiter {
  const interval = windowMs / limit
  let due = 0
  return {
    view: now => {
      const ahead = Math.max(0, due - now)
      const remaining = Math.max(0, Math.floor((windowMs - ahead) / interval + rounding))
      return { limit, remaining, resetAt: now + ahead, retryAt: remaining > 0 ? now : due - windowMs + interval }
    },
    draw: (now, amount) => {
      due = Math.min(now + windowMs, Math.max(now, due) + amount * interval)
    },
    refuse: () => {},
  }
}
