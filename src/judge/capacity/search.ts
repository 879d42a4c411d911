import type { Contract } from '../../contract/contract.ts'
import { memoizeLast } from '../../lib/memoize.ts'
import type { Sink } from '../../observation/observation.ts'
import { is2xx } from '../../observation/response.ts'
import { type Plan, type SearchTerms, type Trial, timings } from '../../plan/plan.ts'
import { addCount } from '../merge.ts'
import { percentileMs, percentilesOf } from '../metrics/histogram.ts'
import {
  createRequestStats,
  type MutableStats,
  mergeStats,
  type RequestStats,
  statusCounts,
} from '../metrics/request-stats.ts'
import type { CapacityResult, TrialCall, TrialResult } from '../results.ts'
import { emptyTally, tallyOf } from './call-tally.ts'
import { hasMissed, judgeTrial, type TrialSnapshot, type TrialState } from './judge-trial.ts'
import { maxTrials, type NextStep, nextTrial, type SearchConclusion, type TrialRecord } from './next-trial.ts'
import { requestsIn } from './request-sample.ts'
import { conclusionText, type SearchSubject } from './result.ts'
import {
  createTrialFold,
  emptyPart,
  mergeParts,
  snapshotOf,
  type TrialFold,
  type TrialFoldSnapshot,
  type TrialPart,
} from './trial-fold.ts'

/** The trials of the searches of a plan, for the requests of one worker. */
export type SearchFolds = {
  readonly add: Sink
  /** What the requests of a trial say about its outcome so far. */
  readonly part: (stage: string, trial: number) => TrialPart
  /** `isTruncated`: whether its last requests may be missing. */
  readonly snapshot: (isTruncated: boolean) => readonly SearchSnapshot[]
}

/** The trials of a search so far, for the requests of one worker. Plain data. */
export type SearchSnapshot = {
  readonly stage: string
  readonly trials: readonly TrialFoldSnapshot[]
  readonly isTruncated: boolean
}

/** A fold over the observations of searches. */
export function createSearchFolds(plan: Plan, contract: Contract): SearchFolds {
  const searches = new Map(searchesOf(plan).map(({ stage, slo }) => [stage, { slo, folds: [] as TrialFold[] }]))
  return {
    add: observation => {
      const { stage, trial } = observation
      const search = searches.get(stage)
      if (search === undefined || trial === undefined || trial >= maxTrials) return
      const { folds, slo } = search
      while (folds.length <= trial) folds.push(createTrialFold(slo, contract))
      folds[trial]?.add(observation)
    },
    part: (stage, trial) => searches.get(stage)?.folds[trial]?.part() ?? emptyPart(),
    snapshot: isTruncated =>
      [...searches].map(([stage, { folds }]) => ({ stage, trials: folds.map(fold => fold.snapshot()), isTruncated })),
  }
}

/**
 * The results of the searches of a plan, from the snapshots of all its workers. Replays each search: a trial follows from
 * the outcomes before it. `complete`: the run has ended by itself.
 */
export function readSearches(
  plan: Plan,
  workers: readonly (readonly SearchSnapshot[])[],
): (complete: boolean) => readonly CapacityResult[] {
  const searches = searchesOf(plan).map(search => {
    const parts = workers.flatMap(worker => worker.find(({ stage }) => stage === search.stage) ?? [])
    const length = Math.max(0, ...parts.map(({ trials }) => trials.length))
    // A worker has no requests of a later trial before all of an earlier one.
    const isKnown = (index: number) =>
      parts.length < 2 || parts.every(({ trials, isTruncated }) => !isTruncated || trials.length > index + 1)
    const trialAt = (index: number) =>
      readTrial(
        search.slo,
        parts.flatMap(({ trials }) => trials[index] ?? []),
        isKnown(index),
      )
    return { ...search, trials: Array.from({ length }, (_, index) => trialAt(index)) }
  })
  return memoizeLast(complete => searches.map(search => resultOf(search, complete)))
}

type PlannedSearch = SearchSubject & { readonly stage: string }

