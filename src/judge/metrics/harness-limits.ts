import { formatDuration } from '../../lib/format.ts'
import type { EventLoopDelay } from '../../observation/log.ts'
import type { Aggregate, Threshold } from '../../plan/plan.ts'
import { type Histogram, percentileMs } from './histogram.ts'

import type { RequestStats, RunMetrics } from './request-stats.ts'

/** Every process may be this late. */
const minToleratedMs = 20
const toleratedShareOfBound = 0.1

/**
 * Why a bound on a time is inconclusive: Turnpike sent so late that the load was not the planned one, and its lateness is
 * part of the time. Lateness is measured by the aggregate of the bound, because a few late requests cannot change a p95.
 * Passes and failures are equally uncertain. Bounds on lateness itself are exempt.
 */
export function latenessReason(threshold: Threshold, metrics: RunMetrics): string | null {
  const { measure, bound } = threshold
  if (measure.kind !== 'timing' || measure.timing === 'lateness') return null
  const { name, ms } = aggregateOf(metrics.select(threshold).timing('lateness'), measure.of)
  const tolerated = maxLatenessMs(bound)
  if (ms === null || ms <= tolerated) return null
  return `Turnpike was late: lateness ${name} ${formatDuration(ms)}, limit ${formatDuration(tolerated)}`
}

/**
 * Why a bound on a time is inconclusive even though requests were sent on time: the process stalled, and responses waited
 * to be read. The p99 of the event-loop delay is used for every percentile, its maximum for a maximum.
 */
export function stallReason({ measure, bound }: Threshold, delay: EventLoopDelay | null): string | null {
  if (measure.kind !== 'timing' || measure.timing === 'lateness' || delay === null) return null
  const [name, ms] = measure.of.kind === 'max' ? ['max', delay.max] : ['p99', delay.p99]
  const tolerated = maxLatenessMs(bound)
  if (ms <= tolerated) return null
  return `Turnpike stalled: event-loop delay ${name} ${formatDuration(ms)}, limit ${formatDuration(tolerated)}`
}

/**
 * Why a bound on a number of requests is inconclusive: the machine that runs Turnpike could not open connections, so
 * fewer requests were sent than planned.
 */
export function localFaultReason(
  { measure }: Threshold,
  { localFaults }: Pick<RequestStats, 'localFaults'>,
): string | null {
  if (!('count' in measure) || localFaults.size === 0) return null
  const { kind } = measure.count
  if (kind !== 'sent' && kind !== 'good' && kind !== 'dropped') return null
  return `the machine that runs Turnpike could not send every request (${[...localFaults.keys()].join(', ')})`
}

/** How late a request may be sent, by the bound on its time; null: there is none. */
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
