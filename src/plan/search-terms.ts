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
