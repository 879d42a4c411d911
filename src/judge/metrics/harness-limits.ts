import { formatDuration } from '../../lib/format.ts'
import type { EventLoopDelay } from '../../observation/log.ts'
import type { Aggregate, Threshold } from '../../plan/plan.ts'
import { type Histogram, percentileMs } from './histogram.ts'

import type { RunMetrics } from './request-stats.ts'

/** Any process that does other things as well may be this late. */
const minToleratedMs = 20
const toleratedShareOfBound = 0.1

/**
 * Why a bound on a time proves nothing: the harness sent so late that the load was not the planned one, and the time is
 * partly its own. It is measured by the aggregate that the bound is about: what a p95 cannot show of the answers, a few
 * late sendings cannot change either. Meeting and missing the bound are both in doubt. A bound on lateness is about just that.
 */
export function latenessReason(threshold: Threshold, metrics: RunMetrics): string | null {
  const { measure, bound } = threshold
  if (measure.kind !== 'timing' || measure.timing === 'lateness') return null
  const { name, ms } = aggregateOf(metrics.select(threshold).timing('lateness'), measure.of)
  const tolerated = maxLatenessMs(bound)
  if (ms === null || ms <= tolerated) return null
  return `the harness did not keep its schedule: lateness ${name} ${formatDuration(ms)}, tolerated ${formatDuration(tolerated)}`
}

/**
 * Why a bound on a time proves nothing although all was sent on time, or in its own time, as closed users do: the process
 * stalled for so long that answers waited to be read. Its p99 stands for every percentile, its maximum for a maximum.
 */
export function stallReason({ measure, bound }: Threshold, delay: EventLoopDelay | null): string | null {
  if (measure.kind !== 'timing' || measure.timing === 'lateness' || delay === null) return null
  const [name, ms] = measure.of.kind === 'max' ? ['max', delay.max] : ['p99', delay.p99]
  const tolerated = maxLatenessMs(bound)
  if (ms <= tolerated) return null
  return `the harness was deaf at times: event loop delay ${name} ${formatDuration(ms)}, tolerated ${formatDuration(tolerated)}`
}

/** How late a request may be sent, if its time has this bound; null: it has none. */
export const maxLatenessMs = (boundMs: number | null): number =>
  Math.max(minToleratedMs, (boundMs ?? 0) * toleratedShareOfBound)

function aggregateOf(lateness: Histogram, of: Aggregate): { readonly name: string; readonly ms: number | null } {
  const count = lateness.count()
  if (of.kind === 'mean') return { name: 'mean', ms: count === 0 ? null : lateness.sumMs() / count }
  const ms = of.kind === 'percentile' ? percentileMs(lateness, of.percent) : null
  return of.kind === 'percentile' && ms !== null
    ? { name: `p${of.percent}`, ms }
    : { name: 'max', ms: lateness.maxMs() }
}
