import type { SearchTerms, Trial } from '../../plan/plan.ts'

import type { QueueTrend } from './queue-growth.ts'

/**
 * What came of a trial. The rate held, or it broke: by its answers, or since requests piled up. Or nothing is known of the
 * target: it refused by its rate limits, this program was late or at its bound of requests in flight, callers were
 * blocked or about to be, or the run ended.
 */
export type TrialOutcome =
  | 'sustained'
  | 'slo-missed'
  | 'queue-growing'
  | 'rate-limited'
  | 'harness-late'
  | 'harness-saturated'
  | 'blocked'
  | 'failure-limit'
  | 'unfinished'

/** What was seen of a trial, so far. */
export type TrialSnapshot = {
  /** Arrivals that were due, sent or not. */
  readonly arrivals: number
  readonly calls: Readonly<Record<string, CallTally>>
  /** Requests that were sent so late that the answer may have been bad for that. */
  readonly late: number
  /** Answers of the abuse block. */
  readonly blocked: number
  /** Arrivals that were held back, so that their callers would not be blocked. */
  readonly heldBack: number
  /** Arrivals that were due with too many requests in flight. */
  readonly crowdedOut: number
  /** Arrivals that were not sent since the run was over. */
  readonly cutOff: number
  readonly queue: QueueTrend | null
}

/** Requests of one call: good and bad ones, and those that a rate limit refused. */
export type CallTally = { readonly good: number; readonly bad: number; readonly refused: number }

/** open: it goes on · over: all of its requests have ended · broken-off: the run ended in it */
export type TrialState = 'open' | 'over' | 'broken-off'

/**
 * What came of a trial; null where that is open. While it goes on, only that is said which no further answer could undo,
 * but for a growing queue, which is not waited for to become long.
 */
export function judgeTrial(
  trial: Trial,
  seen: TrialSnapshot,
  terms: SearchTerms,
  state: TrialState,
): TrialOutcome | null {
  const { arrivals, calls, late, blocked, heldBack, crowdedOut, cutOff, queue } = seen
  const max = trial.purpose === 'confirm' ? maxFailuresAllowed : maxFailuresByChance
  const isTooMany = (count: number, seen: number, share: number) => {
    if (count === 0) return false
    const of = state === 'open' ? Math.max(seen, trial.arrivals * share) : seen
    return count > max(of, 1 - terms.goodRatio)
  }
  const anyCall = (count: (tally: CallTally) => number) =>
    Object.entries(calls).some(([call, tally]) =>
      isTooMany(count(tally), tally.good + tally.bad + tally.refused, terms.mix[call] ?? 0),
    )

  if (blocked > 0) return 'blocked'
  if (isTooMany(late, arrivals, 1)) return 'harness-late'
  if (anyCall(({ bad }) => bad)) return 'slo-missed'
  if (heldBack > 0) return 'failure-limit'
  if (crowdedOut > 0) return 'harness-saturated'
  if (anyCall(({ bad, refused }) => bad + refused)) return 'rate-limited'
  if (cutOff > 0 || (state === 'broken-off' && arrivals < trial.arrivals)) return 'unfinished'
  if (queue !== null && isQueueGrowing(queue, trial, terms, state)) return 'queue-growing'
  if (state === 'open') return null
  // It was ended before its time for what it showed then, whatever the rest of its answers made of that.
  return arrivals < trial.arrivals ? 'queue-growing' : 'sustained'
}

/** One time in a hundred chance exceeds the first with nine steps, and one in a thousand, since it is asked often, the other. */
const deviationsFrom = { over: 2.9, open: 4.3 }
/** A queue that grows by less than this part of the precision takes longer to matter than anything here lasts. */
const negligible = 1 / 4

/**
 * Whether more came than went. Of a rate that is tried it has to be shown, by steps that a queue without a trend does not
 * take. One that is to be confirmed fails by the look of it: a queue that only strayed costs it no more than the precision.
 */
function isQueueGrowing(
  growth: QueueTrend,
  { purpose, perSecond }: Trial,
  terms: SearchTerms,
  state: TrialState,
): boolean {
  const { inFlightPerSecond, latencyMsPerSecond, deviations, isRising } = growth
  const max = terms.precision * perSecond
  if (latencyMsPerSecond <= 0 || inFlightPerSecond <= max * negligible) return false
  if (state === 'open') return inFlightPerSecond > max && deviations > deviationsFrom.open
  if (purpose === 'confirm') return isRising || inFlightPerSecond > max
  return inFlightPerSecond > max && deviations > deviationsFrom.over
}

/** How often a trial that has its bad answers by chance is taken for one that exceeds the capacity, at most. */
const falseAlarm = 0.05

/**
 * The most bad answers among `of` that do not yet show that more than `share` of all are bad: that many or more come by
 * chance more often than one time in twenty, where just that share is bad.
 */
export function maxFailuresByChance(of: number, share: number): number {
  if (share <= 0 || of <= 0) return 0
  if (share >= 1) return of
  let below = 0
  let logOfExactly = of * Math.log1p(-share)
  for (let bad = 0; bad < of; bad++) {
    below += Math.exp(logOfExactly)
    // From `bad + 1` on is what is left of all chances.
    if (1 - below < falseAlarm) return bad
    logOfExactly += Math.log((of - bad) / (bad + 1)) + Math.log(share) - Math.log1p(-share)
  }
  return of
}

/** The most bad answers among `of` at which not more than `share` of these very answers are bad. */
export const maxFailuresAllowed = (of: number, share: number): number => Math.floor(of * share + 1e-9)

export const exceedsCapacity = (outcome: TrialOutcome): boolean =>
  outcome === 'slo-missed' || outcome === 'queue-growing'

export const isHarnessLimit = (outcome: TrialOutcome): boolean =>
  outcome === 'harness-late' || outcome === 'harness-saturated'
