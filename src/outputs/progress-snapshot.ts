import { exceedsCapacity } from '../judge/capacity/judge-trial.ts'
import { missedText, trialLabels } from '../judge/capacity/result.ts'
import type { ClauseTally, Finding } from '../judge/findings/findings.ts'
import { percentileMs } from '../judge/metrics/histogram.ts'
import { type RequestStats, type RunMetrics, statusCounts } from '../judge/metrics/request-stats.ts'
import type { CapacityResult, TrialOutcome, TrialResult } from '../judge/results.ts'
import type { Clock } from '../lib/clock.ts'
import { count, formatRate } from '../lib/format.ts'
import { isSystemStage, type Plan, type StagePlan } from '../plan/plan.ts'
import { rateAt, rateSegments, requestsPerArrivalIn } from '../plan/rate-curve.ts'
import type { LiveMachine, LiveRun } from './output.ts'

/** The state of a run at one instant. */
export type ProgressSnapshot = ProgressReading & {
  readonly scenario: string
  /** Since the first stage started. */
  readonly elapsedMs: number
  readonly totalMs: number
  /** Whether the run may end before `totalMs`, because its last stage is a search. */
  readonly isAtMost: boolean
  readonly stage: StageProgress
  readonly maxInFlight: number
  /** Decimal; null: no budget. */
  readonly budgetUsd: string | null
}

/** Before and after the stages, as in `(opening)`, only the name is known. */
export type StageProgress = {
  readonly name: string
  readonly planned: null | {
    /** From 1. */
    readonly position: number
    readonly of: number
    readonly elapsedMs: number
    readonly durationMs: number
    /** Requests due per second, over the last seconds; in a search, those of its trial. null: responses set the pace. */
    readonly offeredPerSecond: number | null
  }
}

/** What the live view shows. It changes when the workers are polled, and not in between. */
export type ProgressReading = {
  readonly stageName: string
  readonly inFlight: number
  readonly sent: number
  readonly failed: number
  readonly dropped: number
  readonly statuses: Readonly<Record<string, number>>
  /** Of the current stage so far; outside of the stages, of the run. */
  readonly latencyMs: ShownPercentiles
  readonly ttftMs: ShownPercentiles
  /** The clauses violated so far, in the order of the clause table. */
  readonly violations: readonly ViolatedClause[]
  /** Decimal. */
  readonly claimedUsd: string
  /** null: the current stage is not a search. */
  readonly search: SearchProgress | null
  /** The finished trials of all searches, in words. */
  readonly finishedTrials: readonly string[]
  /** Complete responses per second, of the last seconds in the current stage. */
  readonly achievedPerSecond: number | null
  /** null: all workers are on this machine. */
  readonly workers: WorkersProgress | null
}

/** The workers on other machines. */
export type WorkersProgress = {
  /** Shards that a worker has claimed and not lost, and all shards. */
  readonly up: number
  readonly shards: number
  /** The names of the lost ones. */
  readonly lost: readonly string[]
  /** Of the worker that is busiest; null: none has said. */
  readonly busiest: { readonly usedCores: number; readonly cores: number } | null
  readonly maxRssBytes: number | null
}

/** null: too few values. */
export type ShownPercentiles = { readonly p50: number | null; readonly p95: number | null; readonly p99: number | null }

export type ViolatedClause = {
  readonly clause: string
  readonly section: string
  readonly count: number
  /** Of the first violation. */
  readonly message: string
}

export type SearchProgress = {
  /** The current trial; null: before the first response. */
  readonly trial: null | {
    /** From 1. */
    readonly position: number
    readonly purpose: string
    readonly offeredPerSecond: number
    /** The share of its arrivals that are over. */
    readonly doneRatio: number
  }
  /** The highest rate that was held below every missed rate, and the lowest missed rate. */
  readonly heldPerSecond: number | null
  readonly missedPerSecond: number | null
}

export type ReadingSource = {
  readonly metrics: RunMetrics
  readonly stage: string
  readonly inFlight: number
  readonly tallies: readonly ClauseTally[]
  readonly findings: readonly Finding[]
  readonly claimedUsd: string
  readonly capacity: readonly CapacityResult[]
  readonly achievedPerSecond: number | null
  readonly workers: readonly LiveMachine[]
}

