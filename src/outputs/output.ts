import type { RunView } from '../judge/judge.ts'
import type { WorkerHealth } from '../judge/judge-run.ts'
import type { GaugeSnapshot } from '../judge/metrics/gauges.ts'
import type { TracedRequest } from '../judge/traced-requests.ts'
import type { PushCounts } from '../observation/log-lines.ts'
import type { Report } from '../report/document.ts'

/** Shows a run while it is running and when it is over. It reads aggregates, and no observation. */
export type Output = {
  /** Called once, before the first request. */
  readonly start: (live: LiveRun) => void
  /** Called once, with the report. Resolves soon, and immediately when `quit` aborts. */
  readonly finish: (report: Report, quit: AbortSignal) => Promise<void>
  /** Releases the resources of the output. Always called, even if the run failed. */
  readonly close: () => Promise<void>
  /** Counts of pushed samples so far. Only outputs that push during a run have this. */
  readonly pushCounts?: () => PushCounts
  /** What workers must report for it, besides the judge's results. Without it, workers report less. */
  readonly needs?: 'gauges' | 'details'
  /** A line for the user at the start of the run, such as its address. */
  readonly note?: string
}

export type LiveWorker = {
  /** From 1. */
  readonly worker: number
  /** Of a worker elsewhere; null: it is on this machine. */
  readonly name: string | null
  readonly isLost: boolean
  readonly stage: string
  readonly inFlight: number
}

/** The state of a run in progress, as of the last poll of its workers. */
export type LiveRun = {
  readonly view: () => RunView
  /** Empty if the run keeps no gauges. */
  readonly gauges: () => GaugeSnapshot
  /** Arrivals in flight. */
  readonly inFlight: () => number
  /** The current stage; before and after the stages `(opening)` or `(closing)`. */
  readonly stage: () => string
  /** When the stages started, on the clock of the run; null before that. */
  readonly loadStartMs: () => number | null
  /** The workers on other machines, in the order of their shards. Empty: there are none. */
  readonly machines: () => readonly LiveMachine[]
  /** As if the run were complete now; null: no worker has reported its details. */
  readonly report: () => Report | null
  /** One for each worker that has reported, in order. */
  readonly workers: () => readonly LiveWorker[]
  /** Whether workers report the details that `report` needs. It costs them some milliseconds each time. */
  readonly watch: (isWatched: boolean) => void
  /** Polls the workers again, at most once per second. */
  readonly refresh: () => Promise<void>
  /** The requests that were chosen for traces since the last call; in the end, those that findings show. */
  readonly takeTraced: () => readonly TracedRequest[]
}

/**
 * A worker on another machine. `name`: null: the shard is not claimed. `lost`: it has been silent for too long.
 * `health`: null: not reported yet.
 */
export type LiveMachine = {
  readonly name: string | null
  readonly state: 'waiting' | 'working' | 'finished' | 'lost'
  readonly health: WorkerHealth | null
}
