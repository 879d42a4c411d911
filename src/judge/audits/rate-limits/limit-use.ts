/** The number of requests per key of an account, in the order of the keys. */
export type CountsByKey = readonly number[]

export const noCounts: CountsByKey = []

export function addKey(counts: CountsByKey, key: number): CountsByKey {
  // Most accounts have one key.
  if (key === 0 && counts.length < 2) return [(counts[0] ?? 0) + 1]
  const next = [...counts]
  while (next.length <= key) next.push(0)
  next[key] = (next[key] ?? 0) + 1
  return next
}

export const countOfKey = (counts: CountsByKey, key: number): number => counts[key] ?? 0

/** Whether there are requests with another key than this one. */
export const hasOtherKeys = (counts: CountsByKey, key: number): boolean =>
  counts.some((count, other) => other !== key && count > 0)

/**
 * One limit: according to the contract (null: it has none), and as its responses state it. A response with another limit
 * than the contract violates a clause of its own, and all others allow for either.
 */
export function createStatedLimit(limit: number | null) {
  let first: number | null = null
  let min = Number.POSITIVE_INFINITY
  let max = 0
  return {
    add: ({ kind, stated }: { readonly kind: string; readonly stated: number | null }) => {
      first ??= stated
      if (stated === null || kind === 'uncertain') return
      min = Math.min(min, stated)
      max = Math.max(max, stated)
    },
    /** According to the contract, or else to the first response that stated it. */
    shown: () => limit ?? first,
    minAllowed: () => Math.min(limit ?? Number.POSITIVE_INFINITY, min),
    maxAllowed: () => Math.max(limit ?? 0, max) || Number.POSITIVE_INFINITY,
  }
}

/** The level of a bucket that leaks at a rate, at least: what is added late may have leaked since it was sent. */
export function createLeakyLevel(ratePerMs: () => number): {
  readonly add: (sentMs: number, amount?: number) => void
  /** Times of calls must not decrease by more than the overlap of requests. */
  readonly at: (atMs: number) => number
  readonly leaked: (fromMs: number, toMs: number) => number
} {
  let level = 0
  let knownMs = Number.NEGATIVE_INFINITY
  const leaked = (fromMs: number, toMs: number) => {
    const rate = ratePerMs()
    return Number.isFinite(rate) && Number.isFinite(fromMs)
      ? Math.max(0, toMs - fromMs) * rate
      : Number.POSITIVE_INFINITY
  }
  return {
    add: (sentMs, amount = 1) => {
      if (sentMs >= knownMs) {
        level = Math.max(0, level - leaked(knownMs, sentMs)) + amount
        knownMs = sentMs
      } else level += Math.max(0, amount - leaked(sentMs, knownMs))
    },
    at: atMs => (level === 0 ? 0 : Math.max(0, level - leaked(knownMs, atMs))),
    leaked,
  }
}
