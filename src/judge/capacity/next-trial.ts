import type { SearchTerms, Trial } from '../../plan/plan.ts'
import { trialArrivals } from '../../plan/sample-size.ts'
import type { TrialOutcome } from '../results.ts'

import { exceedsCapacity, isHarnessLimit } from './judge-trial.ts'

export type TrialRecord = { readonly trial: Trial; readonly outcome: TrialOutcome }

/** The result of a search. Only a confirmed rate is a result about the target. */
export type SearchConclusion = {
  /**
   * found: the target sustains the rate, and not a little more · above-range: it sustains the highest rate · below-range:
   * it does not sustain the lowest · limited-by-tier, harness-limited: another limit came first · inconclusive: the search
   * could not continue
   */
  readonly status: 'found' | 'above-range' | 'below-range' | 'limited-by-tier' | 'harness-limited' | 'inconclusive'
  /** The confirmed rate; null: none. */
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
 * The next step after the trials so far. The search doubles the rate until the target does not sustain it, then bisects
 * down to the precision, and confirms. It lowers an unconfirmed rate by the precision. It repeats a trial that Turnpike
 * itself invalidated once; if that fails again, the rate is an upper bound of the search.
 */
export function nextTrial(terms: SearchTerms, past: readonly TrialRecord[]): NextStep {
  const last = past.at(-1)
  if (last === undefined) return tryAt(terms, past, 'raise', terms.fromPerSecond)
  const { trial, outcome } = last
  if (outcome === 'rate-limited') return finish('limited-by-tier', null, outcome)
  if (past.length >= maxTrials) return finish('inconclusive', null, outcome)
  if (outcome === 'unmeasured' || outcome === 'blocked' || outcome === 'failure-limit' || outcome === 'unfinished')
    return finish('inconclusive', null, outcome)
  const before = past.at(-2)
  const isSecond =
    before?.trial.perSecond === trial.perSecond &&
    before.trial.purpose === trial.purpose &&
    isHarnessLimit(before.outcome) === isHarnessLimit(outcome)
  if (isHarnessLimit(outcome)) {
    if (!isSecond) return tryAt(terms, past, trial.purpose, trial.perSecond)
    if (trial.purpose === 'confirm') return finish('harness-limited', null, outcome)
  }
  if (trial.purpose === 'confirm') return afterConfirmation(terms, past, last)
  if (outcome !== 'sustained' && trial.perSecond <= terms.fromPerSecond) {
    if (!isSecond) return tryAt(terms, past, trial.purpose, trial.perSecond)
    return finish(isHarnessLimit(outcome) ? 'harness-limited' : 'below-range', null, outcome)
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
    return finish(isTop ? 'above-range' : 'found', perSecond, outcome)
  }
  if (perSecond <= terms.fromPerSecond) return finish('below-range', null, outcome)
  return tryAt(terms, past, 'confirm', Math.max(terms.fromPerSecond, perSecond / (1 + terms.precision)))
}

function narrow(terms: SearchTerms, past: readonly TrialRecord[]): NextStep {
  const sustained = Math.max(
    ...past.filter(({ outcome }) => outcome === 'sustained').map(({ trial }) => trial.perSecond),
  )
  const above = past.filter(({ outcome }) => outcome !== 'sustained').filter(({ trial }) => trial.perSecond > sustained)
  // The last outcome of the lowest rate.
  const bound = above.toReversed().toSorted((a, b) => a.trial.perSecond - b.trial.perSecond)[0]
  if (bound === undefined) {
    if (sustained >= terms.toPerSecond) return tryAt(terms, past, 'confirm', sustained)
    return tryAt(terms, past, 'raise', Math.min(terms.toPerSecond, sustained * factor))
  }
  const { perSecond } = bound.trial
  if (perSecond > sustained * (1 + terms.precision))
    return tryAt(terms, past, 'narrow', Math.sqrt(sustained * perSecond))
  return exceedsCapacity(bound.outcome)
    ? tryAt(terms, past, 'confirm', sustained)
    : finish('harness-limited', null, bound.outcome)
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

const finish = (status: SearchConclusion['status'], perSecond: number | null, reason: TrialOutcome): NextStep => ({
  kind: 'conclusion',
  conclusion: { status, perSecond, reason },
})
