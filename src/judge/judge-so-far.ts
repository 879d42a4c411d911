import type { EventLoopDelay } from '../observation/log-lines.ts'
import { shardOf } from '../plan/shard.ts'
import { type JudgeDetails, type RunView, thresholdsOf } from './judge.ts'
import { concludeRun, type JudgedRun, type JudgeJob, loadTotals, maxDelay } from './judge-run.ts'
import { percentilesOf } from './metrics/histogram.ts'
import { createMetrics, type MetricsSnapshot } from './metrics/request-stats.ts'
import { createLiveSeries } from './metrics/series.ts'
import type { ThresholdResult } from './results.ts'
import type { RunVerdict } from './verdict.ts'

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
    sharedAccounts: [],
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

/** The part of a report so far that decides what the rest of the run can change. */
type VerdictSoFar = Pick<RunVerdict, 'verdict'> & {
  readonly findings: readonly unknown[]
  readonly billing: { readonly discrepancies: readonly { readonly count: number }[] }
  readonly thresholds: readonly ThresholdResult[]
}

/** What the rest of the run could do to its verdict so far. */
export function whatCouldChange({ verdict, findings, billing, thresholds }: VerdictSoFar): string {
  if (findings.length > 0 || billing.discrepancies.some(each => each.count > 0))
    return 'Nothing can change this verdict: a violation stays one, whatever the rest of the run shows.'
  const crossed = thresholds.filter(threshold => threshold.verdict === 'fail')
  if (crossed.some(isFinal)) return 'Nothing can change this verdict: a count has exceeded its threshold.'
  if (verdict === 'fail')
    return `It passes if ${crossed.length === 1 ? 'the crossed threshold is' : 'all crossed thresholds are'} met at the end, and nothing else fails.`
  if (verdict === 'inconclusive')
    return 'It passes once the run has shown what is missing. A violation, a discrepancy or a crossed threshold makes it fail.'
  return 'It can still fail on a violation, a discrepancy or a crossed threshold. If something cannot be judged, it becomes inconclusive.'
}

/** Whether a crossed threshold stays crossed: counts and sums never decrease. */
const isFinal = ({ unit, operator, value, bound }: ThresholdResult): boolean =>
  (unit === 'count' || unit === 'credits' || unit === 'usd') &&
  (operator === '<' || operator === '<=' || (operator === '==' && value !== null && value > bound))
