import type { Contract } from '../contract/contract.ts'
import { probeOf } from '../contract/probes.ts'
import { createBatch, type Defer } from '../lib/batches.ts'
import type { RunInfo } from '../observation/log-lines.ts'
import type { Observation, Sink } from '../observation/observation.ts'
import { refusalsAs429 } from '../observation/response.ts'
import { type Plan, traitsOf } from '../plan/plan.ts'
import { type Answers, createAnswerLog, createInventedKeys } from './answers.ts'
import type { AuditContext, Billing, BlockCounts } from './audits/audit.ts'
import {
  type AuditSnapshot,
  type CrossWorkerState,
  createAudits,
  type MergedAudits,
  mergeAudits,
} from './audits/audits.ts'
import { createSearchFolds, readSearches, type SearchSnapshot } from './capacity/search.ts'
import type { TrialPart } from './capacity/trial-fold.ts'
import { createChecks } from './checks/checks.ts'
import { shownIds } from './findings/causes.ts'
import { createFindingLog, type FindingLog, type FindingLogSnapshot } from './findings/findings.ts'
import { createMetrics, type MetricsSnapshot, type RunMetrics } from './metrics/request-stats.ts'
import { coarseSnapshot, createSeries, type SeriesSnapshot } from './metrics/series.ts'
import { createSlices, type SlicesSnapshot } from './metrics/slices.ts'
import type { RunExtent } from './metrics/timings.ts'
import { createTurnFold, type TurnsSnapshot } from './metrics/turns.ts'
import { explainNotJudged } from './not-judged.ts'
import { createOpenPayments, type OpenPayment } from './open-payments.ts'
import { type CallProof, createProofLog } from './proof.ts'
import type { CapacityResult, LimitResult, ThresholdResult } from './results.ts'
import { evaluateThresholds } from './thresholds.ts'
import { judgedTotals } from './undecided.ts'

/**
 * Judges the observations of one worker: one sink feeds every check, audit and metric. Each reading method (`snapshot`,
 * `hasViolation`, `trialPart`, `finish`) first judges the observations that wait in the batch.
 */
export type Judge = {
  /** Adds an observation. It may be judged a little later, in a batch. */
  readonly add: Sink
  /** What its requests in a trial say about the outcome so far. */
  readonly trialPart: (stage: string, trial: number) => TrialPart
  /** Whether a clause is violated, so far. */
  readonly hasViolation: () => boolean
  readonly snapshot: () => JudgeSnapshot
  /** What a live page shows besides the snapshot, as of the last batch. */
  readonly details: () => JudgeDetails
  /**
   * Judges everything that is still open. To be called once, after the last observation. `isComplete`: false for a
   * truncated recording.
   */
  readonly finish: (isComplete: boolean) => JudgeResult
}

/** The results so far for some callers, as plain data that threads can exchange. */
export type JudgeSnapshot = {
  readonly metrics: MetricsSnapshot
  readonly findingLog: FindingLogSnapshot
  readonly audits: AuditSnapshot
  readonly searches: readonly SearchSnapshot[]
  /** The latest instant of all observations, on the clock of the run. */
  readonly latestMs: number
}

/** The final results of one worker. Workers share no caller, so their results add up to those of the run. */
export type JudgeResult = JudgeSnapshot & {
  readonly memories: CrossWorkerState
  readonly series: SeriesSnapshot
  readonly slices: SlicesSnapshot
  readonly proofs: readonly CallProof[]
  readonly answers: Answers
  readonly openPayments: readonly OpenPayment[]
  readonly turns: TurnsSnapshot
  /** Observations that examples cite, by request id, as far as they were stored. */
  readonly citedObservations: ReadonlyMap<number, Observation>
}

/** The parts of a result that a live page shows during a run. Their size is bounded. */
export type JudgeDetails = Pick<JudgeResult, 'proofs' | 'answers' | 'openPayments' | 'turns' | 'citedObservations'> & {
  /** Coarse. */
  readonly series: SeriesSnapshot
}

