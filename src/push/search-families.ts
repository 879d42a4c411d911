import { exceedsCapacity, type TrialOutcome } from '../capacity/judge-trial.ts'
import type { CapacityResult, TrialResult } from '../capacity/result.ts'
import type { ExpositionSource, Sample } from './exposition.ts'
import { type Family, gauge } from './family.ts'

/** Searches for a capacity, as they go on. The rates are arrivals a second of all callers together. */
export function searchFamilies({ capacity, stage }: Pick<ExpositionSource, 'capacity' | 'stage'>): readonly Family[] {
  const ofSearches = (value: (search: CapacityResult) => number | null) => () =>
    capacity().flatMap(search => sample({ stage: search.stage }, value(search)))
  const ofOver = (value: (over: readonly TrialResult[]) => number | null) =>
    ofSearches(search => value(trialsOver(search, stage().name)))

  return [
    gauge(
      'turnpike_capacity_rate',
      'Arrivals a second that a search has confirmed.',
      ['stage'],
      ofSearches(({ perSecond }) => perSecond),
    ),
    gauge(
      'turnpike_capacity_trial_rate',
      'Arrivals a second of the latest trial of a search.',
      ['stage'],
      ofSearches(({ trials }) => trials.at(-1)?.offeredPerSecond ?? null),
    ),
    gauge(
      'turnpike_capacity_trial_good_ratio',
      'Good answers of all that was due in the latest trial, so far.',
      ['stage'],
      ofSearches(({ trials }) => trials.at(-1)?.goodRatio ?? null),
    ),
    gauge('turnpike_capacity_trial_info', 'Always 1, of the latest trial.', ['stage', 'purpose'], () =>
      capacity().flatMap(({ stage: name, trials }) =>
        trials.slice(-1).flatMap(({ purpose }) => sample({ stage: name, purpose }, 1)),
      ),
    ),
    gauge(
      'turnpike_capacity_held_rate',
      'The highest rate that held, below all that broke.',
      ['stage'],
      ofOver(over => boundsOf(over).heldPerSecond),
    ),
    gauge(
      'turnpike_capacity_broken_rate',
      'The lowest rate that broke.',
      ['stage'],
      ofOver(over => boundsOf(over).brokenPerSecond),
    ),
    gauge('turnpike_capacity_trials', 'Trials that are over.', ['stage', 'outcome'], () =>
      capacity().flatMap(search =>
        [...byOutcome(trialsOver(search, stage().name))].flatMap(([outcome, count]) =>
          sample({ stage: search.stage, outcome }, count),
        ),
      ),
    ),
  ]
}

/** What is not known is no 0: it has no sample. */
const sample = (labels: Sample['labels'], value: number | null): readonly Sample[] =>
  value === null ? [] : [{ labels, value }]

/** Of the trial that is under way nothing is certain yet. */
const trialsOver = ({ stage, trials }: CapacityResult, stageNow: string): readonly TrialResult[] =>
  stage === stageNow ? trials.slice(0, -1) : trials

/** Between which rates the capacity lies, as far as trials say. Of a rate that was tried again, the last one does. */
function boundsOf(over: readonly TrialResult[]): {
  readonly heldPerSecond: number | null
  readonly brokenPerSecond: number | null
} {
  const last = [...new Map(over.map(({ offeredPerSecond, outcome }) => [offeredPerSecond, outcome]))]
  const rates = (isOf: (outcome: TrialOutcome) => boolean) =>
    last.filter(([, outcome]) => isOf(outcome)).map(([perSecond]) => perSecond)
  const broken = Math.min(...rates(exceedsCapacity))
  const held = Math.max(...rates(outcome => outcome === 'held').filter(perSecond => perSecond < broken))
  return { heldPerSecond: finite(held), brokenPerSecond: finite(broken) }
}

/** The least or the most of no values is infinite. */
const finite = (value: number): number | null => (Number.isFinite(value) ? value : null)

function byOutcome(trials: readonly TrialResult[]): ReadonlyMap<TrialOutcome, number> {
  const counts = new Map<TrialOutcome, number>()
  for (const { outcome } of trials) counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
  return counts
}
