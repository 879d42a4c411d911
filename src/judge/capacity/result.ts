import { count, formatDuration, formatRate, formatRatio } from '../../lib/format.ts'
import type { SearchTerms, Trial } from '../../plan/plan.ts'
import type { Percentiles } from '../metrics/histogram.ts'

import { exceedsCapacity, isHarnessLimit, type TrialOutcome } from './judge-trial.ts'
import { maxTrials, type SearchConclusion } from './next-trial.ts'

/** The result of a search for the capacity of the target. */
export type CapacityResult = {
  readonly stage: string
  readonly status: SearchConclusion['status']
  /** The confirmed arrivals per second of all callers; null: none. */
  readonly ratePerSecond: number | null
  readonly reason: string
  readonly fromPerSecond: number
  readonly toPerSecond: number
  /** The share of each call of the arrivals; the sum is 1. */
  readonly mix: Readonly<Record<string, number>>
  /** The share of good responses that each call needs, and the precision of the rate. */
  readonly goodRatio: number
  readonly precision: number
  /** Of the trial that confirmed the rate: the latency that `percent` % of its responses do not exceed. */
  readonly confirmation: {
    readonly percent: number
    readonly samples: number
    readonly latencyMs: number | null
  } | null
  /** In chronological order. */
  readonly trials: readonly TrialResult[]
}

/** One rate, and its outcome. */
export type TrialResult = {
  readonly purpose: Trial['purpose']
  readonly offeredPerSecond: number
  readonly outcome: TrialOutcome
  /** Arrivals that were due; `planned`: arrivals of the whole trial, if it had not ended early. */
  readonly arrivals: number
  readonly planned: number
  readonly achievedPerSecond: number | null
  readonly goodputPerSecond: number | null
  readonly goodRatio: number | null
  readonly latencyMs: Percentiles
  /** Responses with 429 and with 503; requests without a response; arrivals that were never sent. */
  readonly refused: number
  readonly overloaded: number
  readonly failed: number
  readonly dropped: number
  /** The growth of the requests in flight, per second; null: too few requests. */
  readonly inFlightGrowthPerSecond: number | null
}

/** Whether the rate of a trial exceeded the capacity of the target. */
export const wasExceeded = ({ outcome }: Pick<TrialResult, 'outcome'>): boolean => exceedsCapacity(outcome)

/** The outcome of a trial, in a few words. */
export const trialLabels: Readonly<Record<TrialOutcome, string>> = {
  sustained: 'sustained',
  'slo-missed': 'too many bad responses',
  'queue-growing': 'the queue grew',
  'rate-limited': 'rejected by rate limits',
  'harness-late': 'sent too late',
  'harness-saturated': 'max-in-flight reached',
  blocked: 'callers blocked',
  'failure-limit': 'callers close to a block',
  unfinished: 'not finished',
}

/** `78.7/s`, `at least 180/s`, `less than 10/s` or `not found`. */
export function capacityLabel({ status, ratePerSecond, fromPerSecond }: CapacityResult): string {
  if (status === 'found') return formatRate(ratePerSecond)
  if (status === 'above-range') return `at least ${formatRate(ratePerSecond)}`
  return status === 'below-range' ? `less than ${formatRate(fromPerSecond)}` : 'not found'
}

/** The result of a search, in one sentence or two. */
export function conclusionText(
  { status, perSecond, reason }: SearchConclusion,
  trials: readonly TrialResult[],
  { fromPerSecond, toPerSecond }: SearchTerms,
): string {
  const last = trials.at(-1)
  const proof = last === undefined ? '' : `${formatRatio(last.goodRatio)} good of ${count(last.arrivals)} arrivals`
  switch (status) {
    case 'found':
      return `The target sustained ${formatRate(perSecond)} for ${confirmedFor(last)}, ${proof}${exceededAbove(trials, perSecond ?? 0)}.`
    case 'above-range':
      return `The target sustained ${formatRate(perSecond)} for ${confirmedFor(last)}, ${proof}. No higher rate was tried.`
    case 'below-range':
      return `The target did not sustain ${formatRate(fromPerSecond)}, the lowest rate: ${trialLabels[reason]}, ${proof}.`
    case 'limited-by-tier':
      return `The rate limits of the callers came first: at ${formatRate(last?.offeredPerSecond ?? null)}, ${count(last?.refused ?? 0)} responses were 429. ${sustainedText(trials)}`
    case 'harness-limited':
      return `${harnessLimitText(reason, harnessLimitAt(trials))} ${sustainedText(trials)}`
    case 'inconclusive':
      return `${inconclusiveText(reason)} before a rate between ${formatRate(fromPerSecond)} and ${formatRate(toPerSecond)} was confirmed. ${sustainedText(trials)}`
  }
}

const harnessLimitText = (reason: TrialOutcome, rate: string): string =>
  reason === 'harness-saturated'
    ? `Turnpike reached its own limit (max-in-flight) at ${rate}; raise it to test the target beyond that rate.`
    : `Turnpike itself sent too late at ${rate}; use a faster machine or more workers to test the target at that rate.`

function inconclusiveText(reason: TrialOutcome): string {
  if (reason === 'blocked') return 'The service blocked callers for too many failures'
  if (reason === 'failure-limit') return 'Callers came close to a block for too many failures'
  if (reason === 'unfinished') return 'The stage ended'
  return `The search reached its limit of ${maxTrials} trials`
}

/** The lowest rate at which Turnpike reached a limit of its own. */
const harnessLimitAt = (trials: readonly TrialResult[]): string =>
  formatRate(Math.min(...trials.filter(({ outcome }) => isHarnessLimit(outcome)).map(each => each.offeredPerSecond)))

/** The highest sustained rate that was not confirmed, and so is no capacity. */
function sustainedText(trials: readonly TrialResult[]): string {
  const highest = Math.max(
    0,
    ...trials.filter(({ outcome }) => outcome === 'sustained').map(each => each.offeredPerSecond),
  )
  return highest === 0
    ? 'No rate was sustained.'
    : `The target sustained ${formatRate(highest)} in a trial, which was not confirmed.`
}

const confirmedFor = (last: TrialResult | undefined): string =>
  formatDuration(last === undefined ? null : (last.arrivals * 1000) / last.offeredPerSecond)

function exceededAbove(trials: readonly TrialResult[], perSecond: number): string {
  const [lowest] = trials
    .filter(({ outcome, offeredPerSecond }) => exceedsCapacity(outcome) && offeredPerSecond > perSecond)
    .toSorted((a, b) => a.offeredPerSecond - b.offeredPerSecond)
  return lowest === undefined
    ? ''
    : `; it did not sustain ${formatRate(lowest.offeredPerSecond)}: ${trialLabels[lowest.outcome]}`
}
