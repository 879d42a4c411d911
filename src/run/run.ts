import type { Baselines } from '../judge/compare/comparable.ts'
import { emptyResult, type JudgeJob, judgeLog, type WorkerResult } from '../judge/judge-run.ts'
import { type Clock, epochOf } from '../lib/clock.ts'
import { type PushCounts, sumPushes } from '../observation/log-lines.ts'
import type { Observation } from '../observation/observation.ts'
import type { Output } from '../outputs/output.ts'
import type { Plan } from '../plan/plan.ts'
import { splitEvenly } from '../plan/shard.ts'
import { createSharedBudget, type SharedBudget, spentOf } from '../produce/budget/shared-budget.ts'
import { createRunStop, onAbort, onStop, type RunStop } from '../produce/drivers/stop.ts'
import type { Report } from '../report/document.ts'
import type { RunDirectory, Unwritten } from '../storage/run-directory.ts'
import { requestsAtOnce, watchDecision } from './deciding.ts'
import { createLiveView } from './live.ts'
import { makeReport } from './make-report.ts'
import type { OpeningResult, RunEnd, StartWorker, WorkerHandle, WorkerJob } from './messages.ts'
import { leadSearches, type SearchReport } from './search.ts'

/** The input of a run: plain data. */
export type RunJob = Omit<WorkerJob, 'shard' | 'budget' | 'epoch' | 'logFile' | 'maxConnections'> & {
  /** null: no comparison. */
  readonly baselines: Baselines | null
  /** The number of workers, which share the callers, the budget and the clock. */
  readonly workers: number
  /** Whether to end the run once every threshold is decided. */
  readonly untilDecided: boolean
}

/** All effects of a run. */
export type RunIo = {
  readonly clock: Clock
  /** Aborted to end the load; the run waits for requests in flight. */
  readonly stop: AbortSignal
  /** Aborted to end everything now. */
  readonly quit: AbortSignal
  readonly startWorker: StartWorker
  /** null: nothing is written. */
  readonly directory: RunDirectory | null
  readonly outputs: readonly Output[]
  /** Shows a message to the user during the run. */
  readonly log: (line: string) => void
  /** Shows that a file could not be written. The verdict does not need the file. */
  readonly unwritten: (file: Unwritten) => void
}

/** Time from the balance checks to the first stage, so that every worker gets the start time early enough. */
const leadMs = 100

/**
 * Runs a plan: workers send its requests and judge the responses in parallel, and their results become one report.
 * In the end, `onSpent` gets what it has spent of its budget.
 */
export async function run(job: RunJob, io: RunIo, onSpent: (picoUsd: bigint) => void = () => {}): Promise<Report> {
  const { clock, quit, directory, outputs } = io
  const stop = createRunStop(io.stop, quit)
  const budget = createSharedBudget()
  const workers = startWorkers(job, io, stop, budget)
  const live = createLiveView(judgeJobOf(job), workers, clock)
  try {
    for (const output of outputs) output.start(live)
    judgeOpening(await Promise.all(workers.map(worker => worker.open())), job.info, stop)
    const loadStartMs = clock.nowMs() + leadMs
    live.setLoadStart(loadStartMs)
    const endWatch = job.untilDecided ? watchDecision(job.plan, live, clock, () => stop.stop('decided')) : () => {}
    await Promise.all(workers.map(worker => worker.drive(loadStartMs)))
    endWatch()
    if (stop.reason() !== 'target-unreachable' && !quit.aborted)
      await Promise.all(workers.map(worker => worker.close()))
    const end = { ended: stop.reason(), durationMs: clock.nowMs(), pushed: pushCounts(outputs) }
    const results = await finishWorkers(workers, end, job, io)
    // Poll once more, so that live views end on the numbers of the report.
    if (outputs.length > 0) await live.poll()
    const readObservations = () => untilUnreadable(directory?.readObservations() ?? [])
    const made = await makeReport(judgeJobOf(job), results, readObservations, job.baselines)
    const { report, slices } = made
    live.addTraced(made.traced)
    // The verdict is shown before anything can go wrong with the files.
    const finished = Promise.all(outputs.map(output => output.finish(report, quit)))
    const unwritten = (await directory?.write(report, slices)) ?? []
    await finished
    unwritten.forEach(io.unwritten)
    return report
  } finally {
    // Node.js 20 may crash if a thread ends while V8 compiles its code. By now, they have been idle for a while.
    await terminate(workers)
    onSpent(spentOf(budget))
  }
}

