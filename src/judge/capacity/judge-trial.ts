import type { SearchTerms, Trial } from '../../plan/plan.ts'
import { disturbedPerLate } from '../metrics/instrument-error.ts'
import type { TrialOutcome } from '../results.ts'

import type { QueueRange, QueueTrend } from './queue-growth.ts'

/** The observations of a trial so far. */
export type TrialSnapshot = {
  /** Arrivals that were due, sent or not. */
  readonly arrivals: number
  readonly calls: Readonly<Record<string, CallTally>>
  /** Requests sent so late that the responses to others may be bad for it. */
  readonly late: number
  /** Responses of the abuse block. */
  readonly blocked: number
  /** Arrivals not sent, to keep their callers from being blocked. */
  readonly heldBack: number
  /** Arrivals not sent, because too many requests were in flight. */
  readonly crowdedOut: number
  /** Arrivals not sent, because the run had ended. */
  readonly cutOff: number
  readonly queue: QueueRange | null
}

/** Requests of one call. */
export type CallTally = {
  readonly good: number
  readonly bad: number
  /** Rejected by a rate limit. */
  readonly refused: number
  /** Complete 2xx responses that missed no SLO, but lack the value of a timing with one. */
  readonly unmeasured: number
  /** Of the good and of the bad ones: those whose own lateness and stalls made the difference. */
  readonly doubtfullyGood: number
  readonly doubtfullyBad: number
  /** Of the other bad ones: those that were bad by no more than requests were sent late. */
  readonly exposed: number
}

/** open: in progress · over: all of its requests have ended · broken-off: the run ended during it */
export type TrialState = 'open' | 'over' | 'broken-off'

/**
 * The outcome of a trial; null: undecided. During a trial, an outcome is certain: no further response could change it. The
 * exception is a growing queue, which ends the trial before the queue gets long. A rate is sustained, or exceeded, only if
 * it is so with every possible error of Turnpike.
 */
export function judgeTrial(
  trial: Trial,
  seen: TrialSnapshot,
  terms: SearchTerms,
  state: TrialState,
): TrialOutcome | null {
  const { arrivals, calls, late, blocked, heldBack, crowdedOut, cutOff, queue } = seen
  const isTooMany = tooMany(trial, terms, state)
  const anyCall = (count: (tally: CallTally) => number) =>
    Object.entries(calls).some(([call, tally]) => isTooMany(count(tally), totalOf(tally), terms.mix[call] ?? 0))
  const disturbed = late * disturbedPerLate
  const fewestBad = ({ bad, doubtfullyBad, exposed }: CallTally) => bad - doubtfullyBad - Math.min(exposed, disturbed)
  const isGrowing = (trend: QueueTrend) => isQueueGrowing(trend, trial, terms, state)

  if (blocked > 0) return 'blocked'
  if (anyCall(fewestBad)) return 'slo-missed'
  // Further responses could hardly outnumber those that the late requests may have delayed.
  if (disturbed >= trial.arrivals && anyCall(({ bad }) => bad)) return 'harness-late'
  if (anyCall(({ unmeasured }) => unmeasured)) return 'unmeasured'
  if (heldBack > 0) return 'failure-limit'
  if (crowdedOut > 0) return 'harness-saturated'
  if (anyCall(tally => fewestBad(tally) + tally.refused)) return 'rate-limited'
  if (cutOff > 0 || (state === 'broken-off' && arrivals < trial.arrivals)) return 'unfinished'
  if (queue !== null && isGrowing(queue.least)) return 'queue-growing'
  if (state === 'open') return null
  if (anyCall(({ bad, doubtfullyGood, refused }) => bad + doubtfullyGood + refused)) return 'harness-late'
  if (anyCall(tally => tally.bad + tally.doubtfullyGood + tally.refused + tally.unmeasured)) return 'unmeasured'
  // It was ended early for a growing queue, which the remaining responses may hide again.
  if (arrivals < trial.arrivals) return 'queue-growing'
  return queue !== null && isGrowing(queue.most) ? 'harness-late' : 'sustained'
}

/** Whether the bad responses to a call, in a trial that has ended, are more than a sustained rate allows. */
export const hasMissed = (call: string, tally: CallTally, trial: Trial, terms: SearchTerms): boolean =>
  tooMany(trial, terms, 'over')(tally.bad, totalOf(tally), terms.mix[call] ?? 0)

const totalOf = ({ good, bad, refused, unmeasured }: CallTally): number => good + bad + refused + unmeasured

/** Whether `count` of `total` requests are too many. During a trial, `share` of its arrivals may still follow. */
function tooMany(trial: Trial, terms: SearchTerms, state: TrialState) {
  const max = trial.purpose === 'confirm' ? maxFailuresAllowed : maxFailuresByChance
  return (count: number, total: number, share: number): boolean => {
    if (count === 0) return false
    const of = state === 'open' ? Math.max(total, trial.arrivals * share) : total
    return count > max(of, 1 - terms.goodRatio)
  }
}

/** A queue that grows by less than this part of the precision does not matter within any trial. */
const negligible = 1 / 4

/**
 * Whether arrivals outnumbered completions. A tried rate needs proof: steps that a queue without a trend does not take. A
 * confirmation fails on weaker evidence, because a false alarm costs only the precision.
 */
function isQueueGrowing(
  growth: QueueTrend,
  { purpose, perSecond }: Trial,
  terms: SearchTerms,
  state: TrialState,
): boolean {
  const { inFlightPerSecond, latencyMsPerSecond, onceIn, isRising } = growth
  const max = terms.precision * perSecond
  if (latencyMsPerSecond <= 0 || inFlightPerSecond <= max * negligible) return false
  // An open trial is checked often.
  if (state === 'open') return inFlightPerSecond > max && onceIn >= 1_000
  if (purpose === 'confirm') return isRising || inFlightPerSecond > max
  return inFlightPerSecond > max && onceIn >= 100
}

/** The maximum probability that bad responses by chance count as exceeding the capacity. */
const falseAlarm = 0.05

/**
 * The maximum number of bad responses among `of` that is consistent with a bad share of `share`: if exactly that share is
 * bad, at least this number occurs with a probability of more than 5 %.
 */
export function maxFailuresByChance(of: number, share: number): number {
  if (share <= 0 || of <= 0) return 0
  if (share >= 1) return of
  let below = 0
  let logOfExactly = of * Math.log1p(-share)
  for (let bad = 0; bad < of; bad++) {
    below += Math.exp(logOfExactly)
    // 1 - below is the probability of `bad + 1` or more.
    if (1 - below < falseAlarm) return bad
    logOfExactly += Math.log((of - bad) / (bad + 1)) + Math.log(share) - Math.log1p(-share)
  }
  return of
}

/** The maximum number of bad responses among `of` that does not exceed `share` of these responses. */
export const maxFailuresAllowed = (of: number, share: number): number => Math.floor(of * share + 1e-9)

export const exceedsCapacity = (outcome: TrialOutcome): boolean =>
  outcome === 'slo-missed' || outcome === 'queue-growing'

export const isHarnessLimit = (outcome: TrialOutcome): boolean =>
  outcome === 'harness-late' || outcome === 'harness-saturated'
