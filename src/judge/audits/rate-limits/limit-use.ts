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

/** `mayCount`: whether it may use up the limit like an accepted request. */
type UsingRequest = { readonly mayCount: boolean; readonly key: number; readonly maxTokens: number }

/** What requests have used of a limit. */
export type Use = {
  /** Accepted requests, and those that may have counted. */
  readonly counted: number
  /** All other 429s, which count in some algorithms. */
  readonly rejected: number
  readonly maxTokens: number
  /** Requests with each API key but the first. Most accounts have only that. */
  readonly ofOtherKeys: readonly number[]
}

export const unused: Use = { counted: 0, rejected: 0, maxTokens: 0, ofOtherKeys: noCounts }

export const addRequest = (use: Use, { mayCount, key, maxTokens }: UsingRequest): Use => ({
  counted: use.counted + (mayCount ? 1 : 0),
  rejected: use.rejected + (mayCount ? 0 : 1),
  maxTokens: use.maxTokens + maxTokens,
  ofOtherKeys: key === 0 ? use.ofOtherKeys : addKey(use.ofOtherKeys, key),
})

export const sentWith = (key: number, { counted, rejected, ofOtherKeys }: Use): number =>
  key > 0 ? countOfKey(ofOtherKeys, key) : ofOtherKeys.reduce((left, count) => left - count, counted + rejected)

export const sentWithOthers = (key: number, use: Use): boolean => sentWith(key, use) < use.counted + use.rejected

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
