import type { Unit } from '../lib/format.ts'
import { formatExact, formatRate } from '../lib/format.ts'
import { formatPico } from '../lib/money.ts'
import type { EventLoopDelay } from '../observation/log.ts'
import type { Aggregate, Count, Operator, Threshold } from '../plan/plan.ts'
import type { CapacityResult } from './capacity/result.ts'
import { latenessReason, localFaultReason, stallReason } from './metrics/harness-limits.ts'
import { type Histogram, meanMs, percentileMs, samplesFor } from './metrics/histogram.ts'
import type { RequestStats, RunMetrics } from './metrics/request-stats.ts'
import { perSecond, type RunExtent, type Selection } from './metrics/timings.ts'

export type Verdict = 'pass' | 'fail' | 'inconclusive'

export type ThresholdResult = {
  readonly expression: string
  /** null: there is none. */
  readonly value: number | null
  /** The capacity of all calls, if `value` is the share of one; null: it is no share. */
  readonly whole: number | null
  readonly operator: Operator
  readonly bound: number
  /** Of the value and of the bound; a ratio of 1 is 100 %. */
  readonly unit: Unit
  readonly verdict: Verdict
  readonly message: string
  readonly why: string
}

export function evaluateThresholds(
  thresholds: readonly Threshold[],
  metrics: RunMetrics,
  totals: RunTotals,
): readonly ThresholdResult[] {
  return thresholds.map(threshold => evaluate(threshold, metrics, totals))
}

function evaluate(threshold: Threshold, metrics: RunMetrics, totals: RunTotals): ThresholdResult {
  const { expression, why, operator, bound } = threshold
  const measured = measure(threshold, metrics, totals)
  const { value, unit, subject, samples } = measured
  const { share = null, basis = `n = ${samples}` } = measured
  const result = (verdict: Verdict, message: string): ThresholdResult => {
    return { expression, value, whole: share?.whole ?? null, operator, bound, unit, verdict, message, why }
  }
  const required = `${operator} ${formatExact(bound, unit)}`
  if (value === null) return result('inconclusive', `${measured.message} (required ${required}; ${basis})`)

  const isMet = compare(value, operator, bound)
  const shown =
    share === null
      ? formatExact(value, unit)
      : `${formatExact(share.whole, unit)}, ${formatExact(value, unit)} of it ${share.call}`
  const sentence = `${subject} was ${shown}, ${isMet ? '' : 'not '}${required} (${basis})`
  const openReason =
    latenessReason(threshold, metrics) ??
    localFaultReason(threshold, metrics.select(threshold)) ??
    stallReason(threshold, totals.eventLoopDelayMs) ??
    truncatedReason(threshold, measured, totals) ??
    capacityRangeReason(threshold, value, totals)
  if (openReason !== null) return result('inconclusive', `${sentence}, but ${openReason}`)
  return result(isMet ? 'pass' : 'fail', sentence)
}

/**
 * A run that did not end by itself sent less than planned, and cancelled requests itself. Then outcomes of requests
 * prove nothing. A total that only grows proves what further growth cannot change.
 */
function truncatedReason({ operator, bound }: Threshold, measured: MeasuredValue, totals: RunTotals): string | null {
  if (totals.complete || measured.value === null || measured.grows === 'neither') return null
  const settled = compare(measured.value, operator, bound) === compare(Number.POSITIVE_INFINITY, operator, bound)
  if (measured.grows === 'only' && settled && measured.value >= bound) return null
  return 'the run did not end by itself'
}

/** If only a range of the capacity is known, both ends must decide the threshold the same way. */
function capacityRangeReason(threshold: Threshold, value: number, { capacity }: RunTotals): string | null {
  const { measure, operator, bound } = threshold
  const max = measure.kind === 'capacity' ? capacityUpperBound(threshold, capacity) : null
  if (max === null || compare(value, operator, bound) === compare(max, operator, bound)) return null
  return rangeReason(max)
}

