import type { CapacityResult } from '../capacity/result.ts'
import { percentileMs } from '../metrics/histogram.ts'
import { type RunMetrics, statusCounts } from '../metrics/request-stats.ts'
import { perSecond } from '../metrics/timings.ts'
import { isSystemStage, type Plan, type StagePlan } from '../plan/plan.ts'
import { rateAt, ratePieces } from '../plan/rate-line.ts'

/** A run as it goes. */
export type ProgressSnapshot = {
  readonly scenario: string
  readonly stage: StageProgress
  /** Of the load: what comes before and after the stages does not count. */
  readonly elapsedMs: number
  readonly totalMs: number
  readonly inFlight: number
  readonly sent: number
  readonly failed: number
  readonly dropped: number
  readonly statuses: Readonly<Record<string, number>>
  readonly latencyP95Ms: number | null
  readonly ttftP95Ms: number | null
  readonly violations: number
  /** Decimal. */
  readonly claimedUsd: string
}

/** Between the stages, `(opening)` say, only the name is known. */
export type StageProgress = {
  readonly name: string
  readonly planned: null | {
    /** From 1. */
    readonly position: number
    readonly of: number
    readonly elapsedMs: number
    readonly durationMs: number
    /** Arrivals that are due each second at this moment, of a search those of its latest trial; null where the answers set the pace. */
    readonly offeredPerSecond: number | null
    /** Complete answers each second, over the stage so far. */
    readonly achievedPerSecond: number | null
  }
}

type Search = Pick<CapacityResult, 'stage' | 'perSecond' | 'trials'>

export type ProgressSource = {
  readonly plan: Plan
  readonly metrics: RunMetrics
  readonly stage: string
  /** Since the first stage began; 0 before. */
  readonly loadElapsedMs: number
  readonly inFlight: number
  readonly violations: number
  readonly claimedUsd: string
  readonly capacity: readonly Search[]
}

export function snapshotProgress(source: ProgressSource): ProgressSnapshot {
  const { plan, metrics, inFlight, violations, claimedUsd, loadElapsedMs } = source
  const run = metrics.select({ call: null, stage: null })
  const totalMs = plannedStages(plan).reduce((latest, stage) => Math.max(latest, stage.startMs + stage.durationMs), 0)
  return {
    scenario: plan.scenario,
    stage: stageProgress(source),
    elapsedMs: Math.min(loadElapsedMs, totalMs),
    totalMs,
    inFlight,
    sent: run.sent,
    failed: run.failed,
    dropped: run.dropped,
    statuses: statusCounts(run.statuses),
    latencyP95Ms: percentileMs(run.timing('latency'), 95),
    ttftP95Ms: percentileMs(run.timing('ttft'), 95),
    violations,
    claimedUsd,
  }
}

function stageProgress({ plan, metrics, capacity, stage: name, loadElapsedMs }: ProgressSource): StageProgress {
  const stages = plannedStages(plan)
  const index = stages.findIndex(stage => stage.name === name)
  const stage = stages[index]
  if (stage === undefined) return { name, planned: null }
  const elapsedMs = stageElapsedMs(stage, loadElapsedMs)
  const { answered } = metrics.select({ call: null, stage: name })
  const search = capacity.find(each => each.stage === name)
  return {
    name,
    planned: {
      position: index + 1,
      of: stages.length,
      elapsedMs,
      durationMs: stage.durationMs,
      offeredPerSecond: search === undefined ? offeredPerSecond(stage, elapsedMs) : triedPerSecond(search),
      achievedPerSecond: perSecond(answered, elapsedMs > 0 ? elapsedMs : null),
    },
  }
}

/** With a rate that is confirmed a search is over; before its first answer nobody knows. */
const triedPerSecond = ({ perSecond, trials }: Search): number | null =>
  perSecond === null ? (trials.at(-1)?.offeredPerSecond ?? null) : 0

/** Arrivals that are due each second; null where the answers set the pace. None before and after the stages. */
export function offeredNow(plan: Plan, stageName: string, loadElapsedMs: number): number | null {
  const stage = plannedStages(plan).find(({ name }) => name === stageName)
  return stage === undefined ? 0 : offeredPerSecond(stage, stageElapsedMs(stage, loadElapsedMs))
}

const stageElapsedMs = ({ startMs, durationMs }: StagePlan, loadElapsedMs: number): number =>
  Math.min(durationMs, Math.max(0, loadElapsedMs - startMs))

const plannedStages = (plan: Plan): readonly StagePlan[] => plan.stages.filter(stage => !isSystemStage(stage.name))

function offeredPerSecond({ load, durationMs }: StagePlan, elapsedMs: number): number | null {
  if (load.model !== 'open') return null
  const { shape } = load
  if (shape.kind === 'recorded') return (load.mix.reduce((sum, [, count]) => sum + count, 0) * 1000) / durationMs
  if (shape.kind === 'burst') return (shape.size * 1000) / Math.min(shape.everyMs, durationMs)
  const piece = ratePieces(shape, durationMs)?.findLast(({ startMs }) => startMs <= elapsedMs)
  return piece === undefined ? 0 : rateAt(piece, elapsedMs)
}