/** Reads the live view of a run. It takes some milliseconds, so once per poll is enough. */
export function readProgress(source: ReadingSource): ProgressReading {
  const { metrics, stage, inFlight, claimedUsd, capacity, achievedPerSecond, workers } = source
  const run = metrics.select({ call: null, stage: null })
  const timed = isSystemStage(stage) ? run : metrics.select({ call: null, stage })
  const search = capacity.find(each => each.stage === stage)
  return {
    stageName: stage,
    inFlight,
    sent: run.sent,
    failed: run.failed,
    dropped: run.dropped,
    statuses: statusCounts(run.statuses),
    latencyMs: shownPercentiles(timed, 'latency'),
    ttftMs: shownPercentiles(timed, 'ttft'),
    violations: violatedClauses(source),
    claimedUsd,
    search: search === undefined ? null : searchProgress(search),
    finishedTrials: capacity.flatMap(each => finishedTrials(each, stage).map(trialWords)),
    achievedPerSecond,
    workers: workers.length === 0 ? null : workersProgress(workers),
  }
}

function workersProgress(workers: readonly LiveMachine[]): WorkersProgress {
  const healths = workers.flatMap(({ state, health }) => (state === 'lost' ? [] : (health ?? [])))
  const share = ({ usedCores, cores }: { readonly usedCores: number; readonly cores: number }) => usedCores / cores
  return {
    up: workers.filter(({ state }) => state === 'working' || state === 'finished').length,
    shards: workers.length,
    lost: workers.flatMap(({ state, name }) => (state === 'lost' ? (name ?? []) : [])),
    busiest: healths.toSorted((a, b) => share(b) - share(a))[0] ?? null,
    maxRssBytes: healths.length === 0 ? null : Math.max(...healths.map(({ rssBytes }) => rssBytes)),
  }
}

function shownPercentiles({ timing }: RequestStats, of: 'latency' | 'ttft'): ShownPercentiles {
  const histogram = timing(of)
  const at = (percent: number) => percentileMs(histogram, percent)
  return { p50: at(50), p95: at(95), p99: at(99) }
}

const violatedClauses = ({ tallies, findings }: ReadingSource): readonly ViolatedClause[] =>
  tallies
    .filter(({ violated }) => violated > 0)
    .map(({ id, section, violated }) => {
      const message = findings.find(({ clause }) => clause === id)?.message ?? ''
      return { clause: id, section, count: violated, message }
    })

function searchProgress(search: CapacityResult): SearchProgress {
  const { trials } = search
  const { sustainedPerSecond, exceededPerSecond } = boundsOf(finishedTrials(search, search.stage))
  const current = trials.at(-1)
  return {
    trial:
      current === undefined
        ? null
        : {
            position: trials.length,
            purpose: current.purpose,
            offeredPerSecond: current.offeredPerSecond,
            doneRatio: Math.min(1, current.arrivals / current.planned),
          },
    heldPerSecond: sustainedPerSecond,
    missedPerSecond: exceededPerSecond,
  }
}

/** The state of the run now, from the latest reading. */
export function progressAt(plan: Plan, reading: ProgressReading, loadElapsedMs: number): ProgressSnapshot {
  const stages = plannedStages(plan)
  const totalMs = stages.reduce((latest, stage) => Math.max(latest, stage.startMs + stage.durationMs), 0)
  return {
    ...reading,
    scenario: plan.scenario,
    elapsedMs: Math.min(loadElapsedMs, totalMs),
    totalMs,
    isAtMost: stages.at(-1)?.load.model === 'capacity',
    stage: stageProgress(plan, reading, loadElapsedMs),
    maxInFlight: plan.bounds.maxInFlight,
    budgetUsd: plan.budgetUsd,
  }
}

function stageProgress(plan: Plan, { stageName: name, search }: ProgressReading, loadElapsedMs: number): StageProgress {
  const stages = plannedStages(plan)
  const index = stages.findIndex(stage => stage.name === name)
  const stage = stages[index]
  if (stage === undefined) return { name, planned: null }
  const { durationMs } = stage
  const elapsedMs = stageElapsedMs(stage, loadElapsedMs)
  const arrivals = search === null ? recentlyOffered(stage, elapsedMs) : (search.trial?.offeredPerSecond ?? null)
  const offeredPerSecond = arrivals === null ? null : arrivals * requestsPerArrivalIn(stage, plan.calls)
  return { name, planned: { position: index + 1, of: stages.length, elapsedMs, durationMs, offeredPerSecond } }
}

