import type { Contract } from '../contract/contract.ts'
import { createBatch, type Defer } from '../lib/batches.ts'
import { pico } from '../lib/money.ts'
import type { EventLoopDelay, RunInfo } from '../observation/log.ts'
import type { Observation, Sink } from '../observation/observation.ts'
import type { Plan, Trial } from '../plan/plan.ts'
import type { Billing, LimitResult } from './audits/audit.ts'
import {
  type AuditSnapshot,
  type CrossWorkerState,
  createAudits,
  type MergedAudits,
  mergeAudits,
} from './audits/audits.ts'
import type { CapacityResult } from './capacity/result.ts'
import { createCapacitySearch } from './capacity/search.ts'
import { createChecks } from './checks/checks.ts'
import { createFindingLog, type FindingLog, type FindingLogSnapshot } from './checks/findings.ts'
import { createMetrics, type MetricsSnapshot, type RunMetrics } from './metrics/request-stats.ts'
import { createSeries, type SeriesSnapshot } from './metrics/series.ts'
import { createSlices, type SlicesSnapshot } from './metrics/slices.ts'
import type { RunExtent } from './metrics/timings.ts'

import { evaluateThresholds, type ThresholdResult } from './thresholds.ts'

/**
 * Judges the observations of one worker: every check, audit and metric, fed by one sink. It is read in three ways only,
 * each of which first judges what still waits: `snapshot`, and the two questions of a search.
 */
export type Judge = {
  /** Takes an observation, which may be judged a little later, together with others. */
  readonly add: Sink
  /** The next trial of a search; null: it has come to its conclusion. Asked when nothing of it is in flight. */
  readonly nextTrial: (stage: string) => Trial | null
  /** Whether the outcome of the current trial is already certain. */
  readonly isDecided: (stage: string, trial: Trial) => boolean
  readonly snapshot: () => JudgeSnapshot
  /**
   * Judges what was still open. To be called once, after the last observation. `isComplete`: false for a record that was
   * cut off.
   */
  readonly finish: (isComplete: boolean) => JudgeResult
}

/** What the judges of some callers know so far, as plain data: a thread can send it to another. */
export type JudgeSnapshot = {
  readonly metrics: MetricsSnapshot
  readonly docket: FindingLogSnapshot
  readonly audits: AuditSnapshot
  /** What searches have found, if the run ends by itself and if not. */
  readonly capacity: { readonly complete: readonly CapacityResult[]; readonly cutShort: readonly CapacityResult[] }
  /** The latest instant of any observation, on the clock of the run. */
  readonly latestMs: number
}

/** All that judges know in the end. The results of several workers, who have no caller in common, add up to those of the run. */
export type JudgeResult = JudgeSnapshot & {
  readonly memories: CrossWorkerState
  readonly series: SeriesSnapshot
  readonly slices: SlicesSnapshot
  /** Observations that examples cite, by their `seq`, as far as they were kept. */
  readonly citedObservations: ReadonlyMap<number, Observation>
}

export type JudgeOptions = {
  /** Puts judging off to when it is in nobody's way; missing: it is done as soon as a batch is full. */
  readonly defer?: Defer
  /** Called with each observation once it is judged. `isCited`: an example of a finding cites it. */
  readonly onJudged?: (observation: Observation, isCited: boolean) => void
}

/**
 * Judging takes more code than fits into the nearest caches, and so does sending: by turns, each evicts the other. Judged
 * together, this many observations take half the time that they take one by one.
 */
const batchSize = 32
/** More than all examples of all judges can cite. */
const maxCited = 50_000

