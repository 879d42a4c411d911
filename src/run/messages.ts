import type { JudgeDetails, JudgeSnapshot } from '../judge/judge.ts'
import type { WorkerResult } from '../judge/judge-run.ts'
import type { GaugeSnapshot } from '../judge/metrics/gauges.ts'
import type { TraceSnapshot } from '../judge/traced-requests.ts'
import type { Epoch } from '../lib/clock.ts'
import type { EventLoopDelay, LogFooter } from '../observation/log-lines.ts'
import type { SendLease, StopReason } from '../produce/drivers/stop.ts'
import type { EngineJob } from '../produce/engine.ts'
import type { Turns } from '../produce/transport/in-turns.ts'
import type { SearchOrder, SearchReport } from './search.ts'

/** The input of a worker: its shard of the run as plain data, and the budget in shared memory. */
export type WorkerJob = EngineJob & {
  /** Time 0 of the clock of the run. */
  readonly epoch: Epoch
  /** null: no log. */
  readonly logFile: string | null
  /** Where requests are sent to. `info` has the same address without secrets. */
  readonly baseUrl: string
  readonly maxConnections: number
  /** Whether to end the run at the first violation. */
  readonly failFast: boolean
  /** Whether to keep gauges for exported metrics. */
  readonly gauges: boolean
  /** Whether to keep what a live page may ask for. */
  readonly details: boolean
  /** Whether to warm up before the first request. */
  readonly warmUp: boolean
  /** Until when this worker may send; missing: for as long as the run takes. */
  readonly sendLease?: SendLease
  /** Of a run beside another one; missing: it runs alone. */
  readonly turns?: Turns | undefined
}

/** Starts a worker. Calls `onStop` when the worker stops by itself, and `onLost` when it will never respond again. */
export type StartWorker = (job: WorkerJob, events: WorkerEvents) => WorkerHandle

export type WorkerEvents = {
  readonly onStop: (reason: StopReason) => void
  readonly onLost: (why: string) => void
  /** A report of a capacity search. */
  readonly onSearch: (report: SearchReport) => void
}

/** A worker, as the run sees it. Call its steps in this order. They resolve with null once the worker is lost. */
export type WorkerHandle = {
  readonly open: () => Promise<OpeningResult | null>
  readonly drive: (loadStartMs: number) => Promise<unknown>
  readonly close: () => Promise<unknown>
  readonly finish: (end: RunEnd) => Promise<FinishedWorker | null>
  /** `withDetails`: for a live page that is open. */
  readonly snapshot: (withDetails: boolean) => Promise<WorkerSnapshot | null>
  /** Stops sending, and waits for requests in flight. */
  readonly stop: (reason: StopReason) => void
  /** Cancels requests in flight; no step waits any longer. */
  readonly cancel: () => void
  /** Leads a capacity search. */
  readonly search: (order: SearchOrder) => void
  /** Resolves when the worker has ended, and neither sends nor writes. */
  readonly terminate: () => Promise<unknown>
}

/** The balance checks of a worker: how many it sent, how many were answered, and how many with status 401. */
export type OpeningResult = { readonly sent: number; readonly answered: number; readonly unauthorized: number }

/** The result of a worker, and why its log is incomplete; null: it is complete. */
export type FinishedWorker = WorkerResult & { readonly unwritten: string | null }

/** How the run ended, the same for all workers. */
export type RunEnd = Pick<LogFooter, 'ended' | 'durationMs' | 'pushed'>

/** The state of a worker for live views: plain data. */
export type WorkerSnapshot = {
  readonly judge: JudgeSnapshot
  readonly gauges: GaugeSnapshot
  /** Requests chosen for traces. */
  readonly traced: TraceSnapshot
  readonly inFlight: number
  readonly inFlightByCall: ReadonlyMap<string, number>
  readonly stage: string
  /** null: not asked for. */
  readonly details: JudgeDetails | null
  /** null: not measured. */
  readonly eventLoopDelayMs: EventLoopDelay | null
}

/** A query to a thread. The response has the same id. */
export type WorkerQuery = { readonly id: number } & (
  | { readonly query: 'open' | 'close' }
  | { readonly query: 'snapshot'; readonly withDetails: boolean }
  | { readonly query: 'drive'; readonly loadStartMs: number }
  | { readonly query: 'finish'; readonly end: RunEnd }
)

/** A command to a thread, without a response. */
export type WorkerCommand =
  | { readonly command: 'stop'; readonly reason: StopReason }
  | { readonly command: 'search'; readonly order: SearchOrder }
  | { readonly command: 'cancel' }

/**
 * The response of a thread to a query, its report that it stopped by itself, or its report of a capacity search. If one
 * worker stops, all must stop.
 */
export type WorkerMessage =
  | { readonly id: number; readonly response: OpeningResult | FinishedWorker | WorkerSnapshot | null }
  | { readonly stopped: StopReason }
  | { readonly search: SearchReport }
