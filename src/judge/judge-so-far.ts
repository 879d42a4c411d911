import type { EventLoopDelay } from '../observation/log-lines.ts'
import { shardOf } from '../plan/shard.ts'
import { type JudgeDetails, type RunView, thresholdsOf } from './judge.ts'
import { concludeRun, type JudgedRun, type JudgeJob, loadTotals, maxDelay } from './judge-run.ts'
import { percentilesOf } from './metrics/histogram.ts'
import { createMetrics, type MetricsSnapshot } from './metrics/request-stats.ts'
import { createLiveSeries } from './metrics/series.ts'
import type { ThresholdResult } from './results.ts'

/** A worker of a run in progress. */
export type WorkerSoFar = {
  /** From 1, of all workers. */
  readonly worker: number
  readonly of: number
  readonly metrics: MetricsSnapshot
  readonly details: JudgeDetails
  readonly eventLoopDelayMs: EventLoopDelay | null
  /** It does not report any more. */
  readonly isLost: boolean
}

/**
 * The run as it is now, with the verdict that it would get if it were complete now. Reads snapshots only, which does not
 * disturb the judges.
 */
export function judgeSoFar(
  job: JudgeJob,
  view: RunView,
  workers: readonly WorkerSoFar[],
  nowMs: number,
): Omit<JudgedRun, 'slices'> {
  const { plan } = job
  const details = workers.map(worker => worker.details)
  const series = createLiveSeries(plan)
  for (const each of details) series.merge(each.series)
  return concludeRun(job, view, details, {
    ended: 'complete',
    durationMs: Math.round(nowMs),
    load: {
      ...loadTotals(plan, view.metrics, view.audits.blocks(), [], null),
      eventLoopDelayMs: maxDelay(workers),
      workers: workers.map(worker => workerTotals(worker, plan)),
    },
    series: series.series(),
    capacity: view.capacity(false),
    thresholds: thresholdsSoFar(plan, view),
  })
}

/**
 * A count that meets its threshold so far passes, although the run goes on. One that does not yet, and can only grow,
 * stays inconclusive.
 */
function thresholdsSoFar(plan: JudgeJob['plan'], view: RunView): readonly ThresholdResult[] {
  const ended = { ...view, capacity: () => view.capacity(false) }
  const atEnd = thresholdsOf(plan, ended, { complete: true, elapsedMs: 0 }, null)
  return view.thresholds().map((now, index) => {
    const then = atEnd[index]
    const isTotal = now.unit === 'count' || now.unit === 'ratio' || now.unit === 'credits' || now.unit === 'usd'
    return isTotal && now.verdict === 'inconclusive' && then?.verdict === 'pass' ? then : now
  })
}

function workerTotals(
  { worker, of, metrics, eventLoopDelayMs, isLost }: WorkerSoFar,
  plan: JudgeJob['plan'],
): JudgedRun['load']['workers'][number] {
  const own = createMetrics(plan)
  own.merge(metrics)
  const { sent, timing } = own.all()
  const startedMs = own.stages.loadStartMs()
  return {
    worker,
    callers: plan.callers.names.filter((_, caller) => shardOf(caller, plan, of) === worker - 1).length,
    lost: isLost,
    startedMs: Number.isFinite(startedMs) ? startedMs : null,
    sent,
    latenessMs: percentilesOf(timing('lateness')),
    eventLoopDelayMs,
    machine: null,
    health: null,
    records: null,
  }
}
