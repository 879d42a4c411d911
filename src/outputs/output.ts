import type { RunView } from '../judge/judge.ts'
import type { GaugeSnapshot } from '../judge/metrics/gauges.ts'
import type { PushCounts } from '../observation/log.ts'
import type { Report } from '../report/document.ts'

/** Shows a run to somebody, while it goes and when it is over. It reads what is known of the run, and no observation. */
export type Output = {
  /** Called once, before the first request. */
  readonly start: (live: LiveRun) => void
  /** Called once, with the report. Resolves soon, and at once when `quit` aborts. */
  readonly finish: (report: Report, quit: AbortSignal) => Promise<void>
  /** Frees what the output holds, however the run ended. */
  readonly close: () => Promise<void>
  /** What became of the samples that the output pushed so far. Missing in outputs that push nothing while a run goes. */
  readonly pushCounts?: () => PushCounts
}

/** What is known of a run while it goes, as of the last time that the workers were asked. */
export type LiveRun = {
  readonly view: () => RunView
  /** Empty where the run keeps no gauges. */
  readonly gauges: () => GaugeSnapshot
  /** Arrivals in flight. */
  readonly inFlight: () => number
  /** The current stage, or what comes before and after the stages. */
  readonly stage: () => string
  /** When the stages began, on the clock of the run; null before that. */
  readonly loadStartMs: () => number | null
  /** Asks the workers again, at most once a second. */
  readonly refresh: () => Promise<void>
}
