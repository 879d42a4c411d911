import { formatDuration, formatRatio, plural } from '../../lib/format.ts'
import { type DropReason, isLocalFault } from '../../observation/observation.ts'
import { type Count, hasTrait, type Threshold, type Timing } from '../../plan/plan.ts'
import type { Interval } from './error-levels.ts'
import { type Histogram, mergeHistograms, percentileMs } from './histogram.ts'
import { disturbedPerLate, lateForLoadMs, timingInterval } from './instrument-error.ts'
import type { MetricsCell, RequestStats, RunMetrics } from './request-stats.ts'
import type { Selection } from './timings.ts'

/** Where the true value of a threshold lies, and why it is not known exactly. */
export type ValueRange = Interval & {
  /** Clauses about the largest causes, such as `Turnpike sent up to 41 ms late`. Empty if the value is exact. */
  readonly causes: readonly string[]
  /** What to do about them: a sentence without its full stop. */
  readonly remedy: string
}

const quietMachine = 'Run it on a machine with more free CPU'

export function rangeOfTiming(
  threshold: Pick<Threshold, 'call' | 'stage'>,
  measure: Extract<Threshold['measure'], { kind: 'timing' }>,
  value: number,
  metrics: RunMetrics,
  unrecordedStallMs: number,
): ValueRange {
  const stats = metrics.select(threshold)
  const { stalls } = stats
  const lateness = stats.timing('lateness')
  const latenessOfAll = latenessInStagesOf(threshold, metrics)
  const sources = { stalls, lateness, latenessOfAll, unrecordedStallMs }
  const interval = timingInterval(measure.timing, measure.of, value, stats.timing(measure.timing), sources)
  const stallMs = Math.max(stalls.longest.maxMs() ?? 0, unrecordedStallMs)
  return { ...interval, causes: [...lateCause(latenessOfAll), ...stallCause(stallMs)], remedy: quietMachine }
}

/** Of all requests in the stages in which the selected ones were sent. They share the service. */
function latenessInStagesOf({ call, stage }: Selection, metrics: RunMetrics): Histogram {
  if (call === null) return metrics.select({ call, stage }).timing('lateness')
  const stages = metrics
    .cells()
    .filter(cell => cell.call === call && (stage ?? cell.stage) === cell.stage)
    .map(cell => metrics.select({ call: null, stage: cell.stage }).timing('lateness'))
  return mergeHistograms(stages)
}

function lateCause(lateness: Histogram): readonly string[] {
  const maxMs = lateness.maxMs() ?? 0
  if (maxMs <= 0) return []
  const p95 = percentileMs(lateness, 95)
  return [`Turnpike sent up to ${formatDuration(maxMs)} late${p95 === null ? '' : ` (p95 ${formatDuration(p95)})`}`]
}

const stallCause = (ms: number): readonly string[] => (ms > 0 ? [`it stalled for up to ${formatDuration(ms)}`] : [])

/**
 * The range of a number of requests. What came back does not depend on times, so most counts are exact. The exceptions:
 * whether a response met an SLO on a time, and requests that Turnpike did not send although the target would have let it.
 */
export function rangeOfCount(kind: Count['kind'], value: number, stats: RequestStats): ValueRange {
  const faults = [...stats.drops].filter(([reason]) => isLocalFault(reason))
  const localFaults = faults.reduce((sum, [, each]) => sum + each, 0)
  const lateness = stats.timing('lateness')
  const late = lateness.count() - (lateness.countsUpTo([lateForLoadMs])[0] ?? 0)
  const disturbed = late * (disturbedPerLate - 1)
  const crowdedOut = Math.min(stats.dropped - localFaults - heldBack(stats), disturbed)
  const unsent = localFaults + crowdedOut
  const unsentCauses = [
    ...(localFaults > 0
      ? [`the machine that runs Turnpike could not send every request (${faults.map(([reason]) => reason).join(', ')})`]
      : []),
    ...(crowdedOut > 0 ? lateCause(lateness) : []),
  ]
  const remedy = localFaults > 0 ? 'The verdict says how to repair the machine' : quietMachine
  if (kind === 'dropped') return { lowest: value - unsent, highest: value, causes: unsentCauses, remedy }
  if (kind === 'good') {
    const doubtful = stats.doubtfullyGood + stats.doubtfullyMissed
    const delayed = Math.min(stats.missed, disturbed)
    const narrow = `${plural(doubtful + delayed, 'response')} met or missed an SLO by less than Turnpike was late or stalled`
    return {
      lowest: value - stats.doubtfullyGood,
      highest: value + stats.doubtfullyMissed + stats.unmeasured + delayed + unsent,
      causes: [...unmeasuredCauses(stats), ...(doubtful + delayed > 0 ? [narrow] : []), ...unsentCauses],
      remedy: stats.unmeasured > doubtful + delayed ? unmeasuredRemedy : remedy,
    }
  }
  return hasTrait(kind, 'grows-with-load')
    ? { lowest: value, highest: value + unsent, causes: unsentCauses, remedy }
    : { lowest: value, highest: value, causes: [], remedy }
}

