import type { Contract } from '../../contract/contract.ts'
import { isFirstRequest, isLocalFault, latenessMs, type Observation, type Sink } from '../../observation/observation.ts'
import { is2xx, isAbuseBlock } from '../../observation/response.ts'
import { type Plan, type SearchTerms, type Trial, timings } from '../../plan/plan.ts'
import { maxLatenessMs } from '../metrics/harness-limits.ts'
import { percentileMs, percentilesOf } from '../metrics/histogram.ts'
import {
  createRequestStats,
  type MutableStats,
  mergeStats,
  OTHER_NAME,
  type RequestStats,
  statusCounts,
} from '../metrics/request-stats.ts'
import { isSuccess, missedTimings, type Slo } from '../metrics/timings.ts'

import {
  type CallTally,
  hasMissed,
  judgeTrial,
  type TrialOutcome,
  type TrialSnapshot,
  type TrialState,
} from './judge-trial.ts'
import { maxTrials, type NextStep, nextTrial, type SearchConclusion, type TrialRecord } from './next-trial.ts'
import { queueTrendOf, type TimedRequest } from './queue-growth.ts'
import { type CapacityResult, conclusionText, type SearchSubject, type TrialCall, type TrialResult } from './result.ts'

export type CapacitySearch = {
  readonly add: Sink
  /** The next step in a stage. To be called when none of its requests is in flight. */
  readonly next: (stage: string) => NextStep
  /** The outcome of a running trial, if it is certain; else null. */
  readonly soFar: (stage: string, trial: Trial) => TrialOutcome | null
  /** `complete`: the run has ended by itself. */
  readonly results: (complete: boolean) => readonly CapacityResult[]
}

/** A fold over the observations of searches. It replays each search: a trial follows from the outcomes before it. */
export function createCapacitySearch(plan: Plan, contract: Contract): CapacitySearch {
  const searches = new Map(
    plan.stages.flatMap(({ name, callers, load }) => {
      if (load.model !== 'capacity') return []
      const slo = Object.fromEntries(Object.keys(load.search.mix).map(call => [call, plan.slo[call] ?? {}]))
      const search = { stage: name, terms: load.search, slo, callers, tier: plan.callers.accountTier }
      return [[name, { ...search, folds: [] as TrialFold[] }] as const]
    }),
  )
  const foldAt = (stage: string, trial: number): TrialFold | undefined => {
    const search = searches.get(stage)
    if (search === undefined || trial >= maxTrials) return undefined
    const { folds, slo } = search
    while (folds.length <= trial) folds.push(createTrialFold(slo, contract))
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
      return replayTrials(search.terms, search.folds, true).next
    },
    soFar: (stage, trial) => {
      const search = searches.get(stage)
      const fold = search?.folds[trial.index]
      return search === undefined || fold === undefined
        ? null
        : judgeTrial(trial, fold.snapshot('open'), search.terms, 'open')
    },
    results: complete => [...searches.values()].map(search => resultOf(search, complete)),
  }
}

/** One search, and the sums over its trials. */
type Search = SearchSubject & { readonly stage: string; readonly folds: readonly TrialFold[] }

/** Replays a search trial by trial, as far as there are observations. */
function replayTrials(
  terms: SearchTerms,
  folds: readonly TrialFold[],
  complete: boolean,
): { readonly past: readonly TrialRecord[]; readonly next: NextStep } {
  const past: TrialRecord[] = []
  for (;;) {
    const next = nextTrial(terms, past)
    const fold = folds[past.length]
    if (next.kind === 'conclusion' || fold === undefined) return { past, next }
    const state: TrialState = complete || past.length < folds.length - 1 ? 'over' : 'broken-off'
    const outcome = judgeTrial(next.trial, fold.snapshot('ended'), terms, state) ?? 'unfinished'
    past.push({ trial: next.trial, outcome })
  }
}

