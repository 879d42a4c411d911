import type { SearchTerms, Trial } from '../../plan/plan.ts'
import { trialArrivals } from '../../plan/sample-size.ts'

import { exceedsCapacity, isHarnessLimit, type TrialOutcome } from './judge-trial.ts'

export type TrialRecord = { readonly trial: Trial; readonly outcome: TrialOutcome }

/** What a search comes to. Only what was confirmed is a rate of the target's. */
export type SearchConclusion = {
  /**
   * found: it holds, and a little more does not · not-reached: the highest rate holds · below-lowest: not even the lowest
   * does · limited-by-tier, harness-limited: something else gave way first · inconclusive: the search could not go on
   */
  readonly status: 'found' | 'above-range' | 'below-range' | 'limited-by-tier' | 'harness-limited' | 'inconclusive'
  /** The rate that was confirmed; null where none was. */
  readonly perSecond: number | null
  /** The outcome that decided it. */
  readonly reason: TrialOutcome
}

export type NextStep =
  | { readonly kind: 'trial'; readonly trial: Trial }
  | { readonly kind: 'conclusion'; readonly conclusion: SearchConclusion }

const factor = 2
/** A search ends without a result after this many trials. */
export const maxTrials = 100

/**
 * What comes after the trials so far: doubles the rate until it breaks, halves the distance between what held and what
 * broke until that is within the precision, and confirms; what cannot be confirmed is lowered by the precision. What the
 * harness itself invalidates is tried once more, and then bounds the search from above.
 */
export function nextTrial(terms: SearchTerms, past: readonly TrialRecord[]): NextStep {
  const last = past.at(-1)
  if (last === undefined) return tryAt(terms, past, 'raise', terms.fromPerSecond)
  const { trial, outcome } = last
  if (outcome === 'rate-limited') return conclude('limited-by-tier', null, outcome)
  if (past.length >= maxTrials) return conclude('inconclusive', null, outcome)
  if (outcome === 'blocked' || outcome === 'failure-limit' || outcome === 'unfinished')
    return conclude('inconclusive', null, outcome)
  const before = past.at(-2)
  const isSecond =
    before?.trial.perSecond === trial.perSecond &&
    before.trial.purpose === trial.purpose &&
    isHarnessLimit(before.outcome) === isHarnessLimit(outcome)
  if (isHarnessLimit(outcome)) {
    if (!isSecond) return tryAt(terms, past, trial.purpose, trial.perSecond)
    if (trial.purpose === 'confirm') return conclude('harness-limited', null, outcome)
  }
  if (trial.purpose === 'confirm') return afterConfirmation(terms, past, last)
  if (outcome !== 'sustained' && trial.perSecond <= terms.fromPerSecond) {
    if (!isSecond) return tryAt(terms, past, trial.purpose, trial.perSecond)
    return conclude(isHarnessLimit(outcome) ? 'harness-limited' : 'below-range', null, outcome)
  }
  return narrow(terms, past)
}

function afterConfirmation(
  terms: SearchTerms,
  past: readonly TrialRecord[],
  { trial, outcome }: TrialRecord,
): NextStep {
  const { perSecond } = trial
  if (outcome === 'sustained') {
    const isTop = perSecond >= terms.toPerSecond
    return conclude(isTop ? 'above-range' : 'found', perSecond, outcome)
  }
  if (perSecond <= terms.fromPerSecond) return conclude('below-range', null, outcome)
  return tryAt(terms, past, 'confirm', Math.max(terms.fromPerSecond, perSecond / (1 + terms.precision)))
}

function narrow(terms: SearchTerms, past: readonly TrialRecord[]): NextStep {
  const held = Math.max(...past.filter(({ outcome }) => outcome === 'sustained').map(({ trial }) => trial.perSecond))
  const above = past.filter(({ outcome }) => outcome !== 'sustained').filter(({ trial }) => trial.perSecond > held)
  // Of the lowest rate, what came of it at last.
  const bound = above.toReversed().toSorted((a, b) => a.trial.perSecond - b.trial.perSecond)[0]
  if (bound === undefined) {
    if (held >= terms.toPerSecond) return tryAt(terms, past, 'confirm', held)
    return tryAt(terms, past, 'raise', Math.min(terms.toPerSecond, held * factor))
  }
  const { perSecond } = bound.trial
  if (perSecond > held * (1 + terms.precision)) return tryAt(terms, past, 'narrow', Math.sqrt(held * perSecond))
  return exceedsCapacity(bound.outcome)
    ? tryAt(terms, past, 'confirm', held)
    : conclude('harness-limited', null, bound.outcome)
}

function tryAt(
  terms: SearchTerms,
  past: readonly TrialRecord[],
  purpose: Trial['purpose'],
  perSecond: number,
): NextStep {
  return {
    kind: 'trial',
    trial: { index: past.length, purpose, perSecond, arrivals: trialArrivals(terms, purpose, perSecond) },
  }
}

const conclude = (status: SearchConclusion['status'], perSecond: number | null, message: TrialOutcome): NextStep => ({
  kind: 'conclusion',
  conclusion: { status, perSecond, reason: message },
})