const searchesOf = (plan: Plan): readonly PlannedSearch[] =>
  plan.stages.flatMap(({ name, callers, load }) => {
    if (load.model !== 'capacity') return []
    const slo = Object.fromEntries(Object.keys(load.search.mix).map(call => [call, plan.slo[call] ?? {}]))
    return [{ stage: name, terms: load.search, slo, callers, tier: plan.callers.accountTier }]
  })

/** A trial of all workers together. Histograms take memory, so it has them only once they are read. */
type MergedTrial = {
  readonly part: TrialPart
  /** Whether the requests of all workers are there. */
  readonly isKnown: boolean
  readonly ended: () => TrialSnapshot
  /** By call, in the order of the mix. */
  readonly cells: () => ReadonlyMap<string, { readonly cell: MutableStats; readonly missed: Map<string, number> }>
}

type Search = PlannedSearch & { readonly trials: readonly MergedTrial[] }

function readTrial(slo: Plan['slo'], workers: readonly TrialFoldSnapshot[], isKnown: boolean): MergedTrial {
  const part = mergeParts(workers.map(worker => worker.part))
  let ended: TrialSnapshot | null = null
  let cells: ReturnType<MergedTrial['cells']> | null = null
  return {
    part,
    isKnown,
    ended: () => {
      ended ??= snapshotOf(part, 'ended')
      return ended
    },
    cells: () => {
      cells ??= mergeCells(slo, workers)
      return cells
    },
  }
}

function mergeCells(slo: Plan['slo'], workers: readonly TrialFoldSnapshot[]): ReturnType<MergedTrial['cells']> {
  const cells = new Map<string, { readonly cell: MutableStats; readonly missed: Map<string, number> }>()
  for (const { call, stats, missed } of workers.flatMap(({ calls }) => calls)) {
    const known = cells.get(call) ?? { cell: createRequestStats(slo[call] ?? {}), missed: new Map() }
    known.cell.merge(stats)
    for (const [timing, times] of Object.entries(missed)) addCount(known.missed, timing, times)
    cells.set(call, known)
  }
  return cells
}

/** Replays a search trial by trial, as far as there are observations. */
function replayTrials(
  terms: SearchTerms,
  trials: readonly MergedTrial[],
  complete: boolean,
): { readonly past: readonly TrialRecord[]; readonly next: NextStep } {
  const past: TrialRecord[] = []
  for (;;) {
    const next = nextTrial(terms, past)
    const trial = trials[past.length]
    if (next.kind === 'conclusion' || trial === undefined) return { past, next }
    const state: TrialState = complete || past.length < trials.length - 1 ? 'over' : 'broken-off'
    // If the requests of one worker were lost, the other workers prove nothing.
    const isPartial = !trial.isKnown && trial.part.counts.arrivals < next.trial.arrivals
    const outcome = isPartial ? null : judgeTrial(next.trial, trial.ended(), terms, state)
    past.push({ trial: next.trial, outcome: outcome ?? 'unfinished' })
  }
}

function resultOf(search: Search, complete: boolean): CapacityResult {
  const { stage, terms, trials, slo } = search
  const { past, next } = replayTrials(terms, trials, complete)
  // If the search has a next trial that did not take place, the time was over.
  const conclusion: SearchConclusion =
    next.kind === 'conclusion' ? next.conclusion : { status: 'inconclusive', perSecond: null, reason: 'unfinished' }
  const { fromPerSecond, toPerSecond, goodRatio, precision, mix } = terms
  const results = past.flatMap((record, index) => {
    const trial = trials[index]
    return trial === undefined ? [] : [trialResult(record, trial, search)]
  })
  const confirmed = conclusion.perSecond === null ? undefined : trials[past.length - 1]
  return {
    stage,
    status: conclusion.status,
    ratePerSecond: conclusion.perSecond,
    reason: conclusionText(conclusion, results, search),
    fromPerSecond,
    toPerSecond,
    mix,
    slo,
    goodRatio,
    precision,
    confirmation: confirmed === undefined ? null : confirmationOf(confirmed, goodRatio * 100),
    trials: results,
  }
}

