import type { Readings } from '../judging/readings.ts'
import type { GaugeSnapshot } from '../metrics/gauges.ts'

/** What can be seen of a run while it goes. */
export type Live = {
  readonly readings: () => Readings
  /** What those who watch want besides; empty where nobody asked for it. */
  readonly meters: () => GaugeSnapshot
  /** Arrivals that are under way. */
  readonly inFlight: () => number
  /** The stage that is under way, or what comes before and after the stages. */
  readonly stage: () => string
  /** When the stages began, on the clock of the run; null before that. */
  readonly loadStartMs: () => number | null
  /** Brings all of it up to date, as far as it is not; at most once a second. */
  readonly refresh: () => Promise<void>
}
