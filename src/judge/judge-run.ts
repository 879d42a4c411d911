import type { Contract } from '../contract/contract.ts'
import { hasHeader, readLog } from '../observation/log.ts'
import type { EventLoopDelay, LogFooter, PushCounts, RunInfo } from '../observation/log-lines.ts'
import type { Observation } from '../observation/observation.ts'
import { isSystemStage, type Plan } from '../plan/plan.ts'
import { shardOf } from '../plan/shard.ts'
import { createAnswerLog, noServiceReason } from './answers.ts'
import type { BlockCounts } from './audits/audit.ts'
import { findSharedAccounts, judgeOthers } from './audits/shared-accounts.ts'
import { decidedThresholds, thresholdsOfShared } from './decided.ts'
import { endedByItself } from './ended-early.ts'
import type { ClauseTally } from './findings/findings.ts'
import { auditContextOf, createJudge, type JudgeResult, mergeSnapshots, type RunView, thresholdsOf } from './judge.ts'
import { createHistogram, percentilesOf } from './metrics/histogram.ts'
import type { RunMetrics } from './metrics/request-stats.ts'
import { createSeries, type Series } from './metrics/series.ts'
import { createSlices, type Slices } from './metrics/slices.ts'
import { createTurnFold } from './metrics/turns.ts'
import { explainNotJudged } from './not-judged.ts'
import { createProofLog } from './proof.ts'
import type { ConversationResult, LimitResult, Percentiles } from './results.ts'
import { paymentReasons, type RunVerdict, reachVerdict, type VerdictInput } from './verdict.ts'

/** The inputs of judging a run. */
export type JudgeJob = { readonly plan: Plan; readonly contract: Contract; readonly head: RunInfo }

/** The result of the judge of one worker, and the footer of its log; null: the log is truncated. */
export type WorkerResult = {
  readonly snapshot: JudgeResult
  readonly end: LogFooter | null
  /** Missing: the worker ran on the machine that made the report. */
  readonly machine?: Machine | undefined
  /** Missing: the worker ran on the machine that made the report, or never said. */
  readonly health?: WorkerHealth | undefined
  /** Missing: the records are in the run directory, or there are none. */
  readonly records?: RecordsElsewhere | undefined
}

/** Another machine of a run, and how its clock differed from the one that all machines shared. In milliseconds. */
export type Machine = {
  readonly name: string
  /** How far its own clock was ahead. The run did not use it. */
  readonly clockAheadMs: number
  /** How far the times that it measured have moved away from the shared clock during the run. */
  readonly clockDriftMs: number
  /** By how much both may be wrong. */
  readonly clockErrorMs: number
}

/** The process of a worker on another machine, as it measures itself. */
export type WorkerHealth = {
  readonly name: string
  readonly version: string
  readonly node: string
  /** The cores that the process may use. */
  readonly cores: number
  readonly memoryBytes: number
  readonly rssBytes: number
  /** Cores in use: 1.5 is one core and a half. In a report over the whole shard; live since the last measurement. */
  readonly usedCores: number
}

/** The observations that a worker on another machine recorded. */
export type RecordsElsewhere = {
  /** The worker, and the file on its machine. */
  readonly worker: string
  readonly file: string
  /** Why the run directory lacks them; null: they were collected. */
  readonly missing: string | null
}

/** A run with its verdict: the input of its report and its outputs. */
export type JudgedRun = VerdictInput &
  RunVerdict & {
    readonly head: RunInfo
    readonly load: LoadTotals
    readonly series: Series
    /** For comparisons with other runs. */
    readonly slices: Slices
    readonly limits: readonly LimitResult[]
    readonly conversations: readonly ConversationResult[]
    /** Observations that an example cites, by request id, as far as the judges stored them. */
    readonly citedObservations: ReadonlyMap<number, Observation>
  }

/** The load of a run over all calls and stages, and the figures of Turnpike itself. */
type LoadTotals = {
  /** Requests that the plan forecast. */
  readonly planned: number
  /** Requests handed to the transport: `answered` plus `failed`, including system calls. */
  readonly sent: number
  /** Complete responses, of any status. */
  readonly answered: number
  readonly failed: number
  /** Arrivals that were due and never sent. */
  readonly dropped: number
  /** Arrivals without credentials. */
  readonly skipped: number
  readonly failures: Readonly<Record<string, number>>
  /** Responses of the abuse block, in stages that do not provoke it. */
  readonly blocked: number
  readonly latenessMs: Percentiles
  readonly eventLoopDelayMs: EventLoopDelay | null
  /** Observations that were judged but not recorded, because the disk was too slow. */
  readonly notRecorded: number
  /** Remote write until the run ended; null: there was none. */
  readonly pushed: PushCounts | null
  /** One for each worker, in order. */
  readonly workers: readonly WorkerTotals[]
}