const statsOf = ({ cells }: MergedTrial): RequestStats =>
  mergeStats([...cells().values()].map(({ cell }) => cell.stats))

function confirmationOf(trial: MergedTrial, percent: number): CapacityResult['confirmation'] {
  const latency = statsOf(trial).timing('latency')
  const rounded = Number(percent.toPrecision(12))
  return { percent: rounded, samples: latency.count(), latencyMs: percentileMs(latency, rounded) }
}

function trialResult({ trial, outcome }: TrialRecord, merged: MergedTrial, search: Search): TrialResult {
  const { statuses, sent, answered, failed, dropped, timing } = statsOf(merged)
  const { arrivals, queue, calls } = merged.ended()
  const good = Object.values(calls).reduce((sum, tally) => sum + tally.good, 0)
  // n arrivals have n − 1 gaps; the additional gap is for the first one.
  const seconds = workedMs(merged.part) / 1000 + 1 / trial.perSecond
  const due = sent + dropped
  /** An arrival of several requests, such as a replay, counts once. */
  const perSecond = (count: number) => (answered === 0 ? null : (count * arrivals) / due / seconds)
  return {
    purpose: trial.purpose,
    offeredPerSecond: trial.perSecond,
    outcome,
    ...extentOf(merged.part),
    arrivals,
    planned: trial.arrivals,
    achievedPerSecond: perSecond(answered),
    goodputPerSecond: perSecond(good),
    goodRatio: due === 0 ? null : good / due,
    latencyMs: percentilesOf(timing('latency')),
    refused: statuses.get(429) ?? 0,
    overloaded: statuses.get(503) ?? 0,
    failed,
    dropped,
    inFlightGrowthPerSecond: queue?.measured.inFlightPerSecond ?? null,
    calls: callResults(merged, trial, search),
  }
}

/** When the first arrival was due, and when the last request ended; null: nothing was due. */
const extentOf = ({ firstDueMs, lastDueMs, lastEndMs }: TrialPart): Pick<TrialResult, 'startMs' | 'endMs'> =>
  firstDueMs > lastDueMs
    ? { startMs: null, endMs: null }
    : { startMs: firstDueMs, endMs: Math.max(lastDueMs, lastEndMs) }

/** The last 5 % of the responses are left out of the time, because a stuck one does not show the rate of the others. */
const stragglersFrom = 0.95

/** The time in which the target worked off a trial: that of the arrivals or of the responses, whichever is longer. */
function workedMs({ sample, firstDueMs, lastDueMs }: TrialPart): number {
  const endsMs = requestsIn(sample)
    .map(({ endMs }) => endMs)
    .toSorted((a, b) => a - b)
  const cutoffMs = endsMs[Math.floor((endsMs.length - 1) * stragglersFrom)] ?? 0
  return Math.max(0, lastDueMs - firstDueMs, (cutoffMs - (endsMs[0] ?? cutoffMs)) / stragglersFrom)
}

const noTally = tallyOf(emptyTally(), 0)

const callResults = (merged: MergedTrial, trial: Trial, { terms, slo }: Search): readonly TrialCall[] =>
  [...merged.cells()].map(([call, { cell, missed }]) => {
    const { statuses, failures, timing } = cell.stats
    const shown = timings.filter(name => name === 'latency' || slo[call]?.[name] !== undefined)
    const bad = [...statuses].filter(([status]) => !is2xx(status) && status !== 429)
    const tally = merged.ended().calls[call] ?? noTally
    return {
      call,
      good: tally.good,
      bad: tally.bad,
      refused: tally.refused,
      isExceeded: hasMissed(call, tally, trial, terms),
      missed: Object.fromEntries(missed),
      statuses: statusCounts(new Map(bad)),
      failures: Object.fromEntries([...failures].filter(([reason]) => reason !== 'cancelled')),
      timesMs: Object.fromEntries(shown.map(name => [name, percentilesOf(timing(name))])),
    }
  })