/** Starts one worker for each shard. When one worker stops, all of them stop. */
function startWorkers(job: RunJob, io: RunIo, stop: RunStop, budget: SharedBudget): readonly WorkerHandle[] {
  const { workers: count, baselines, untilDecided, ...common } = job
  const { plan } = job
  const shared = { budget, epoch: epochOf(io.clock) }
  const lead = leadSearches(plan, count, io.clock, order => {
    for (const worker of workers) worker.search(order)
  })
  const workers: readonly WorkerHandle[] = Array.from({ length: count }, (_, worker) => {
    const logFile = io.directory?.logs[worker] ?? null
    const maxConnections = maxConnectionsOf(plan, worker, count)
    const onLost = (why: string) => {
      io.log(`Worker ${worker + 1} of ${count} crashed: ${why}. The run stops now.`)
      stop.stop('worker-lost')
    }
    const own = { shard: { worker, workers: count }, logFile, maxConnections }
    const onSearch = (report: SearchReport) => lead(worker, report)
    return io.startWorker({ ...common, ...shared, ...own }, { onStop: stop.stop, onLost, onSearch })
  })
  onStop(stop, reason => {
    for (const worker of workers) worker.stop(reason)
  })
  onAbort(io.quit, () => {
    for (const worker of workers) worker.cancel()
  })
  return workers
}

/** The connections of one of several workers. Each request of an arrival needs its own. */
export function maxConnectionsOf(plan: Plan, worker: number, workers: number): number {
  return Math.max(1, splitEvenly(plan.bounds.maxInFlight * requestsAtOnce(plan), worker, workers))
}

/**
 * Stops the run before the load if the target never responds, rejects every key, or any key that Turnpike invented, or if
 * the service is at another address.
 */
export function judgeOpening(
  openings: readonly (OpeningResult | null)[],
  { inventedKeys, suggestedTarget }: RunJob['info'],
  stop: Pick<RunStop, 'stop'>,
): void {
  const sum = (of: (opening: OpeningResult) => number) =>
    openings.reduce((total, opening) => total + (opening === null ? 0 : of(opening)), 0)
  const answered = sum(opening => opening.answered)
  // A target that promises no balances is not asked for them.
  const isAsked = openings.includes(null) || sum(opening => opening.sent) > 0
  if (isAsked && answered === 0) stop.stop('target-unreachable')
  if (suggestedTarget !== undefined) stop.stop('wrong-target')
  const unauthorized = sum(opening => opening.unauthorized)
  if (unauthorized > 0 && (inventedKeys || unauthorized === answered)) stop.stop('unauthorized')
}

export const pushCounts = (outputs: readonly Output[]): PushCounts | null =>
  sumPushes(outputs.flatMap(output => output.pushCounts?.() ?? []))

/** The result of each worker; for a lost worker, the result from its log. */
async function finishWorkers(
  workers: readonly WorkerHandle[],
  end: RunEnd,
  job: RunJob,
  { directory, unwritten }: RunIo,
): Promise<readonly WorkerResult[]> {
  const finished = await Promise.all(workers.map(worker => worker.finish(end)))
  const results: WorkerResult[] = []
  for (const [index, result] of finished.entries()) {
    const logFile = directory?.logs[index] ?? null
    if (logFile !== null && result !== null && result.unwritten !== null)
      unwritten({ file: logFile, why: result.unwritten })
    results.push(result ?? (await recoverWorker(workers[index], logFile, job)))
  }
  return results
}

/** The result from the log of a lost worker; an empty result if the log is incomplete. */
async function recoverWorker(
  worker: WorkerHandle | undefined,
  logFile: string | null,
  job: RunJob,
): Promise<WorkerResult> {
  // The worker may still be writing to its log.
  await worker?.terminate()
  const judgeJob = judgeJobOf(job)
  if (job.plan.record !== 'all' || logFile === null) return emptyResult(judgeJob)
  try {
    const { skipped, ...result } = await judgeLog(judgeJob, logFile)
    return skipped === 0 ? result : emptyResult(judgeJob)
  } catch {
    return emptyResult(judgeJob)
  }
}

/** The observations up to the first that cannot be read. Those after it are missing from the evidence only. */
async function* untilUnreadable(observations: AsyncIterable<Observation> | readonly Observation[]) {
  try {
    yield* observations
  } catch {
    // The report has the findings without their requests.
  }
}

/** The input of the judge for a run. */
const judgeJobOf = ({ plan, contract, info }: RunJob): JudgeJob => ({ plan, contract, head: info })

const terminate = (workers: readonly WorkerHandle[]): Promise<unknown> =>
  Promise.all(workers.map(worker => worker.terminate()))