function compare(value: number, operator: Operator, bound: number): boolean {
  switch (operator) {
    case '<':
      return value < bound
    case '<=':
      return value <= bound
    case '>':
      return value > bound
    case '>=':
      return value >= bound
    case '==':
      return value === bound
    case '!=':
      return value !== bound
  }
}

/** Totals of the run that thresholds need in addition to the metrics, and how far the run went. */
export type RunTotals = RunExtent & {
  readonly violations: number
  readonly discrepancies: number
  /** null: the limits could not be judged. */
  readonly unexpected429: number | null
  /** Responses of the abuse block, by stage. */
  readonly blocks: Readonly<Record<string, number>>
  /** Claimed by the responses, over the whole run. */
  readonly credits: bigint | number
  readonly picoUsd: bigint
  readonly capacity: readonly CapacityResult[]
  /** Of the whole run; null: unknown, for example during the run. */
  readonly eventLoopDelayMs: EventLoopDelay | null
}

function measure(threshold: Threshold, metrics: RunMetrics, totals: RunTotals): MeasuredValue {
  const { measure } = threshold
  switch (measure.kind) {
    case 'timing': {
      // System stages belong to no call, but Turnpike's lateness includes them.
      const wholeRun = measure.timing === 'lateness' && threshold.stage === null && threshold.call === null
      const stats = wholeRun ? metrics.all() : metrics.select(threshold)
      const subject = `${describeAggregate(measure.of)} ${measure.timing}${describeSelection(threshold)}`
      return measureTiming(subject, measure.of, stats.timing(measure.timing))
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

function measureTiming(subject: string, of: Aggregate, histogram: Histogram): MeasuredValue {
  const samples = histogram.count()
  const base = { subject, samples, unit: 'ms', grows: 'neither' } as const
  const value = aggregate(of, histogram)
  if (value !== null) return { ...base, value }
  const needed = of.kind === 'percentile' ? samplesFor(of.percent) : 1
  const largest = histogram.maxMs()
  if (largest === null) return { ...base, value, message: `${subject} has no value: nothing was measured` }
  const enough = Number.isFinite(needed) ? `it needs ${needed} values` : 'no number of values is enough'
  return {
    ...base,
    value,
    message: `${subject} cannot be bounded: ${enough}, the largest was ${formatExact(largest, 'ms')}`,
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

function measureTotal(subject: string, value: number, unit: Unit, metrics: RunMetrics): MeasuredValue {
  const samples = metrics.all().sent
  const base = { subject, samples, unit, grows: 'only' } as const
  return samples === 0 ? { ...base, value: null, message: 'no request was sent' } : { ...base, value }
}

function measureCount(
  kind: 'count' | 'ratio' | 'per-second',
  count: Count,
  selection: Selection,
  metrics: RunMetrics,
  totals: RunTotals,
): MeasuredValue {
  const stats = isTotal(count) ? metrics.all() : metrics.select(selection)
  const due = stats.sent + stats.dropped
  const ofDue = count.kind === 'sent' || count.kind === 'good' || count.kind === 'dropped'
  const samples = ofDue ? due : stats.sent
  const subject = `${count.kind === 'status' ? `status(${count.status})` : count.kind}${describeSelection(selection)}`
  const grows =
    kind === 'count' && (isTotal(count) || count.kind === 'status' || count.kind === 'blocked') ? 'only' : 'both'
  const base = { subject, samples, unit: kind, grows } as const
  const none = (message: string): MeasuredValue => ({ ...base, value: null, message })

  if (isTotal(count) && (selection.call !== null || selection.stage !== null))
    return none(`${count.kind} exist only for the whole run`)
  if (samples === 0 || (stats.sent === 0 && count.kind !== 'dropped')) return none(`${subject}: no request was sent`)
  const total = totalOf(count, stats, totals, selection.stage)
  if (total === null) return none(`${subject} could not be judged: the clauses about limits say why`)
  if (kind === 'count') return { ...base, value: total }
  if (kind === 'ratio') return { ...base, value: total / samples }
  const value = perSecond(total, metrics.activeMs(selection, totals))
  return value === null ? none(`${subject} has no rate: none of its stages has a duration`) : { ...base, value }
}

const isTotal = (count: Count): boolean =>
  count.kind === 'violations' || count.kind === 'discrepancies' || count.kind === 'unexpected-429'

function totalOf(count: Count, stats: RequestStats, totals: RunTotals, stage: string | null): number | null {
  switch (count.kind) {
    case 'status':
      return stats.statuses.get(count.status) ?? 0
    case 'violations':
      return totals.violations
    case 'discrepancies':
      return totals.discrepancies
    case 'unexpected-429':
      return totals.unexpected429
    case 'blocked':
      return Object.entries(totals.blocks)
        .filter(([name]) => stage === null || name === stage)
        .reduce((sum, [, responses]) => sum + responses, 0)
    default:
      return stats[count.kind]
  }
}

const describeAggregate = (of: Aggregate): string => (of.kind === 'percentile' ? `p(${of.percent})` : of.kind)

const describeSelection = ({ call, stage }: Selection): string =>
  `${call === null ? '' : ` of ${call}`}${stage === null ? '' : ` in ${stage}`}`

/** The value that a threshold compares, or why there is none. */
type MeasuredValue = {
  readonly subject: string
  /** Of the value and of the bound. */
  readonly unit: Unit
  readonly samples: number
  /**
   * How it changes during a run. `only`: it never falls. `both`: it depends on the outcomes of requests, so cancelled and
   * unsent requests distort it. `neither`: a statistic of the answered requests.
   */
  readonly grows: 'only' | 'both' | 'neither'
  /** The value is the share that one call has of a whole. */
  readonly share?: { readonly whole: number; readonly call: string }
  /** Replaces the number of samples in the message. */
  readonly basis?: string
} & ({ readonly value: number } | { readonly value: null; readonly message: string })

type Selected = Pick<Threshold, 'call' | 'stage'>

/**
 * The rate that a search has confirmed; for one call, its share of the mix. 0 if the target did not sustain the lowest
 * rate. No value if the search found nothing.
 */
function measureCapacity(threshold: Selected, results: readonly CapacityResult[]): MeasuredValue {
  const { call, stage } = threshold
  const result = results.find(each => each.stage === stage)
  const of = (name: string | null) => `capacity${describeSelection({ call: name, stage })}`
  const subject = of(call)
  const samples = result?.trials.reduce((sum, { arrivals }) => sum + arrivals, 0) ?? 0
  const base = { subject, samples, unit: 'per-second', grows: 'neither' } as const
  if (result === undefined) return { ...base, value: null, message: `${subject} has no value: there was no search` }
  const share = call === null ? 1 : (result.mix[call] ?? 0)
  const perSecond = result.status === 'below-range' ? 0 : result.ratePerSecond
  const reason = result.reason.replace(/\.$/, '')
  if (perSecond === null) return { ...base, value: null, message: `${subject} was not found: ${reason}` }
  const value = perSecond * share
  if (call === null || share === 1) return { ...base, value, basis: reason }
  return { ...base, value, basis: reason, subject: of(null), share: { whole: perSecond, call } }
}

/**
 * The upper end of the range in which the capacity lies; null: the value is the capacity itself. `above-range` means that
 * the capacity is at least the highest rate, `below-range` that it is below the lowest.
 */
function capacityUpperBound({ call, stage }: Selected, results: readonly CapacityResult[]): number | null {
  const result = results.find(each => each.stage === stage)
  if (result?.status === 'above-range') return Number.POSITIVE_INFINITY
  if (result?.status !== 'below-range') return null
  const share = call === null ? 1 : (result.mix[call] ?? 0)
  // The range excludes the rate itself.
  return result.fromPerSecond * share * (1 - Number.EPSILON)
}

const rangeReason = (max: number): string =>
  max === Number.POSITIVE_INFINITY ? 'no higher rate was tried' : `no rate below ${formatRate(max)} was tried`