const unmeasuredRemedy = 'Without these values, remove the SLO or measure another time'

const unmeasuredCauses = (stats: RequestStats): readonly string[] =>
  [...stats.unmeasuredBy].map(
    ([timing, count]) =>
      `${timing} of ${plural(count, 'response')} cannot be measured: ${unmeasuredWhy(timing, stats)}`,
  )

/** Why complete 2xx responses have no value of a timing. */
export function unmeasuredWhy(
  timing: Timing,
  { respondsWithTokens }: Pick<RequestStats, 'respondsWithTokens'>,
): string {
  switch (timing) {
    case 'tpot':
    case 'itl':
      if (respondsWithTokens === 0) return 'no usage in the streams'
      return timing === 'tpot'
        ? 'no usage, or fewer than two tokens or chunks'
        : 'no usage, or several tokens in a chunk'
    case 'ttfct':
      return 'no content token in the streams'
    case 'ttft':
    case 'icl':
      return 'no token in the streams'
    default:
      return 'no complete response'
  }
}

/**
 * The same for a number of requests that grows with the rate. In a closed stage, a response that is read late delays the
 * next request of its user. Thinking is delayed by the same share as waiting. `countOf`: the number in a part of the run.
 */
export function withHiddenRequests(
  range: ValueRange,
  { call, stage }: Selection,
  metrics: RunMetrics,
  countOf: (stats: RequestStats, stage: string) => number,
): ValueRange {
  const parts = metrics.closedStages
    .filter(name => stage === null || name === stage)
    .map(name => {
      const { waitedMs, stalledMs } = metrics.select({ call: null, stage: name })
      const count = countOf(metrics.select({ call, stage: name }), name)
      const share = Math.min(1, waitedMs === 0 ? 0 : stalledMs / waitedMs)
      return { share, hidden: count === 0 ? 0 : (count * share) / (1 - share) }
    })
  const hidden = parts.reduce((sum, part) => sum + part.hidden, 0)
  if (hidden === 0) return range
  const share = Math.max(...parts.map(part => part.share))
  const cause = `Turnpike stalled in up to ${formatRatio(Number(share.toPrecision(2)))} of the time in which users waited for a response`
  return { ...range, highest: range.highest + hidden, causes: [...range.causes, cause] }
}

/** In the unit of a threshold: a share of `samples`, or a rate over `ms`. */
export const scaleRange = (range: ValueRange, by: (count: number) => number): ValueRange => ({
  ...range,
  lowest: by(range.lowest),
  highest: by(range.highest),
})

/** Why Turnpike itself did not send what was due. `remedy`: what the user can change. */
const ownReasons: Partial<Record<DropReason, { readonly why: string; readonly remedy: string }>> = {
  'stage-over': {
    why: 'before the stage reached its maximum duration',
    remedy: 'raise "at-most" of the stage',
  },
  'failure-limit': {
    why: 'because their callers had failed almost often enough to be blocked',
    remedy: 'use more callers or a longer stage, or set "exceed-failure-limit"',
  },
  budget: { why: 'because the budget was spent', remedy: 'raise the budget' },
  interrupted: { why: 'because the run was over', remedy: 'let it end by itself, after a longer "pause" if it did' },
}

/** The number of requests that Turnpike held back, which is not a fault of the target. */
const heldBack = ({ drops }: Pick<RequestStats, 'drops'>): number =>
  [...drops].reduce((sum, [reason, count]) => sum + (Object.hasOwn(ownReasons, reason) ? count : 0), 0)

/** Which requests Turnpike held back, why, and what to do; null: none. */
export function describeHeldBack(cells: readonly MetricsCell[]): string | null {
  const texts = [...new Set(cells.map(({ stage }) => stage))].flatMap(stage => {
    const ofStage = cells.filter(cell => cell.stage === stage).map(({ stats }) => stats)
    const due = ofStage.reduce((sum, { sent, dropped }) => sum + sent + dropped, 0)
    return Object.entries(ownReasons).flatMap(([reason, { why, remedy }]) => {
      const count = ofStage.reduce((sum, { drops }) => sum + (drops.get(reason) ?? 0), 0)
      const verb = count === 1 ? 'was' : 'were'
      return count === 0 ? [] : [`${count} of ${plural(due, 'request')} of ${stage} ${verb} not sent ${why}; ${remedy}`]
    })
  })
  return texts.length === 0 ? null : texts.join(', and ')
}

/** Whether requests that Turnpike held back may have crossed a threshold. */
export function mayBeOfHeldBack(
  { measure, operator }: Threshold,
  stats: RequestStats,
  holds: (share: number) => boolean,
): boolean {
  const own = heldBack(stats)
  if (!('count' in measure) || own === 0) return false
  if (measure.count.kind === 'dropped') return holds((stats.dropped - own) / stats.dropped)
  return hasTrait(measure.count.kind, 'held-back') && operator !== '<' && operator !== '<='
}