export function createJudge(
  plan: Plan,
  contract: Contract,
  { startedAtMs }: Pick<RunInfo, 'startedAtMs'>,
  { defer, onJudged = () => {} }: JudgeOptions = {},
): Judge {
  const docket = createFindingLog()
  const checks = createChecks(contract, docket)
  const series = createSeries(plan)
  const audits = createAudits({ contract, shared: plan.callers.shared, startedAtMs }, docket, series.spend)
  const metrics = createMetrics(plan)
  const slices = createSlices(plan, contract)
  const searches = createCapacitySearch(plan, contract)
  const cited = new Map<number, Observation>()
  let latestMs = 0

  const batch = createBatch(batchSize, judge, defer)

  function judge(observation: Observation): void {
    checks(observation)
    series.add(observation)
    audits.add(observation)
    metrics.add(observation)
    slices.add(observation)
    searches.add(observation)
    latestMs = Math.max(latestMs, observation.endMs ?? observation.dueMs)
    const isCited = docket.cites(observation.id)
    if (isCited) keep(observation)
    onJudged(observation, isCited)
  }

  function keep(observation: Observation): void {
    cited.set(observation.id, observation)
    // An example gives way to an earlier one that is found later.
    if (cited.size > maxCited) for (const id of cited.keys()) if (!docket.cites(id)) cited.delete(id)
  }

  function snapshot(): JudgeSnapshot {
    batch.flush()
    return {
      metrics: metrics.snapshot(),
      docket: docket.snapshot(),
      audits: audits.snapshot(),
      capacity: { complete: searches.results(true), cutShort: searches.results(false) },
      latestMs,
    }
  }

  return {
    add: batch.add,
    nextTrial: stage => {
      batch.flush()
      const next = searches.next(stage)
      return next.kind === 'trial' ? next.trial : null
    },
    isDecided: (stage, trial) => {
      batch.flush()
      return searches.soFar(stage, trial) !== null
    },
    snapshot,
    finish: isComplete => {
      batch.flush()
      audits.finish(isComplete)
      return {
        ...snapshot(),
        memories: audits.crossWorkerState(),
        series: series.snapshot(),
        slices: slices.snapshot(),
        citedObservations: new Map([...cited].filter(([id]) => docket.cites(id))),
      }
    },
  }
}

/** What can be read off a run, as of a snapshot. */
export type RunView = {
  readonly metrics: RunMetrics
  readonly docket: Pick<FindingLog, 'tallies' | 'violations'>
  readonly audits: { readonly billing: () => Billing; readonly limits: () => readonly LimitResult[] }
  /** What searches have found; `complete`: whether the run has ended by itself. */
  readonly capacity: (complete: boolean) => readonly CapacityResult[]
  readonly thresholds: () => readonly ThresholdResult[]
}

export type MergedView = RunView & { readonly docket: FindingLog; readonly audits: MergedAudits }

/** Reads the snapshots of all workers as those of one; no caller is in two of them. */
export function mergeSnapshots(plan: Plan, snapshots: readonly JudgeSnapshot[]): MergedView {
  const metrics = createMetrics(plan)
  const docket = createFindingLog()
  for (const snapshot of snapshots) {
    metrics.merge(snapshot.metrics)
    docket.merge(snapshot.docket)
  }
  const parts = snapshots.map(snapshot => snapshot.audits)
  const audits = mergeAudits(parts, plan.callers.names, docket)
  const elapsedMs = Math.max(0, ...snapshots.map(({ latestMs }) => latestMs))
  const capacity: RunView['capacity'] = complete =>
    snapshots.flatMap(snapshot => (complete ? snapshot.capacity.complete : snapshot.capacity.cutShort))
  const thresholds = () =>
    thresholdsOf(plan, { metrics, docket, audits, capacity }, { complete: false, elapsedMs }, null)
  return { metrics, docket, audits, capacity, thresholds }
}

export function thresholdsOf(
  plan: Plan,
  { metrics, docket, audits, capacity }: Omit<RunView, 'thresholds'>,
  extent: RunExtent,
  eventLoopDelayMs: EventLoopDelay | null,
): readonly ThresholdResult[] {
  const { discrepancies, claimedCredits, claimedUsd } = audits.billing()
  return evaluateThresholds(plan.thresholds, metrics, {
    violations: docket.violations(),
    discrepancies: discrepancies.reduce((sum, { count }) => sum + count, 0),
    unexpected429: audits.limits().reduce((sum, limit) => sum + limit.unexpected429, 0),
    credits: BigInt(claimedCredits),
    picoUsd: pico(claimedUsd),
    capacity: capacity(extent.complete),
    eventLoopDelayMs,
    ...extent,
  })
}
