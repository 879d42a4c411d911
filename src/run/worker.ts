import { countedFailureOf } from '../judge/audits/abuse/failure.ts'
import { chargeOf } from '../judge/audits/ledger/charge.ts'
import { createJudge, type JudgeSnapshot, mergeSnapshots } from '../judge/judge.ts'
import type { WorkerResult } from '../judge/judge-run.ts'
import { createGauges, type GaugeSnapshot, mergeGauges } from '../judge/metrics/gauges.ts'
import type { Defer } from '../lib/batches.ts'
import type { Epoch } from '../lib/clock.ts'
import type { EventLoopDelay, LogFooter, LogWriter } from '../observation/log.ts'
import type { StopReason } from '../produce/drivers/stop.ts'
import { createEngine, type EngineIo, type EngineJob, type Feedback } from '../produce/engine.ts'

/** One shard of a run, and what else its worker must know: plain data, and the budget in shared memory. */
export type WorkerJob = EngineJob & {
  /** When the clock of the run stands at 0. */
  readonly epoch: Epoch
  /** null: nothing is written to a file. */
  readonly logFile: string | null
  readonly maxConnections: number
  /** Whether gauges are kept for those who watch. */
  readonly gauges: boolean
  /** Whether the calls are warmed up before the first that counts. */
  readonly warmUp: boolean
}

/** All that a worker touches. */
export type WorkerIo = Omit<EngineIo, 'sink' | 'feedback'> & {
  /** null: nothing is recorded. */
  readonly log: LogWriter | null
  /** Puts judging off until what has arrived is read and what is due is sent. */
  readonly defer: Defer
  /** null: nobody measures it. */
  readonly eventLoopDelayMs: () => EventLoopDelay | null
}

/** How the target received the callers of a worker: balance checks that it answered, and those that it answered with 401. */
export type OpeningResult = { readonly answered: number; readonly unauthorized: number }

/** What is decided for all workers when the load is over. */
export type RunEnd = Pick<LogFooter, 'ended' | 'durationMs' | 'pushed'>

/** What a worker knows so far, for those who watch: plain data. */
export type WorkerSnapshot = {
  readonly judge: JudgeSnapshot
  readonly gauges: GaugeSnapshot
  readonly inFlight: number
  readonly stage: string
}

/** Starts a worker. `onStop` is called when it stops by itself, and `onLost` when it will never answer again. */
export type StartWorker = (
  job: WorkerJob,
  events: { readonly onStop: (reason: StopReason) => void; readonly onLost: (why: string) => void },
) => WorkerHandle

/** A worker as the run sees it. Its steps are called in this order, and resolve with null once the worker is lost. */
export type WorkerHandle = {
  readonly open: () => Promise<OpeningResult | null>
  readonly drive: (loadStartMs: number) => Promise<unknown>
  readonly close: () => Promise<unknown>
  readonly finish: (end: RunEnd) => Promise<WorkerResult | null>
  readonly snapshot: () => Promise<WorkerSnapshot | null>
  /** Nothing more is sent; requests in flight are waited for. */
  readonly stop: (reason: StopReason) => void
  /** Requests in flight end now, and no step waits for anything any more. */
  readonly cancel: () => void
  /** Resolves when the worker is gone, and sends and writes nothing. */
  readonly terminate: () => Promise<unknown>
}

export type Worker = {
  readonly open: () => Promise<OpeningResult>
  readonly drive: (loadStartMs: number) => Promise<void>
  readonly close: () => Promise<void>
  /** Ends the log. */
  readonly finish: (end: RunEnd) => Promise<WorkerResult>
  readonly snapshot: () => WorkerSnapshot
}

/** Where the two halves meet: one engine, one judge, one log. */
export function createWorker(job: WorkerJob, io: WorkerIo): Worker {
  const { plan, contract, info } = job
  const { log } = io
  const judge = createJudge(plan, contract, info, {
    defer: io.defer,
    onJudged: (observation, isCited) => {
      if (plan.record === 'findings' && isCited) log?.write(observation)
    },
  })
  const gauges = job.gauges ? createGauges(contract) : null
  const feedback: Feedback = {
    nextTrial: judge.nextTrial,
    isDecided: judge.isDecided,
    chargeOf: observation => chargeOf(observation, contract)?.max ?? null,
    countsAsFailure: observation => countedFailureOf(observation, contract) !== null,
  }
  const engine = createEngine(job, {
    ...io,
    feedback,
    sink: observation => {
      judge.add(observation)
      // It does not wait to be judged: a crash must lose no more than what the disk does not have yet.
      if (plan.record === 'all') log?.write(observation)
      gauges?.add(observation)
    },
  })
  let plannedMs: number | null = null
  let beganMs: number | null = null

  return {
    open: async () => {
      await engine.open()
      // What the balance checks came to is judged here, and not while the load goes.
      const { answered, statuses } = mergeSnapshots(plan, [judge.snapshot()]).metrics.select({
        call: null,
        stage: '(opening)',
      })
      return { answered, unauthorized: statuses.get(401) ?? 0 }
    },
    drive: async loadStartMs => {
      plannedMs = loadStartMs
      beganMs = await engine.drive(loadStartMs)
    },
    close: engine.close,
    finish: async run => {
      const eventLoopDelayMs = io.eventLoopDelayMs()
      const facts = judge.finish(true)
      const end = { ...run, loadStartMs: plannedMs, beganMs, eventLoopDelayMs, unrecorded: log?.unrecorded() ?? 0 }
      await log?.end(end)
      return { facts, end }
    },
    snapshot: () => ({
      judge: judge.snapshot(),
      gauges: gauges?.snapshot() ?? mergeGauges([]),
      inFlight: engine.inFlight(),
      stage: engine.stage(),
    }),
  }
}
