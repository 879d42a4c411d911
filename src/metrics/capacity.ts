import { judgeTrial, type TrialState } from '../capacity/judge-trial.ts'
import { type Conclusion, type Next, nextTrial, type Tried } from '../capacity/next-trial.ts'
import type { TrialOutcome } from '../capacity/search-terms.ts'
import type { Contract } from '../contract/contract.ts'
import type { Sink } from '../observation/observation.ts'
import type { Plan, SearchTerms, Trial } from '../plan/plan.ts'
import type { CapacityResult, TrialResult } from './capacity-result.ts'
import { explainConclusion } from './capacity-words.ts'
import { percentileMs, percentiles } from './percentiles.ts'
import { createTrialFold, type TrialFold } from './trial-fold.ts'

export type Capacity = {
  readonly add: Sink
  /** What is to be tried next in a stage; asked when nothing of it is under way. */
  readonly next: (stage: string) => Next
  /** What is clear already of a trial that goes on; null: nothing. */
  readonly soFar: (stage: string, trial: Trial) => TrialOutcome | null
  /** `complete`: whether the run has ended by itself. */
  readonly results: (complete: boolean) => readonly CapacityResult[]
}

/** A fold over the observations of searches, which it retraces: what was tried follows from what was seen. */
export function createCapacity(plan: Plan, contract: Contract): Capacity {
  const searches = new Map(
    plan.stages.flatMap(({ name, load }) =>
      load.model === 'capacity' ? [[name, { terms: load.search, folds: [] as TrialFold[] }] as const] : [],
    ),
  )
  const foldAt = (stage: string, trial: number): TrialFold | undefined => {
    const folds = searches.get(stage)?.folds
    if (folds === undefined) return undefined
    while (folds.length <= trial) folds.push(createTrialFold(plan.slo, contract))
    return folds[trial]
  }
  return {
    add: observation => {
      const { stage, trial } = observation
      if (trial !== undefined) foldAt(stage, trial)?.add(observation)
    },
    next: stage => {
      const search = searches.get(stage)
      if (search === undefined) throw new RangeError(`${stage} is no search`)
      return retrace(search.terms, search.folds, true).next
    },
    soFar: (stage, trial) => {
      const search = searches.get(stage)
      const fold = search?.folds[trial.index]
      return search === undefined || fold === undefined
        ? null
        : judgeTrial(trial, fold.facts('open'), search.terms, 'open')
    },
    results: complete => [...searches].map(([stage, { terms, folds }]) => resultOf(stage, terms, folds, complete)),
  }
}

/** Goes through a search once more, trial by trial, as far as anything was seen of it. */
function retrace(
  terms: SearchTerms,
  folds: readonly TrialFold[],
  complete: boolean,
): { readonly past: readonly Tried[]; readonly next: Next } {
  const past: Tried[] = []
  for (;;) {
    const next = nextTrial(terms, past)
    const fold = folds[past.length]
    if (next.kind === 'conclusion' || fold === undefined) return { past, next }
    const state: TrialState = complete || past.length < folds.length - 1 ? 'over' : 'broken-off'
    const outcome = judgeTrial(next.trial, fold.facts('ended'), terms, state) ?? 'unfinished'
    past.push({ trial: next.trial, outcome })
  }
}

function resultOf(stage: string, terms: SearchTerms, folds: readonly TrialFold[], complete: boolean): CapacityResult {
  const { past, next } = retrace(terms, folds, complete)
  // A search that knows what it would try next, and did not, had no time left for it.
  const conclusion: Conclusion =
    next.kind === 'conclusion' ? next.conclusion : { status: 'inconclusive', perSecond: null, because: 'unfinished' }
  const { fromPerSecond, toPerSecond, good, precision, shares } = terms
  const trials = past.flatMap((tried, index) => {
    const fold = folds[index]
    return fold === undefined ? [] : [trialResult(tried, fold)]
  })
  const confirmed = conclusion.perSecond === null ? undefined : folds[past.length - 1]
  return {
    stage,
    status: conclusion.status,
    perSecond: conclusion.perSecond,
    because: explainConclusion(conclusion, trials, terms),
    fromPerSecond,
    toPerSecond,
    shares,
    good,
    precision,
    confirmation: confirmed === undefined ? null : confirmationOf(confirmed, good * 100),
    trials,
  }
}

function confirmationOf(fold: TrialFold, percent: number): CapacityResult['confirmation'] {
  const latency = fold.figures().timing('latency')
  const rounded = Number(percent.toPrecision(12))
  return { percent: rounded, samples: latency.count(), latencyMs: percentileMs(latency, rounded) }
}

function trialResult({ trial, outcome }: Tried, fold: TrialFold): TrialResult {
  const { statuses, sent, answered, failed, dropped, timing } = fold.figures()
  const { arrivals, growth } = fold.facts('ended')
  const good = fold.good()
  // Between n instants there are n − 1 gaps: one more is what the first of them took.
  const seconds = fold.workedMs() / 1000 + 1 / trial.perSecond
  const due = sent + dropped
  /** What is several requests, as a replay is, counts as the one arrival that was offered. */
  const perSecond = (count: number) => (answered === 0 ? null : (count * arrivals) / due / seconds)
  return {
    purpose: trial.purpose,
    offeredPerSecond: trial.perSecond,
    outcome,
    arrivals,
    planned: trial.arrivals,
    achievedPerSecond: perSecond(answered),
    goodputPerSecond: perSecond(good),
    goodRatio: due === 0 ? null : good / due,
    latencyMs: percentiles(timing('latency')),
    refused: statuses.get(429) ?? 0,
    atCapacity: statuses.get(503) ?? 0,
    failed,
    dropped,
    inFlightPerSecond: growth?.inFlightPerSecond ?? null,
  }
}