function resultOf(search: Search, complete: boolean): CapacityResult {
  const { stage, terms, folds, slo } = search
  const { past, next } = replayTrials(terms, folds, complete)
  // If the search has a next trial that did not take place, the time was over.
  const conclusion: SearchConclusion =
    next.kind === 'conclusion' ? next.conclusion : { status: 'inconclusive', perSecond: null, reason: 'unfinished' }
  const { fromPerSecond, toPerSecond, goodRatio, precision, mix } = terms
  const trials = past.flatMap((record, index) => {
    const fold = folds[index]
    return fold === undefined ? [] : [trialResult(record, fold, terms)]
  })
  const confirmed = conclusion.perSecond === null ? undefined : folds[past.length - 1]
  return {
    stage,
    status: conclusion.status,
    ratePerSecond: conclusion.perSecond,
    reason: conclusionText(conclusion, trials, search),
    fromPerSecond,
    toPerSecond,
    mix,
    slo,
    goodRatio,
    precision,
    confirmation: confirmed === undefined ? null : confirmationOf(confirmed, goodRatio * 100),
    trials,
  }
}

function confirmationOf(fold: TrialFold, percent: number): CapacityResult['confirmation'] {
  const latency = fold.stats().timing('latency')
  const rounded = Number(percent.toPrecision(12))
  return { percent: rounded, samples: latency.count(), latencyMs: percentileMs(latency, rounded) }
}

function trialResult({ trial, outcome }: TrialRecord, fold: TrialFold, terms: SearchTerms): TrialResult {
  const { statuses, sent, answered, failed, dropped, timing } = fold.stats()
  const { arrivals, queue, calls } = fold.snapshot('ended')
  const good = Object.values(calls).reduce((sum, tally) => sum + tally.good, 0)
  // n arrivals have n − 1 gaps; the additional gap is for the first one.
  const seconds = fold.workedMs() / 1000 + 1 / trial.perSecond
  const due = sent + dropped
  /** An arrival of several requests, such as a replay, counts once. */
  const perSecond = (count: number) => (answered === 0 ? null : (count * arrivals) / due / seconds)
  return {
    purpose: trial.purpose,
    offeredPerSecond: trial.perSecond,
    outcome,
    ...fold.extent(),
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
    inFlightGrowthPerSecond: queue?.inFlightPerSecond ?? null,
    calls: fold.calls().map(each => ({ ...each, isExceeded: hasMissed(each.call, each, trial, terms) })),
  }
}

/** Sums over a trial. */
type TrialFold = {
  readonly add: Sink
  /** During a trial, only the complete part of its queue is evaluated. */
  readonly snapshot: (state: 'open' | 'ended') => TrialSnapshot
  readonly stats: () => RequestStats
  /** In the order of the mix. */
  readonly calls: () => readonly Omit<TrialCall, 'isExceeded'>[]
  /** When the first arrival was due, and when the last request ended; null: nothing was due. */
  readonly extent: () => Pick<TrialResult, 'startMs' | 'endMs'>
  /** The time in which the target worked off the trial: that of the arrivals or of the responses, whichever is longer. */
  readonly workedMs: () => number
}

/** Requests whose instants are stored. Beyond that, every second one is dropped, repeatedly. */
const maxTimedRequests = 1_024
/** The last 5 % of the responses are left out of the time, because a stuck one does not show the rate of the others. */
const stragglersFrom = 0.95

/** Sums over one call of a trial. */
type CallFold = {
  readonly cell: MutableStats
  readonly tally: { -readonly [Name in keyof CallTally]: number }
  readonly missed: Map<string, number>
}

