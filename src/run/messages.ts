import type { JudgeSnapshot } from '../judge/judge.ts'
import type { WorkerResult } from '../judge/judge-run.ts'
import type { GaugeSnapshot } from '../judge/metrics/gauges.ts'
import type { Epoch } from '../lib/clock.ts'
import type { LogFooter } from '../observation/log.ts'
import type { StopReason } from '../produce/drivers/stop.ts'
import type { EngineJob } from '../produce/engine.ts'

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

/** What a thread is asked; its answer bears the same number. */
export type WorkerQuery = { readonly id: number } & (
  | { readonly ask: 'open' | 'close' | 'snapshot' }
  | { readonly ask: 'drive'; readonly loadStartMs: number }
  | { readonly ask: 'finish'; readonly end: RunEnd }
)

/** What a thread is told, without an answer. */
export type WorkerCommand = { readonly tell: 'stop'; readonly reason: StopReason } | { readonly tell: 'cancel' }

/** What a thread answers, and what it reports by itself: that it stops, and so must all. */
export type WorkerMessage =
  | { readonly id: number; readonly response: OpeningResult | WorkerResult | WorkerSnapshot | null }
  | { readonly stopped: StopReason }
