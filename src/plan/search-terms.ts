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
