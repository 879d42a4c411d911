import type { SearchTerms, Trial } from '../plan/plan.ts'
import { mostAllowed, mostByChance } from './bad-share.ts'
import type { Growth } from './growth.ts'
import type { TrialOutcome } from './search-terms.ts'

/** What was seen of a trial, so far. */
export type TrialFacts = {
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
  readonly growth: Growth | null
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
  facts: TrialFacts,
  terms: SearchTerms,
  state: TrialState,
): TrialOutcome | null {
  const { arrivals, calls, late, blocked, heldBack, crowdedOut, cutOff, growth } = facts
  const most = trial.purpose === 'confirm' ? mostAllowed : mostByChance
  const isTooMany = (count: number, seen: number, share: number) => {
    if (count === 0) return false
    const of = state === 'open' ? Math.max(seen, trial.arrivals * share) : seen
    return count > most(of, 1 - terms.good)
  }
  const anyCall = (count: (tally: CallTally) => number) =>
    Object.entries(calls).some(([call, tally]) =>
      isTooMany(count(tally), tally.good + tally.bad + tally.refused, terms.shares[call] ?? 0),
    )

  if (blocked > 0) return 'blocked'
  if (isTooMany(late, arrivals, 1)) return 'harness-late'
  if (anyCall(({ bad }) => bad)) return 'too-many-bad'
  if (heldBack > 0) return 'failure-limit'
  if (crowdedOut > 0) return 'harness-full'
  if (anyCall(({ bad, refused }) => bad + refused)) return 'rate-limited'
  if (cutOff > 0 || (state === 'broken-off' && arrivals < trial.arrivals)) return 'unfinished'
  if (growth !== null && isPilingUp(growth, trial, terms, state)) return 'over-saturated'
  if (state === 'open') return null
  // It was ended before its time for what it showed then, whatever the rest of its answers made of that.
  return arrivals < trial.arrivals ? 'over-saturated' : 'held'
}

/** One time in a hundred chance exceeds the first with nine steps, and one in a thousand, since it is asked often, the other. */
const deviationsFrom = { over: 2.9, open: 4.3 }
/** A queue that grows by less than this part of the precision takes longer to matter than anything here lasts. */
const negligible = 1 / 4

/**
 * Whether more came than went. Of a rate that is tried it has to be shown, by steps that a queue without a trend does not
 * take. One that is to be confirmed fails by the look of it: a queue that only strayed costs it no more than the precision.
 */
function isPilingUp(growth: Growth, { purpose, perSecond }: Trial, terms: SearchTerms, state: TrialState): boolean {
  const { inFlightPerSecond, latencyMsPerSecond, deviations, isRising } = growth
  const most = terms.precision * perSecond
  if (latencyMsPerSecond <= 0 || inFlightPerSecond <= most * negligible) return false
  if (state === 'open') return inFlightPerSecond > most && deviations > deviationsFrom.open
  if (purpose === 'confirm') return isRising || inFlightPerSecond > most
  return inFlightPerSecond > most && deviations > deviationsFrom.over
}