export type JudgeOptions = {
  /** Defers judging to idle time; missing: a full batch is judged immediately. */
  readonly defer?: Defer
  /** Called with each judged observation. `isCited`: an example of a finding cites it. */
  readonly onJudged?: (observation: Observation, isCited: boolean) => void
  /** Whether `details` has evidence of judges that decide later. */
  readonly keepsRecent?: boolean
  /** Whether nothing is judged, since only times are of interest. */
  readonly timesOnly?: boolean
}

/**
 * The code for judging and the code for sending do not fit into the CPU caches together. Judged in batches of this size,
 * observations take half the time.
 */
const batchSize = 128
/** More than the examples of all judges can cite. */
const maxCited = 50_000
/** The observations that a live page shows as evidence. */
const maxLiveCited = 40
/** An audit may cite an observation some time after it was judged. */
const recentSize = 256

export function createJudge(
  plan: Plan,
  contract: Contract,
  { startedAtMs, inventedKeys }: Pick<RunInfo, 'startedAtMs' | 'inventedKeys'>,
  { defer, onJudged = () => {}, keepsRecent = false, timesOnly = false }: JudgeOptions = {},
): Judge {
  const findingLog = createFindingLog(plan.notPromised, plan.only?.clauses)
  const checks = createChecks(contract, findingLog)
  const series = createSeries(plan, contract)
  const audits = createAudits(auditContextOf(plan, contract, { startedAtMs }), findingLog, series.spend)
  const metrics = createMetrics(plan)
  const slices = createSlices(plan, contract)
  const searches = createSearchFolds(plan, contract)
  const turns = createTurnFold(plan, contract)
  const proofLog = createProofLog(plan, contract)
  const answerLog = createAnswerLog(contract)
  const payments = createOpenPayments(contract)
  const asJudged = refusalsAs429(contract)
  const isUnknownKey = createInventedKeys(inventedKeys === true)
  const cited = new Map<number, Observation>()
  const recent: Observation[] = []
  let judgedCount = 0
  let latestMs = 0

  const batch = createBatch(batchSize, timesOnly ? measure : judge, defer)

  function measure(recorded: Observation): void {
    const observation = asJudged(recorded)
    metrics.add(observation)
    searches.add(observation)
    latestMs = Math.max(latestMs, observation.endMs ?? observation.dueMs)
  }

  function judge(recorded: Observation): void {
    const observation = asJudged(recorded)
    const reports = findingLog.contentReports()
    if (!isUnknownKey(observation)) checks(observation)
    proofLog.add(observation, findingLog.contentReports() > reports)
    answerLog.add(observation)
    payments.add(observation)
    series.add(observation)
    audits.add(observation)
    measure(observation)
    slices.add(observation)
    turns.add(observation)
    const isCited = findingLog.cites(observation.id)
    if (findingLog.mayCite(observation.id)) storeCited(recorded)
    if (keepsRecent) recent[judgedCount++ % recentSize] = recorded
    onJudged(recorded, isCited)
  }

  function storeCited(observation: Observation): void {
    cited.set(observation.id, observation)
    // An example is dropped if a later observation gives an earlier one.
    if (cited.size > maxCited) for (const id of cited.keys()) if (!findingLog.mayCite(id)) cited.delete(id)
  }

  /** Of the first cause of each finding. */
  function firstCited(): ReadonlyMap<number, Observation> {
    const ids = findingLog.findings().flatMap(({ examples: [first] }) => (first === undefined ? [] : shownIds(first)))
    const shown = new Set(ids.slice(0, maxLiveCited))
    for (const observation of recent) if (shown.has(observation.id)) storeCited(observation)
    return new Map([...cited].filter(([id]) => shown.has(id)))
  }

  function snapshot(isTruncated = false): JudgeSnapshot {
    batch.flush()
    return {
      metrics: metrics.snapshot(),
      findingLog: findingLog.snapshot(),
      audits: audits.snapshot(),
      searches: searches.snapshot(isTruncated),
      latestMs,
    }
  }

  const records = () => ({
    proofs: proofLog.proofs(),
    answers: answerLog.answers(),
    openPayments: payments.list(),
    turns: turns.snapshot(),
  })

  return {
    add: batch.add,
    trialPart: (stage, trial) => {
      batch.flush()
      return searches.part(stage, trial)
    },
    hasViolation: () => {
      batch.flush()
      return findingLog.violations() > 0
    },
    snapshot: () => snapshot(),
    details: () => ({
      ...records(),
      series: coarseSnapshot(plan, series.snapshot()),
      citedObservations: firstCited(),
    }),
    finish: isComplete => {
      batch.flush()
      audits.finish(isComplete)
      return {
        ...snapshot(!isComplete),
        memories: audits.crossWorkerState(),
        ...records(),
        series: series.snapshot(),
        slices: slices.snapshot(),
        citedObservations: new Map([...cited].filter(([id]) => findingLog.cites(id))),
      }
    },
  }
}

