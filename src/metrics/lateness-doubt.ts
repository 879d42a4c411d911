import type { Threshold } from '../plan/plan.ts'
import type { Metrics } from './metrics.ts'
import { percentileMs } from './percentiles.ts'
import { duration } from './quantity.ts'

/** Below this no schedule of a process that does other things as well is worth doubting. */
const TOLERATED_MS = 10
const TOLERATED_SHARE_OF_BOUND = 0.1

/**
 * Why a bound on a time proves nothing: the harness sent so late that the load was not the planned one, and the time is
 * partly its own. Holding and crossing are both in doubt. A bound on lateness itself is about just that.
 */
export function latenessDoubt(threshold: Threshold, metrics: Metrics): string | null {
  const { measure, bound } = threshold
  if (measure.kind !== 'timing' || measure.timing === 'lateness') return null
  const lateness = metrics.select(threshold).timing('lateness')
  const p99 = percentileMs(lateness, 99)
  const worst = p99 ?? lateness.maxMs()
  const tolerated = Math.max(TOLERATED_MS, bound * TOLERATED_SHARE_OF_BOUND)
  if (worst === null || worst <= tolerated) return null
  const which = p99 === null ? 'max' : 'p99'
  return `the harness did not keep its schedule: lateness ${which} ${duration(worst)}, tolerated ${duration(tolerated)}`
}
