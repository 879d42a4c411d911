import type { Conclusion } from '../capacity/next-trial.ts'
import { isBroken, isHarness, type TrialOutcome } from '../capacity/search-terms.ts'
import { count, formatDuration, formatRate, formatRatio } from '../lib/format.ts'
import type { SearchTerms } from '../plan/plan.ts'
import type { CapacityResult, TrialResult } from './capacity-result.ts'

/** What came of a trial, in a few words. */
export const outcomeWords: Readonly<Record<TrialOutcome, string>> = {
  held: 'held',
  'too-many-bad': 'too many bad answers',
  'over-saturated': 'the queue grew',
  'rate-limited': 'refused by rate limits',
  'harness-late': 'sent too late',
  'harness-full': 'too many in flight',
  blocked: 'callers were blocked',
  'failure-limit': 'callers about to be blocked',
  unfinished: 'not finished',
}

/** `78.7/s`, `at least 180/s`, `less than 10/s` or `not found`. */
export function capacityWords({ status, perSecond, fromPerSecond }: CapacityResult): string {
  if (status === 'found') return formatRate(perSecond)
  if (status === 'not-reached') return `at least ${formatRate(perSecond)}`
  return status === 'below-lowest' ? `less than ${formatRate(fromPerSecond)}` : 'not found'
}

/** What a search has come to, in a sentence or two. */
export function explainConclusion(
  { status, perSecond, because }: Conclusion,
  trials: readonly TrialResult[],
  { fromPerSecond, toPerSecond }: SearchTerms,
): string {
  const last = trials.at(-1)
  const proof = last === undefined ? '' : `${formatRatio(last.goodRatio)} good of ${count(last.arrivals)} arrivals`
  switch (status) {
    case 'found':
      return `${formatRate(perSecond)} held for ${confirmedFor(last)}, ${proof}${brokenAbove(trials, perSecond ?? 0)}.`
    case 'not-reached':
      return `At least ${formatRate(perSecond)}, which held for ${confirmedFor(last)}, ${proof}. No more was tried.`
    case 'below-lowest':
      return `Less than ${formatRate(fromPerSecond)}, the lowest rate that was tried: ${outcomeWords[because]}, ${proof}.`
    case 'limited-by-tier':
      return `The rate limits of the callers came first: at ${formatRate(last?.offeredPerSecond ?? null)} ${count(last?.refused ?? 0)} answers were 429. ${atLeast(trials)}`
    case 'harness-limited':
      return `${harnessReasons[because === 'harness-full' ? 'full' : 'late']} at ${spoiledAt(trials)}, so that nothing is known of the target there. ${atLeast(trials)}`
    case 'inconclusive':
      return `${doubts(because)} between ${formatRate(fromPerSecond)} and ${formatRate(toPerSecond)}. ${atLeast(trials)}`
  }
}

const harnessReasons = {
  full: 'The bound on requests in flight (limits: max-in-flight) was reached',
  late: 'Turnpike itself sent too late',
} as const

function doubts(because: TrialOutcome): string {
  if (because === 'blocked') return 'Callers were blocked for failing too often, and the search ended'
  if (because === 'failure-limit') return 'Callers would have been blocked for failing too often, and the search ended'
  if (because === 'unfinished') return 'Time, or the run, was over before a rate was confirmed'
  return 'No rate was confirmed in as many trials as there may be'
}

/** The lowest rate at which the harness was at its own limit. */
const spoiledAt = (trials: readonly TrialResult[]): string =>
  formatRate(Math.min(...trials.filter(({ outcome }) => isHarness(outcome)).map(each => each.offeredPerSecond)))

/** What held without having been confirmed: no capacity, but more than nothing. */
function atLeast(trials: readonly TrialResult[]): string {
  const held = Math.max(0, ...trials.filter(({ outcome }) => outcome === 'held').map(each => each.offeredPerSecond))
  return held === 0 ? 'No rate held.' : `${formatRate(held)} held in a trial, unconfirmed.`
}

const confirmedFor = (last: TrialResult | undefined): string =>
  formatDuration(last === undefined ? null : (last.arrivals * 1000) / last.offeredPerSecond)

function brokenAbove(trials: readonly TrialResult[], perSecond: number): string {
  const [lowest] = trials
    .filter(({ outcome, offeredPerSecond }) => isBroken(outcome) && offeredPerSecond > perSecond)
    .toSorted((a, b) => a.offeredPerSecond - b.offeredPerSecond)
  return lowest === undefined ? '' : `; ${formatRate(lowest.offeredPerSecond)} did not: ${outcomeWords[lowest.outcome]}`
}
