import { count, formatDuration, formatRate, formatRatio } from '../../lib/format.ts'
import type { SearchTerms, Trial } from '../../plan/plan.ts'
import type { Percentiles } from '../metrics/histogram.ts'

import { exceedsCapacity, isHarnessLimit, type TrialOutcome } from './judge-trial.ts'
import type { SearchConclusion } from './next-trial.ts'

/** What a stage has found out about the capacity of its target. */
export type CapacityResult = {
  readonly stage: string
  readonly status: SearchConclusion['status']
  /** Arrivals a second of all callers that were confirmed; null where none were. */
  readonly ratePerSecond: number | null
  readonly reason: string
  readonly fromPerSecond: number
  readonly toPerSecond: number
  /** Of each call among the arrivals; together they are 1. */
  readonly mix: Readonly<Record<string, number>>
  /** The share of the answers to each call that had to be good, and how near the rate had to be found. */
  readonly goodRatio: number
  readonly precision: number
  /** Of the trial that confirmed the rate: the latency that `percent` % of its answers do not exceed. */
  readonly confirmation: {
    readonly percent: number
    readonly samples: number
    readonly latencyMs: number | null
  } | null
  /** In the order in which they were made. */
  readonly trials: readonly TrialResult[]
}

/** One rate, and what came of it. */
export type TrialResult = {
  readonly purpose: Trial['purpose']
  readonly offeredPerSecond: number
  readonly outcome: TrialOutcome
  /** Arrivals that were due; `planned` are those that would have been, had the trial not been ended early. */
  readonly arrivals: number
  readonly planned: number
  readonly achievedPerSecond: number | null
  readonly goodputPerSecond: number | null
  readonly goodRatio: number | null
  readonly latencyMs: Percentiles
  /** Answers with 429 and with 503; requests without an answer; arrivals that were never sent. */
  readonly refused: number
  readonly overloaded: number
  readonly failed: number
  readonly dropped: number
  /** Requests in flight that came to be more each second; null where there is too little to tell. */
  readonly inFlightGrowthPerSecond: number | null
}

/** Whether a trial showed that the target does not sustain its rate. */
export const wasExceeded = ({ outcome }: Pick<TrialResult, 'outcome'>): boolean => exceedsCapacity(outcome)

/** What came of a trial, in a few words. */
export const trialLabels: Readonly<Record<TrialOutcome, string>> = {
  sustained: 'sustained',
  'slo-missed': 'too many bad answers',
  'queue-growing': 'the queue grew',
  'rate-limited': 'refused by rate limits',
  'harness-late': 'sent too late',
  'harness-saturated': 'too many in flight',
  blocked: 'callers were blocked',
  'failure-limit': 'callers about to be blocked',
  unfinished: 'not finished',
}

/** `78.7/s`, `at least 180/s`, `less than 10/s` or `not found`. */
export function capacityLabel({ status, ratePerSecond, fromPerSecond }: CapacityResult): string {
  if (status === 'found') return formatRate(ratePerSecond)
  if (status === 'above-range') return `at least ${formatRate(ratePerSecond)}`
  return status === 'below-range' ? `less than ${formatRate(fromPerSecond)}` : 'not found'
}

/** What a search has come to, in a sentence or two. */
export function conclusionText(
  { status, perSecond, reason }: SearchConclusion,
  trials: readonly TrialResult[],
  { fromPerSecond, toPerSecond }: SearchTerms,
): string {
  const last = trials.at(-1)
  const proof = last === undefined ? '' : `${formatRatio(last.goodRatio)} good of ${count(last.arrivals)} arrivals`
  switch (status) {
    case 'found':
      return `${formatRate(perSecond)} held for ${confirmedFor(last)}, ${proof}${exceededAbove(trials, perSecond ?? 0)}.`
    case 'above-range':
      return `At least ${formatRate(perSecond)}, which held for ${confirmedFor(last)}, ${proof}. No more was tried.`
    case 'below-range':
      return `Less than ${formatRate(fromPerSecond)}, the lowest rate that was tried: ${trialLabels[reason]}, ${proof}.`
    case 'limited-by-tier':
      return `The rate limits of the callers came first: at ${formatRate(last?.offeredPerSecond ?? null)} ${count(last?.refused ?? 0)} answers were 429. ${sustainedText(trials)}`
    case 'harness-limited':
      return `${harnessLimits[reason === 'harness-saturated' ? 'full' : 'late']} at ${harnessLimitAt(trials)}, so that nothing is known of the target there. ${sustainedText(trials)}`
    case 'inconclusive':
      return `${inconclusiveText(reason)} between ${formatRate(fromPerSecond)} and ${formatRate(toPerSecond)}. ${sustainedText(trials)}`
  }
}

const harnessLimits = {
  full: 'The bound on requests in flight (limits: max-in-flight) was reached',
  late: 'Turnpike itself sent too late',
} as const

function inconclusiveText(message: TrialOutcome): string {
  if (message === 'blocked') return 'Callers were blocked for failing too often, and the search ended'
  if (message === 'failure-limit') return 'Callers would have been blocked for failing too often, and the search ended'
  if (message === 'unfinished') return 'Time, or the run, was over before a rate was confirmed'
  return 'No rate was confirmed in as many trials as there may be'
}

/** The lowest rate at which the harness was at its own limit. */
const harnessLimitAt = (trials: readonly TrialResult[]): string =>
  formatRate(Math.min(...trials.filter(({ outcome }) => isHarnessLimit(outcome)).map(each => each.offeredPerSecond)))

/** What held without having been confirmed: no capacity, but more than nothing. */
function sustainedText(trials: readonly TrialResult[]): string {
  const held = Math.max(
    0,
    ...trials.filter(({ outcome }) => outcome === 'sustained').map(each => each.offeredPerSecond),
  )
  return held === 0 ? 'No rate held.' : `${formatRate(held)} held in a trial, unconfirmed.`
}

const confirmedFor = (last: TrialResult | undefined): string =>
  formatDuration(last === undefined ? null : (last.arrivals * 1000) / last.offeredPerSecond)

function exceededAbove(trials: readonly TrialResult[], perSecond: number): string {
  const [lowest] = trials
    .filter(({ outcome, offeredPerSecond }) => exceedsCapacity(outcome) && offeredPerSecond > perSecond)
    .toSorted((a, b) => a.offeredPerSecond - b.offeredPerSecond)
  return lowest === undefined ? '' : `; ${formatRate(lowest.offeredPerSecond)} did not: ${trialLabels[lowest.outcome]}`
}
