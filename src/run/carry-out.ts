import { wholeRun } from '../arrivals/share.ts'
import type { Baselines } from '../compare/comparable.ts'
import { createEnding } from '../drivers/ending.ts'
import { newPurseSum } from '../drivers/purse.ts'
import { emptyResult } from '../judging/judge-run.ts'
import { readGlances } from '../judging/readings.ts'
import type { PushTally } from '../observation/log.ts'
import type { Report } from '../report/report.ts'
import { conduct, type Records } from './conduct.ts'
import type { Live } from './live.ts'
import { createWorker, type WorkerOptions } from './worker.ts'

export type RunOptions = Omit<WorkerOptions, 'ending' | 'share' | 'purseSum'> & {
  /** Aborted when the load is to end: what is under way is waited for. */
  readonly stop: AbortSignal
  /** Asked at the end: what became of what was pushed until then. */
  readonly pushed: () => PushTally | null
  /** How many workers share the run; here they are of one thread. */
  readonly workers: number
  readonly records: Omit<Records, 'salvage'>
  readonly baselines: Baselines | null
  /** Told once, before the first request: what a live view may look at. */
  readonly onStart: (live: Omit<Live, 'meters'>) => void
}

/** Carries out a plan in this very thread: produces observations, judges them while they come, and gives the report. */
export async function carryOut(options: RunOptions): Promise<Report> {
  const { plan, records, quit } = options
  const ending = createEnding(options.stop, quit)
  const purseSum = newPurseSum()
  const shares = options.workers === 1 ? [wholeRun] : sharesOf(options.workers)
  const workers = shares.map(share => createWorker({ ...options, share, ending, purseSum }))
  const [first] = workers
  let loadStartMs: number | null = null
  options.onStart({
    readings: () =>
      first !== undefined && workers.length === 1
        ? first.judgement
        : readGlances(
            plan,
            workers.map(worker => worker.judgement.glance()),
          ),
    inFlight: () => workers.reduce((sum, worker) => sum + worker.inFlight.count(), 0),
    stage: () => first?.stage() ?? '',
    loadStartMs: () => loadStartMs,
    refresh: async () => {},
  })
  return conduct({
    ...options,
    ending,
    workers,
    // In one thread nobody is lost but all are.
    records: { ...records, salvage: async () => emptyResult(options) },
    onLoadStart: atMs => {
      loadStartMs = atMs
    },
  })
}

const sharesOf = (workers: number) => Array.from({ length: workers }, (_, worker) => ({ worker, workers }))
