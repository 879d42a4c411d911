import type { RunView } from '../judge/judge.ts'
import type { GaugeSnapshot } from '../judge/metrics/gauges.ts'
import type { PushCounts } from '../observation/log.ts'
import type { Report } from '../report/document.ts'

/** Shows a run while it is running and when it is over. It reads aggregates, never single observations. */
export type Output = {
  /** Called once, before the first request. */
  readonly start: (live: LiveRun) => void
  /** Called once, with the report. Resolves soon, and immediately when `quit` aborts. */
  readonly finish: (report: Report, quit: AbortSignal) => Promise<void>
  /** Releases the resources of the output. Always called, even if the run failed. */
  readonly close: () => Promise<void>
  /** Counts of pushed samples so far. Only outputs that push during a run have this. */
  readonly pushCounts?: () => PushCounts
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
  /** Polls the workers again, at most once per second. */
  readonly refresh: () => Promise<void>
}
