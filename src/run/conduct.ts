import type { Baselines } from '../compare/comparable.ts'
import type { Ending } from '../drivers/ending.ts'
import type { JudgeJob, WorkerResult } from '../judging/judge-run.ts'
import type { Clock } from '../lib/clock.ts'
import type { Slices } from '../metrics/slices.ts'
import type { PushTally } from '../observation/log.ts'
import type { Observation } from '../observation/observation.ts'
import type { Report } from '../report/report.ts'
import { makeReport } from './make-report.ts'
import type { Opening, RunEnd, Worker } from './worker.ts'

export type Conducted = JudgeJob & {
  readonly clock: Clock
  /** That of all workers: whoever of them halts has all of them halt. */
  readonly ending: Ending
  readonly quit: AbortSignal
  readonly workers: readonly Worker[]
  readonly records: Records
  readonly baselines: Baselines | null
  /** Asked at the end: what became of what was pushed until then. */
  readonly pushed: () => PushTally | null
  /** Told when the stages begin. */
  readonly onLoadStart: (loadStartMs: number) => void
}

/** What workers have left behind. */
export type Records = {
  readonly recall: () => AsyncIterable<Observation>
  /** What the record of a worker who was lost still says, by its position. */
  readonly salvage: (worker: number) => Promise<WorkerResult>
  readonly writeSlices: (slices: Slices) => Promise<void>
}

/** Time for all workers to have heard when the stages begin, and to have done with what came before them. */
const leadMs = 100

/** Has workers carry out a plan side by side, one step after the other, and takes the verdict. */
export async function conduct(run: Conducted): Promise<Report> {
  const { clock, ending, quit, workers } = run
  try {
    judgeOpening(await Promise.all(workers.map(worker => worker.open())), ending)
    const loadStartMs = clock.nowMs() + leadMs
    run.onLoadStart(loadStartMs)
    await Promise.all(workers.map(worker => worker.drive(loadStartMs)))
    if (ending.why() !== 'target-unreachable' && !quit.aborted) await Promise.all(workers.map(worker => worker.close()))
  } finally {
    // Whatever went wrong here, nobody goes on sending.
    ending.abandon()
  }
  const end: RunEnd = { ended: ending.why(), durationMs: clock.nowMs(), pushed: run.pushed() }
  const parts = await Promise.all(workers.map(worker => worker.end(end)))
  return verdict(run, parts)
}

function judgeOpening(openings: readonly (Opening | null)[], ending: Ending): void {
  const sum = (of: (opening: Opening) => number) =>
    openings.reduce((total, opening) => total + (opening === null ? 0 : of(opening)), 0)
  const answered = sum(opening => opening.answered)
  if (answered === 0) ending.halt('target-unreachable')
  else if (sum(opening => opening.unauthorized) === answered) ending.halt('keys-refused')
}

async function verdict(run: Conducted, known: readonly (WorkerResult | null)[]): Promise<Report> {
  const { records } = run
  const results: WorkerResult[] = []
  for (const [worker, result] of known.entries()) results.push(result ?? (await records.salvage(worker)))
  const { report, slices } = await makeReport(run, results, records.recall, run.baselines)
  await records.writeSlices(slices)
  return report
}