/** `slo`: of each call of the mix. Other calls, which only an edited log has, count together. */
function createTrialFold(slo: Plan['slo'], contract: Contract): TrialFold {
  const folds = new Map(Object.entries(slo).map(([call, bounds]) => [call, createCallFold(bounds)]))
  const counts = { arrivals: 0, late: 0, blocked: 0, heldBack: 0, crowdedOut: 0, cutOff: 0 }
  let timed: TimedRequest[] = []
  let stride = 1
  let ended = 0
  let maxMs = 0
  let lastEndMs = Number.NEGATIVE_INFINITY
  let [firstDueMs, lastDueMs] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  /** Live views read all trials repeatedly, and few have changed. */
  let final: {
    snapshot?: TrialSnapshot
    stats?: RequestStats
    calls?: ReturnType<TrialFold['calls']>
  } = {}

  const foldOf = (call: string): CallFold => {
    const name = slo[call] === undefined ? OTHER_NAME : call
    const fold = folds.get(name) ?? createCallFold({})
    folds.set(name, fold)
    return fold
  }
  const store = ({ dueMs, sentMs, endMs }: Observation) => {
    if (sentMs === null || endMs === null) return
    maxMs = Math.max(maxMs, endMs - dueMs)
    if (ended++ % stride !== 0) return
    timed.push({ dueMs, sentMs, endMs })
    if (timed.length < maxTimedRequests) return
    timed = timed.filter((_, index) => index % 2 === 0)
    stride *= 2
  }
  const tally = (o: Observation, { tally, missed }: CallFold) => {
    const { call, response, outcome } = o
    if (response !== null && isAbuseBlock(response, contract)) counts.blocked++
    else if (outcome.kind === 'answered' && outcome.status === 429) tally.refused++
    else if (!isSuccess(o)) tally.bad++
    else {
      const timings = missedTimings(o, slo[call] ?? {})
      for (const timing of timings) missed.set(timing, (missed.get(timing) ?? 0) + 1)
      if (timings.length === 0) tally.good++
      else tally.bad++
    }
  }

  const snapshotUntil = (untilMs: number): TrialSnapshot => {
    const inOrder = timed.toSorted((a, b) => a.dueMs - b.dueMs)
    const calls = Object.fromEntries([...folds].map(([call, { tally }]) => [call, tally]))
    return { ...counts, calls, queue: queueTrendOf(inOrder, stride, untilMs) }
  }

  return {
    add: o => {
      final = {}
      const { call, outcome, dueMs, endMs } = o
      const fold = foldOf(call)
      fold.cell.add(o)
      if (isFirstRequest(o)) counts.arrivals++
      firstDueMs = Math.min(firstDueMs, dueMs)
      lastDueMs = Math.max(lastDueMs, dueMs)
      if (outcome.kind === 'dropped') {
        if (outcome.reason === 'max-in-flight' || isLocalFault(outcome.reason)) counts.crowdedOut++
        else if (outcome.reason === 'failure-limit') counts.heldBack++
        else counts.cutOff++
        return
      }
      if (endMs !== null) lastEndMs = Math.max(lastEndMs, endMs)
      if ((latenessMs(o) ?? 0) > maxLatenessMs(slo[call]?.latency ?? null)) counts.late++
      if (outcome.kind === 'failed' && outcome.reason === 'cancelled') counts.cutOff++
      else tally(o, fold)
      // An immediate rejection was in no queue.
      if (outcome.kind === 'failed' || isSuccess(o)) store(o)
    },
    snapshot: state => {
      if (state === 'open') return snapshotUntil(lastEndMs - maxMs)
      final.snapshot ??= snapshotUntil(lastDueMs)
      return final.snapshot
    },
    stats: () => {
      final.stats ??= mergeStats([...folds.values()].map(({ cell }) => cell.stats))
      return final.stats
    },
    calls: () => {
      final.calls ??= [...folds].map(([call, fold]) => callResult(call, slo[call] ?? {}, fold))
      return final.calls
    },
    extent: () =>
      firstDueMs > lastDueMs
        ? { startMs: null, endMs: null }
        : { startMs: firstDueMs, endMs: Math.max(lastDueMs, lastEndMs) },
    workedMs: () => {
      const endsMs = timed.map(({ endMs }) => endMs).toSorted((a, b) => a - b)
      const cutoffMs = endsMs[Math.floor((endsMs.length - 1) * stragglersFrom)] ?? 0
      return Math.max(0, lastDueMs - firstDueMs, (cutoffMs - (endsMs[0] ?? cutoffMs)) / stragglersFrom)
    },
  }
}

/** A histogram takes 90 kB, so only the times that the report shows get one. */
const createCallFold = (slo: Slo): CallFold => ({
  cell: createRequestStats(slo, timing => timing === 'latency' || slo[timing] !== undefined),
  tally: { good: 0, bad: 0, refused: 0 },
  missed: new Map(),
})

function callResult(call: string, slo: Slo, { cell, tally, missed }: CallFold): Omit<TrialCall, 'isExceeded'> {
  const { statuses, failures, timing } = cell.stats
  const shown = timings.filter(name => name === 'latency' || slo[name] !== undefined)
  const bad = [...statuses].filter(([status]) => !is2xx(status) && status !== 429)
  return {
    call,
    ...tally,
    missed: Object.fromEntries(missed),
    statuses: statusCounts(new Map(bad)),
    failures: Object.fromEntries([...failures].filter(([reason]) => reason !== 'cancelled')),
    timesMs: Object.fromEntries(shown.map(name => [name, percentilesOf(timing(name))])),
  }
}
