import { incompleteBeta, logGamma } from './student-t.ts'

/** Trials so far, and the hits among them. */
export type Share = {
  readonly hits: number
  readonly trials: number
  /** Further trials that may be hits or not, such as requests in flight. */
  readonly open: number
}

/**
 * On which side of `bound` the mean chance of a hit lies; null: not proved yet. A test by betting: for each chance on one side
 * of the bound, its likelihood over that of the bound is a martingale at the bound, and shrinks on the other side. So does
 * their mean over all chances of a side, and such a mean exceeds 1 ÷ `error` at any time with a chance of at most `error`
 * (Ville's inequality). Trials may differ in their chances, since a likelihood is linear in each of them.
 */
export function decidedSide({ hits, trials, open }: Share, bound: number, error: number): 'below' | 'above' | null {
  const needed = -Math.log(error)
  if (logEvidence(hits, trials + open, bound) >= needed) return 'above'
  const misses = trials - hits
  return logEvidence(misses, trials + open, 1 - bound) >= needed ? 'below' : null
}

/** The logarithm of the mean likelihood of all chances above `bound`, over that of `bound`. */
function logEvidence(hits: number, trials: number, bound: number): number {
  if (hits === 0 || bound >= 1) return Number.NEGATIVE_INFINITY
  if (bound <= 0) return Number.POSITIVE_INFINITY
  const misses = trials - hits
  const [a, b] = [hits + 1, misses + 1]
  const logBeta = logGamma(a) + logGamma(b) - logGamma(a + b)
  const above = Math.log(incompleteBeta(1 - bound, b, a)) + logBeta - Math.log1p(-bound)
  return above - hits * Math.log(bound) - misses * Math.log1p(-bound)
}

/** What never happened in this many trials has at most this chance, at any time. */
export const rareAtMost = (trials: number, error: number): number => (trials === 0 ? 1 : 1 - error ** (1 / trials))
