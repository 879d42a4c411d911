import { part } from '../arrivals/share.ts'
import type { Baselines } from '../compare/comparable.ts'
import { createEnding } from '../drivers/ending.ts'
import { newPurseSum } from '../drivers/purse.ts'
import { emptyResult, type JudgeJob, judgeLog, type WorkerResult } from '../judging/judge-run.ts'
import { readGlances } from '../judging/readings.ts'
import type { Clock } from '../lib/clock.ts'
import { memoizeLast } from '../lib/memoize-last.ts'
import { mergeGauges } from '../metrics/gauges.ts'
import type { PushTally } from '../observation/log.ts'
import type { Report } from '../report/report.ts'
import { conduct, type Records } from './conduct.ts'
import { startThread } from './crew.ts'
import type { Live } from './live.ts'
import type { Order, Sight } from './messages.ts'
import { watchSights } from './sights.ts'

export type ThreadOptions = Omit<Order, 'share' | 'purseSum' | 'logFile' | 'maxConnections'> & {
  readonly clock: Clock
  readonly stop: AbortSignal
  readonly quit: AbortSignal
  /** Where each worker writes its record: there are as many workers. */
  readonly logs: readonly string[]
  /** Of all workers together. */
  readonly maxConnections: number
  readonly records: Omit<Records, 'salvage'>
  readonly baselines: Baselines | null
  /** Asked at the end: what became of what was pushed until then. */
  readonly pushed: () => PushTally | null
  readonly onStart: (live: Live) => void
  /** Takes what is to be said when a worker is lost. */
  readonly log: (line: string) => void
}

/** Carries out a plan in threads, one for each log, which share the callers, the budget and the clock. */
export async function carryOutInThreads(options: ThreadOptions): Promise<Report> {
  const { plan, contract, head, callers, specialKeys, epoch, isMetered, isRehearsed, clock, quit, logs, log } = options
  const ending = createEnding(options.stop, quit)
  const purseSum = newPurseSum()
  const brief = { plan, contract, head }
  const workers = logs.map((logFile, worker) => {
    const share = { worker, workers: logs.length }
    const maxConnections = Math.max(1, part(options.maxConnections, worker, logs.length))
    const onLost = (why: string) => {
      log(`Worker ${worker + 1} of ${logs.length} was lost: ${why}. The run ends here.`)
      ending.halt('worker-lost')
    }
    const order = {
      ...brief,
      callers,
      specialKeys,
      epoch,
      isMetered,
      isRehearsed,
      share,
      purseSum,
      logFile,
      maxConnections,
    }
    return startThread(order, { ending, quit, clock, onLost })
  })
  let loadStartMs: number | null = null
  const sights = watchSights(workers, clock)
  // A scrape asks family by family, and all of them look at the same sights.
  const readings = memoizeLast((known: readonly Sight[]) =>
    readGlances(
      plan,
      known.map(({ glance }) => glance),
    ),
  )
  const meters = memoizeLast((known: readonly Sight[]) => mergeGauges(known.map(sight => sight.meters)))
  options.onStart({
    readings: () => readings(sights.known()),
    meters: () => meters(sights.known()),
    inFlight: () => sights.known().reduce((sum, { inFlight }) => sum + inFlight, 0),
    stage: () => sights.known()[0]?.stage ?? '(opening)',
    loadStartMs: () => loadStartMs,
    refresh: sights.refresh,
  })
  const salvage = async (worker: number): Promise<WorkerResult> => {
    // Until then the thread may still be writing.
    await workers[worker]?.terminate()
    return judgeWhatIsLeft(brief, logs[worker] ?? '')
  }
  try {
    const report = await conduct({
      ...brief,
      clock,
      quit,
      ending,
      workers,
      pushed: options.pushed,
      baselines: options.baselines,
      records: { ...options.records, salvage },
      onLoadStart: atMs => {
        loadStartMs = atMs
      },
    })
    // Whoever looks on is shown in the end what the report counts.
    await sights.look()
    return report
  } finally {
    await Promise.all(workers.map(worker => worker.terminate()))
  }
}

/** What stands in the log of a worker who was lost; nothing where it does not hold all that was seen. */
async function judgeWhatIsLeft(brief: JudgeJob, file: string): Promise<WorkerResult> {
  if (brief.plan.record !== 'all') return emptyResult(brief)
  const { leftOut, ...part } = await judgeLog(brief, file)
  return leftOut === 0 ? part : emptyResult(brief)
}
