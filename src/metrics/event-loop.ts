import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { EventLoopDelay } from '../observation/log.ts'

export type EventLoopMonitor = {
  readonly delayMs: () => EventLoopDelay
  readonly stop: () => void
}

const RESOLUTION_MS = 10
const NS_PER_MS = 1e6

export function monitorEventLoop(): EventLoopMonitor {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  histogram.enable()
  // Node records the time between two wake-ups that are to be `RESOLUTION_MS` apart; what exceeds it is the delay.
  const delay = (ns: number) => Math.max(0, ns / NS_PER_MS - RESOLUTION_MS)
  return {
    delayMs: () =>
      histogram.count === 0 ? { p99: 0, max: 0 } : { p99: delay(histogram.percentile(99)), max: delay(histogram.max) },
    stop: () => histogram.disable(),
  }
}
