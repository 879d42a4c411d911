import { formatExact, type Unit } from '../lib/format.ts'
import { formatPico } from '../lib/money.ts'
import type { EventLoopDelay } from '../observation/log.ts'
import type { Aggregate, Count, Threshold } from '../plan/plan.ts'
import { type Extent, perSecond, type Selection } from './active-time.ts'
import type { CapacityResult } from './capacity-result.ts'
import type { Figures } from './figures.ts'
import type { Histogram } from './histogram.ts'
import { measureCapacity } from './measure-capacity.ts'
import type { Measured } from './measured.ts'
import type { Metrics } from './metrics.ts'
import { meanMs, percentileMs, samplesNeeded } from './percentiles.ts'

/** What a threshold may be about and the observations alone do not tell, and how far the run went. */
export type Totals = Extent & {
  readonly violations: number
  readonly discrepancies: number
  readonly unexpected429: number
  /** Claimed by the answers, over the whole run. */
  readonly credits: bigint | number
  readonly picoUsd: bigint
  readonly capacity: readonly CapacityResult[]
  /** Of the whole run; null where it is not known, as while the run goes. */
  readonly eventLoopDelayMs: EventLoopDelay | null
}

export function measure(threshold: Threshold, metrics: Metrics, totals: Totals): Measured {
  const { measure } = threshold
  switch (measure.kind) {
    case 'timing': {
      // The program's own stages are the service's answers to us and no part of a call, but they are part of our duty.
      const wholeRun = measure.timing === 'lateness' && threshold.stage === null && threshold.call === null
      const figures = wholeRun ? metrics.all() : metrics.select(threshold)
      const subject = `${describe(measure.of)} ${measure.timing}${describeSelection(threshold)}`
      return measureTiming(subject, measure.of, figures.timing(measure.timing))
    }
    case 'credits':
      return measureTotal('credits', Number(totals.credits), 'credits', metrics)
    case 'spend':
      return measureTotal('spend', Number(formatPico(totals.picoUsd)), 'usd', metrics)
    case 'capacity':
      return measureCapacity(threshold, totals.capacity)
    case 'count':
    case 'ratio':
    case 'per-second':
      return measureCount(measure.kind, measure.count, threshold, metrics, totals)
  }
}

function measureTiming(subject: string, of: Aggregate, histogram: Histogram): Measured {
  const samples = histogram.count()
  const base = { subject, samples, unit: 'ms', grows: 'neither' } as const
  const value = aggregate(of, histogram)
  if (value !== null) return { ...base, value }
  const needed = of.kind === 'percentile' ? samplesNeeded(of.percent) : 1
  const largest = histogram.maxMs()
  if (largest === null) return { ...base, value, because: `${subject} has no value: nothing was measured` }
  const enough = Number.isFinite(needed) ? `it takes ${needed} values` : 'no number of values is enough'
  return {
    ...base,
    value,
    because: `${subject} cannot be bounded: ${enough}, the largest was ${formatExact(largest, 'ms')}`,
  }
}

function aggregate(of: Aggregate, histogram: Histogram): number | null {
  switch (of.kind) {
    case 'percentile':
      return percentileMs(histogram, of.percent)
    case 'mean':
      return meanMs(histogram)
    case 'min':
      return histogram.minMs()
    case 'max':
      return histogram.maxMs()
  }
}

function measureTotal(subject: string, value: number, unit: Unit, metrics: Metrics): Measured {
  const samples = metrics.all().sent
  const base = { subject, samples, unit, grows: 'only' } as const
  return samples === 0 ? { ...base, value: null, because: 'nothing was sent' } : { ...base, value }
}

function measureCount(
  kind: 'count' | 'ratio' | 'per-second',
  count: Count,
  selection: Selection,
  metrics: Metrics,
  totals: Totals,
): Measured {
  const figures = isTotal(count) ? metrics.all() : metrics.select(selection)
  const due = figures.sent + figures.dropped
  const ofDue = count.kind === 'sent' || count.kind === 'good' || count.kind === 'dropped'
  const samples = ofDue ? due : figures.sent
  const subject = `${count.kind === 'status' ? `status(${count.status})` : count.kind}${describeSelection(selection)}`
  const grows = kind === 'count' && (isTotal(count) || count.kind === 'status') ? 'only' : 'both'
  const base = { subject, samples, unit: kind, grows } as const
  const none = (because: string): Measured => ({ ...base, value: null, because })

  if (isTotal(count) && (selection.call !== null || selection.stage !== null))
    return none(`${count.kind} are known for the whole run only`)
  if (samples === 0 || (figures.sent === 0 && count.kind !== 'dropped')) return none(`${subject}: nothing was sent`)
  const total = totalOf(count, figures, totals)
  if (kind === 'count') return { ...base, value: total }
  if (kind === 'ratio') return { ...base, value: total / samples }
  const value = perSecond(total, metrics.activeMs(selection, totals))
  return value === null ? none(`${subject} has no rate: it has no stage with a duration`) : { ...base, value }
}

const isTotal = (count: Count): boolean =>
  count.kind === 'violations' || count.kind === 'discrepancies' || count.kind === 'unexpected-429'

function totalOf(count: Count, figures: Figures, totals: Totals): number {
  switch (count.kind) {
    case 'status':
      return figures.statuses.get(count.status) ?? 0
    case 'violations':
      return totals.violations
    case 'discrepancies':
      return totals.discrepancies
    case 'unexpected-429':
      return totals.unexpected429
    default:
      return figures[count.kind]
  }
}

const describe = (of: Aggregate): string => (of.kind === 'percentile' ? `p(${of.percent})` : of.kind)

const describeSelection = ({ call, stage }: Selection): string =>
  `${call === null ? '' : ` of ${call}`}${stage === null ? '' : ` in ${stage}`}`
