import type { Contract } from '../../contract/contract.ts'
import { isFirstRequest, isLocalFault, latenessMs, type Observation, type Sink } from '../../observation/observation.ts'
import { isAbuseBlock } from '../../observation/response.ts'
import type { Plan, SearchTerms, Trial } from '../../plan/plan.ts'
import { maxLatenessMs } from '../metrics/harness-limits.ts'
import { percentileMs, percentilesOf } from '../metrics/histogram.ts'
import { createRequestStats, type MutableStats, mergeStats, type RequestStats } from '../metrics/request-stats.ts'
import { isSuccess, meetsSlo } from '../metrics/timings.ts'

import { type CallTally, judgeTrial, type TrialOutcome, type TrialSnapshot, type TrialState } from './judge-trial.ts'
import { type NextStep, nextTrial, type SearchConclusion, type TrialRecord } from './next-trial.ts'
import { queueTrendOf, type TimedRequest } from './queue-growth.ts'
import { type CapacityResult, conclusionText, type TrialResult } from './result.ts'

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
      return replayTrials(search.terms, search.folds, true).next
    },
    soFar: (stage, trial) => {
      const search = searches.get(stage)
      const fold = search?.folds[trial.index]
      return search === undefined || fold === undefined
        ? null
        : judgeTrial(trial, fold.snapshot('open'), search.terms, 'open')
    },
    results: complete => [...searches].map(([stage, { terms, folds }]) => resultOf(stage, terms, folds, complete)),
  }
}

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

function resultOf(stage: string, terms: SearchTerms, folds: readonly TrialFold[], complete: boolean): CapacityResult {
  const { past, next } = replayTrials(terms, folds, complete)
  // If the search has a next trial that did not take place, the time was over.
  const conclusion: SearchConclusion =
    next.kind === 'conclusion' ? next.conclusion : { status: 'inconclusive', perSecond: null, reason: 'unfinished' }
  const { fromPerSecond, toPerSecond, goodRatio, precision, mix } = terms
  const trials = past.flatMap((record, index) => {
    const fold = folds[index]
    return fold === undefined ? [] : [trialResult(record, fold)]
  })
  const confirmed = conclusion.perSecond === null ? undefined : folds[past.length - 1]
  return {
    stage,
    status: conclusion.status,
    ratePerSecond: conclusion.perSecond,
    reason: conclusionText(conclusion, trials, terms),
    fromPerSecond,
    toPerSecond,
    mix,
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

function trialResult({ trial, outcome }: TrialRecord, fold: TrialFold): TrialResult {
  const { statuses, sent, answered, failed, dropped, timing } = fold.stats()
  const { arrivals, queue } = fold.snapshot('ended')
  const good = fold.good()
  // n arrivals have n − 1 gaps; the additional gap is for the first one.
  const seconds = fold.workedMs() / 1000 + 1 / trial.perSecond
  const due = sent + dropped
  /** An arrival of several requests, such as a replay, counts once. */
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
    latencyMs: percentilesOf(timing('latency')),
    refused: statuses.get(429) ?? 0,
    overloaded: statuses.get(503) ?? 0,
    failed,
    dropped,
    inFlightGrowthPerSecond: queue?.inFlightPerSecond ?? null,
  }
}

/** Sums over a trial. */
type TrialFold = {
  readonly add: Sink
  /** During a trial, only the complete part of its queue is evaluated. */
  readonly snapshot: (state: 'open' | 'ended') => TrialSnapshot
  readonly stats: () => RequestStats
  readonly good: () => number
  /** The time in which the target worked off the trial: that of the arrivals or of the responses, whichever is longer. */
  readonly workedMs: () => number
}

/** Requests whose instants are stored. Beyond that, every second one is dropped, repeatedly. */
const maxTimedRequests = 1_024
/** The last 5 % of the responses are left out of the time, because a stuck one does not show the rate of the others. */
const stragglersFrom = 0.95

function createTrialFold(slo: Plan['slo'], contract: Contract): TrialFold {
  const cells = new Map<string, MutableStats>()
  const calls: Record<string, { -readonly [Name in keyof CallTally]: number }> = {}
  const counts = { arrivals: 0, late: 0, blocked: 0, heldBack: 0, crowdedOut: 0, cutOff: 0 }
  let timed: TimedRequest[] = []
  let stride = 1
  let ended = 0
  let maxMs = 0
  let lastEndMs = Number.NEGATIVE_INFINITY
  let [firstDueMs, lastDueMs] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  /** Live views read all trials repeatedly, and few have changed. */
  let finalSnapshot: TrialSnapshot | null = null

  const store = ({ dueMs, sentMs, endMs }: Observation) => {
    if (sentMs === null || endMs === null) return
    maxMs = Math.max(maxMs, endMs - dueMs)
    if (ended++ % stride !== 0) return
    timed.push({ dueMs, sentMs, endMs })
    if (timed.length < maxTimedRequests) return
    timed = timed.filter((_, index) => index % 2 === 0)
    stride *= 2
  }
  const tally = (o: Observation) => {
    const { call, response, outcome } = o
    const ofCall = calls[call] ?? { good: 0, bad: 0, refused: 0 }
    calls[call] = ofCall
    if (response !== null && isAbuseBlock(response, contract)) counts.blocked++
    else if (outcome.kind === 'answered' && outcome.status === 429) ofCall.refused++
    else if (meetsSlo(o, slo[call] ?? {})) ofCall.good++
    else ofCall.bad++
  }

  const snapshotUntil = (untilMs: number): TrialSnapshot => {
    const inOrder = timed.toSorted((a, b) => a.dueMs - b.dueMs)
    return { ...counts, calls, queue: queueTrendOf(inOrder, stride, untilMs) }
  }

  return {
    add: o => {
      finalSnapshot = null
      const { call, outcome, dueMs, endMs } = o
      const cell = cells.get(call) ?? createRequestStats(slo[call] ?? {})
      cells.set(call, cell)
      cell.add(o)
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
      else tally(o)
      // An immediate rejection was in no queue.
      if (outcome.kind === 'failed' || isSuccess(o)) store(o)
    },
    snapshot: state => {
      if (state === 'open') return snapshotUntil(lastEndMs - maxMs)
      finalSnapshot ??= snapshotUntil(lastDueMs)
      return finalSnapshot
    },
    stats: () => mergeStats([...cells.values()].map(({ stats }) => stats)),
    good: () => Object.values(calls).reduce((sum, { good }) => sum + good, 0),
    workedMs: () => {
      const endsMs = timed.map(({ endMs }) => endMs).toSorted((a, b) => a - b)
      const cutoffMs = endsMs[Math.floor((endsMs.length - 1) * stragglersFrom)] ?? 0
      return Math.max(0, lastDueMs - firstDueMs, (cutoffMs - (endsMs[0] ?? cutoffMs)) / stragglersFrom)
    },
  }
}
