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