type WorkerTotals = {
  /** From 1. */
  readonly worker: number
  readonly callers: number
  /** Its log has no footer. */
  readonly lost: boolean
  /** The start of its first stage, in milliseconds on the clock of the run; null: unknown, or it never started. */
  readonly startedMs: number | null
  readonly sent: number
  readonly latenessMs: Percentiles
  readonly eventLoopDelayMs: EventLoopDelay | null
  /** null: it ran on the machine that made the report, or it was lost. */
  readonly machine: Machine | null
  /** null: it ran on the machine that made the report, or never said. */
  readonly health: WorkerHealth | null
  /** null: its records are in the run directory, or there are none. */
  readonly records: RecordsElsewhere | null
}

/** Judges the log of a worker again; a missing log counts as empty. `skipped`: observations that the log lacks. */
export async function judgeLog(job: JudgeJob, file: string): Promise<WorkerResult & { skipped: number }> {
  const judge = createJudge(job.plan, job.contract, job.head)
  let end: LogFooter | null = null
  let skipped = 0
  for await (const line of hasHeader(file) ? readLog(file) : []) {
    if (line.kind === 'observation') judge.add(line.observation)
    if (line.kind === 'end') end = line.end
    if (line.kind === 'gap') skipped += line.skipped
  }
  return { snapshot: judge.finish(end !== null), end, skipped }
}

/** The result of a worker without a log. */
export const emptyResult = ({ plan, contract, head }: JudgeJob): WorkerResult => ({
  snapshot: createJudge(plan, contract, head).finish(false),
  end: null,
})

/** Judges a run by the results of all its workers, in order. Workers share no caller. */
export function judgeRun({ plan, contract, head }: JudgeJob, results: readonly WorkerResult[]): JudgedRun {
  const all = results.map(({ snapshot }) => snapshot)
  const view = mergeSnapshots(plan, all)
  const { metrics, audits } = view
  audits.finish(all.map(({ memories }) => memories))
  const histories = all.flatMap(({ memories }) => memories.histories)
  const context = auditContextOf(plan, contract, head)
  const shared = findSharedAccounts(histories, context, view.findingLog)
  audits.withdraw(shared)
  judgeOthers(shared, histories, context, view.findingLog)
  const end = endOf(results.map(result => result.end))
  const latestMs = Math.max(0, ...all.map(snapshot => snapshot.latestMs))
  const durationMs = Math.round(end?.durationMs ?? latestMs)
  const ended = end?.ended ?? 'truncated'
  const isWhole = endedByItself(ended)
  const load = loadTotals(plan, metrics, audits.blocks(), results, end)
  const series = createSeries(plan)
  const slices = createSlices(plan, contract)
  for (const snapshot of all) {
    series.merge(snapshot.series)
    slices.merge(snapshot.slices)
  }
  const extent = { complete: isWhole, elapsedMs: durationMs }
  const thresholds = thresholdsOf(plan, view, extent, unrecordedStallMs(results.map(result => result.end)))
  return concludeRun({ plan, contract, head }, view, all, {
    ended,
    durationMs,
    load,
    sharedAccounts: shared,
    series: series.series(),
    slices: slices.slices(),
    capacity: view.capacity(isWhole),
    thresholds: thresholdsOfShared(plan, shared, decidedThresholds(plan, metrics, ended, thresholds)),
  })
}

type OfWorker = Pick<JudgeResult, 'proofs' | 'answers' | 'openPayments' | 'turns' | 'citedObservations'>
type OfRun = Pick<JudgedRun, 'ended' | 'durationMs' | 'load' | 'series' | 'capacity' | 'thresholds' | 'sharedAccounts'>

/** Adds to the figures of a run what the judges of its workers found, and the verdict. */
export function concludeRun<Run extends OfRun>(
  { plan, contract, head }: JudgeJob,
  { metrics, findingLog, audits }: RunView,
  workers: readonly OfWorker[],
  ofRun: Run,
): Run & Omit<JudgedRun, 'slices'> {
  const proofLog = createProofLog(plan, contract)
  const answerLog = createAnswerLog(contract)
  const turnFold = createTurnFold(plan)
  for (const { proofs, answers, turns } of workers) {
    proofLog.merge(proofs)
    answerLog.merge(answers)
    turnFold.merge(turns)
  }
  const run = {
    ...ofRun,
    plan,
    head,
    metrics,
    clauses: explainNotJudged(findingLog.tallies(), plan, metrics),
    findings: findingLog.findings(),
    billing: audits.billing(),
    limits: audits.limits(),
    conversations: turnFold.results(),
    proofs: proofLog.proofs(),
    openPayments: workers.flatMap(({ openPayments }) => openPayments),
    citedObservations: new Map(workers.flatMap(({ citedObservations }) => [...citedObservations])),
  }
  const cause = noServiceReason(answerLog.answers(), run.ended, head)
  return cause === null ? { ...run, ...reachVerdict(run) } : withoutJudgements(run, cause)
}