export const auditContextOf = (
  plan: Plan,
  contract: Contract,
  { startedAtMs }: Pick<RunInfo, 'startedAtMs'>,
): AuditContext => ({
  ...{ contract, shared: plan.callers.shared, startedAtMs },
  ...{ callsOneNetwork: callsOneNetwork(plan), mayShare: sharersOf(plan) },
})

/** How many callers may share an account by mistake. Turnpike gives each one an account of its own at the embedded service. */
const sharersOf = ({ target, callers }: Plan): number =>
  target === null || callers.shared || callers.separate === true ? 0 : callers.names.length

/**
 * Whether all RPC requests of a plan name the same network, so a limit per network counts what one over all networks does. A
 * probe of the proxy may count against neither.
 */
export function callsOneNetwork({ calls }: Pick<Plan, 'calls'>): boolean {
  const all = Object.values(calls)
  if (all.some(call => call.kind === 'probe' && probeOf(call.probe).draws === 'rpc')) return false
  const scopes = all.flatMap(call => traitsOf(call).limits.map(({ scope }) => scope))
  return new Set(scopes.flatMap(scope => (scope.limiter === 'rpc' ? [scope.network] : []))).size === 1
}

/** The readings of a run, as of a snapshot. */
export type RunView = {
  readonly metrics: RunMetrics
  readonly findingLog: Pick<FindingLog, 'tallies' | 'violations' | 'findings'>
  readonly audits: {
    readonly billing: () => Billing
    readonly limits: () => readonly LimitResult[]
    readonly blocks: () => BlockCounts
  }
  /** The results of searches; `complete`: the run has ended by itself. */
  readonly capacity: (complete: boolean) => readonly CapacityResult[]
  readonly thresholds: () => readonly ThresholdResult[]
}

export type MergedView = RunView & { readonly findingLog: FindingLog; readonly audits: MergedAudits }

/** Merges the snapshots of all workers into one. Workers share no caller. */
export function mergeSnapshots(plan: Plan, snapshots: readonly JudgeSnapshot[]): MergedView {
  const metrics = createMetrics(plan)
  const findingLog = createFindingLog(plan.notPromised, plan.only?.clauses)
  for (const snapshot of snapshots) {
    metrics.merge(snapshot.metrics)
    findingLog.merge(snapshot.findingLog)
  }
  const parts = snapshots.map(snapshot => snapshot.audits)
  const audits = mergeAudits(parts, plan.callers.names, findingLog)
  const elapsedMs = Math.max(0, ...snapshots.map(({ latestMs }) => latestMs))
  const capacity = readSearches(
    plan,
    snapshots.map(({ searches }) => searches),
  )
  const thresholds = () =>
    thresholdsOf(plan, { metrics, findingLog, audits, capacity }, { complete: false, elapsedMs }, null)
  return { metrics, findingLog, audits, capacity, thresholds }
}

export function thresholdsOf(
  plan: Plan,
  { metrics, findingLog, audits, capacity }: Omit<RunView, 'thresholds'>,
  extent: RunExtent,
  unrecordedStallMs: number | null,
): readonly ThresholdResult[] {
  const judged = judgedTotals({
    plan,
    clauses: explainNotJudged(findingLog.tallies(), plan, metrics),
    metrics,
    limits: audits.limits(),
    billing: audits.billing(),
    violations: findingLog.violations(),
    blocks: audits.blocks(),
  })
  const totals = { judged, capacity: capacity(extent.complete), unrecordedStallMs, ...extent }
  return evaluateThresholds(plan.thresholds, metrics, totals)
}
