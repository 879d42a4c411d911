/** What a search for a capacity goes by. Rates are arrivals a second of all callers together. */
export type SearchTerms = {
  readonly fromPerSecond: number
  readonly toPerSecond: number
  /** The share of the answers to each call that must be good, above 0 and at most 1. */
  readonly good: number
  /** How far the lowest rate that broke may lie above the highest that held, as a share of it. */
  readonly precision: number
  readonly trialMs: number
  readonly confirmMs: number
  /** Answers to each call that it takes to prove the share; a confirmation has as many. */
  readonly confirmSamples: number
  /** Shares of the calls of the mix among the arrivals; they add up to 1. */
  readonly shares: Readonly<Record<string, number>>
}

/** One rate, offered for a while: so many arrivals, spaced so that they come at that rate. */
export type Trial = {
  /** Position in its search, from 0. */
  readonly index: number
  /** raise: nothing broke yet · narrow: between what held and what broke · confirm: whether what was found lasts */
  readonly purpose: 'raise' | 'narrow' | 'confirm'
  readonly perSecond: number
  readonly arrivals: number
}

/**
 * What came of a trial. The rate held, or it broke: by its answers, or since requests piled up. Or nothing is known of the
 * target: it refused by its rate limits, this program was late or at its bound of requests in flight, callers were
 * blocked or about to be, or the run ended.
 */
export type TrialOutcome =
  | 'held'
  | 'too-many-bad'
  | 'over-saturated'
  | 'rate-limited'
  | 'harness-late'
  | 'harness-full'
  | 'blocked'
  | 'failure-limit'
  | 'unfinished'

export const isBroken = (outcome: TrialOutcome): boolean => outcome === 'too-many-bad' || outcome === 'over-saturated'

export const isHarness = (outcome: TrialOutcome): boolean => outcome === 'harness-late' || outcome === 'harness-full'