/** Milliseconds since the first stage started; 0 before. */
export const loadElapsedMs = ({ loadStartMs }: LiveRun, clock: Clock): number =>
  Math.max(0, clock.nowMs() - (loadStartMs() ?? clock.nowMs()))

/** Rates are shown over this time, so that a person sees the present and not chance. */
const recentMs = 5_000

/** The mean of the rate over the recent time in this stage. */
function recentlyOffered(stage: StagePlan, elapsedMs: number): number | null {
  const fromMs = Math.max(0, elapsedMs - recentMs)
  const rates = Array.from({ length: samples + 1 }, (_, index) =>
    offeredPerSecond(stage, fromMs + ((elapsedMs - fromMs) * index) / samples),
  )
  return rates.reduce((sum, rate) => (sum === null || rate === null ? null : sum + rate / rates.length), 0)
}

const samples = 10

/** Counts responses over the recent time. It starts again in each stage. */
export type RecentRate = {
  /** Adds the count of all responses to the stage until now. */
  readonly add: (atMs: number, stage: string, answered: number) => void
  /** null: too little time has passed. */
  readonly perSecond: () => number | null
}

export function createRecentRate(): RecentRate {
  let of = ''
  let points: readonly { readonly atMs: number; readonly answered: number }[] = []
  return {
    add: (atMs, stage, answered) => {
      const before = stage === of ? points.filter(point => point.atMs >= atMs - recentMs) : []
      of = stage
      points = [...before, { atMs, answered }]
    },
    perSecond: () => {
      const [first, last] = [points[0], points.at(-1)]
      if (first === undefined || last === undefined || last.atMs <= first.atMs) return null
      return ((last.answered - first.answered) * 1000) / (last.atMs - first.atMs)
    },
  }
}

/** Arrivals due per second now; null if responses set the pace; 0 before and after the stages. */
export function currentOfferedRate(plan: Plan, stageName: string, loadElapsedMs: number): number | null {
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
  const segment = rateSegments(shape, durationMs)?.findLast(({ startMs }) => startMs <= elapsedMs)
  return segment === undefined ? 0 : rateAt(segment, elapsedMs)
}

/** The trials whose outcome is certain: all but the current one. */
export const finishedTrials = (
  { stage, trials }: Pick<CapacityResult, 'stage' | 'trials'>,
  stageNow: string,
): readonly TrialResult[] => (stage === stageNow ? trials.slice(0, -1) : trials)

/** The bounds of the capacity, from the trials so far. If a rate was tried again, its last trial counts. */
export function boundsOf(trials: readonly TrialResult[]): {
  readonly sustainedPerSecond: number | null
  readonly exceededPerSecond: number | null
} {
  const last = [...new Map(trials.map(({ offeredPerSecond, outcome }) => [offeredPerSecond, outcome]))]
  const rates = (isOf: (outcome: TrialOutcome) => boolean) =>
    last.filter(([, outcome]) => isOf(outcome)).map(([perSecond]) => perSecond)
  const exceeded = Math.min(...rates(exceedsCapacity))
  const sustained = Math.max(...rates(outcome => outcome === 'sustained').filter(perSecond => perSecond < exceeded))
  return { sustainedPerSecond: finite(sustained), exceededPerSecond: finite(exceeded) }
}

/** The minimum or maximum of no values is infinite. */
const finite = (value: number): number | null => (Number.isFinite(value) ? value : null)

/** `raise 180/s held`, or `raise 220/s missed: chat ttft 36 of 440`. */
function trialWords(trial: TrialResult): string {
  const { purpose, offeredPerSecond, outcome, arrivals } = trial
  const rate = `${purpose} ${formatRate(offeredPerSecond)}`
  if (outcome === 'sustained') return `${rate} ${purpose === 'confirm' ? 'confirmed' : 'held'}`
  if (!exceedsCapacity(outcome)) return `${rate} undecided: ${trialLabels[outcome]}`
  const missed = missedText(trial)
  return `${rate} missed: ${missed === '' ? trialLabels[outcome] : `${missed} of ${count(arrivals)}`}`
}