/** A run whose responses do not come from the service. Its violations are symptoms of that. */
function withoutJudgements<Run extends VerdictInput>(run: Run, cause: string): Run & RunVerdict {
  return {
    ...run,
    clauses: run.clauses.map(clause => ({ ...clause, judged: 0, violated: 0, measured: null, ...silenceOf(clause) })),
    findings: [],
    billing: { ...run.billing, discrepancies: [] },
    thresholds: run.thresholds.map(threshold => ({
      ...threshold,
      value: null,
      lowest: null,
      highest: null,
      verdict: 'inconclusive',
      message: noAnswer,
    })),
    verdict: 'inconclusive',
    reasons: [cause, ...paymentReasons(run.openPayments)],
  }
}

const noAnswer = 'the service did not answer'

const silenceOf = ({ verdict }: ClauseTally): Pick<ClauseTally, 'verdict' | 'because'> =>
  verdict === 'not-promised'
    ? { verdict, because: null }
    : { verdict: 'not-exercised', because: { kind: 'not-exercised', text: noAnswer, clause: null } }

export function loadTotals(
  plan: Plan,
  metrics: RunMetrics,
  blocks: BlockCounts,
  results: readonly WorkerResult[],
  end: LogFooter | null,
): LoadTotals {
  const { sent, answered, failed, dropped, skipped, failures, timing } = metrics.all()
  const ends = results.flatMap(result => result.end ?? [])
  return {
    planned: plan.forecast.requests,
    sent,
    answered,
    failed,
    dropped,
    skipped,
    failures: Object.fromEntries([...failures].toSorted(([a], [b]) => (a < b ? -1 : 1))),
    blocked: unintendedBlocks(plan, blocks),
    latenessMs: percentilesOf(timing('lateness')),
    eventLoopDelayMs: maxDelay(ends),
    notRecorded: ends.reduce((sum, { notRecorded }) => sum + notRecorded, 0),
    pushed: end?.pushed ?? null,
    workers: results.map((result, worker) => workerTotals(result, worker, results.length, plan)),
  }
}

/** If a stage provokes blocks, its callers may still be blocked in the system stages. */
function unintendedBlocks({ stages }: Plan, blocks: BlockCounts): number {
  const intended = stages.filter(({ beyondFailures }) => beyondFailures).map(({ name }) => name)
  return Object.entries(blocks)
    .filter(([stage]) => !intended.includes(stage) && !(intended.length > 0 && isSystemStage(stage)))
    .reduce((sum, [, count]) => sum + count, 0)
}

/**
 * How the run ended. Footers agree, except for a remote worker that finished early. Null if one is missing, unless the run ended because a worker was lost.
 */
function endOf(ends: readonly (LogFooter | null)[]): LogFooter | null {
  const all = ends.filter(end => end !== null)
  const known =
    all.find(({ ended }) => ended === 'worker-lost') ?? all.find(({ ended }) => ended !== 'complete') ?? all[0] ?? null
  return known?.ended === 'worker-lost' || !ends.includes(null) ? known : null
}

/** The longest stall of the workers whose observations do not state theirs; null: all do. */
function unrecordedStallMs(ends: readonly (LogFooter | null)[]): number | null {
  const delays = ends.flatMap(end => (end === null || end.statesStalls ? [] : (end.eventLoopDelayMs?.max ?? [])))
  return delays.length === 0 ? null : Math.max(...delays)
}

/** The maximum over all workers; each has its own event loop. */
export function maxDelay(workers: readonly Pick<LogFooter, 'eventLoopDelayMs'>[]): EventLoopDelay | null {
  const delays = workers.flatMap(worker => worker.eventLoopDelayMs ?? [])
  if (delays.length === 0) return null
  return { p99: Math.max(...delays.map(({ p99 }) => p99)), max: Math.max(...delays.map(({ max }) => max)) }
}

function workerTotals(
  { snapshot, end, machine, health, records }: WorkerResult,
  worker: number,
  workers: number,
  plan: Plan,
): WorkerTotals {
  const lateness = createHistogram()
  for (const { stats } of snapshot.metrics.cells) {
    const late = stats.histograms.get('lateness')
    if (late !== undefined) lateness.merge(late)
  }
  return {
    worker: worker + 1,
    callers: plan.callers.names.filter((_, caller) => shardOf(caller, plan, workers) === worker).length,
    lost: end === null,
    startedMs: end?.startedMs ?? null,
    sent: snapshot.metrics.cells.reduce((sum, { stats }) => sum + stats.sent, 0),
    latenessMs: percentilesOf(lateness),
    eventLoopDelayMs: end?.eventLoopDelayMs ?? null,
    machine: machine ?? null,
    health: health ?? null,
    records: records ?? null,
  }
}
