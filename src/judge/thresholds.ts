import { formatExact, formatRate, formatWithError, type Unit } from '../lib/format.ts'
import { type Aggregate, type Count, type CountWith, hasTrait, type Operator, type Threshold } from '../plan/plan.ts'
import { type CapacityRange, capacityLabel, isConclusive, provenRange, rangeLabel } from './capacity/result.ts'
import { type Histogram, meanMs, percentileMs, samplesFor } from './metrics/histogram.ts'
import type { RequestStats, RunMetrics } from './metrics/request-stats.ts'
import { perSecond, type RunExtent, type Selection } from './metrics/timings.ts'
import {
  describeHeldBack,
  mayBeOfHeldBack,
  rangeOfCount,
  rangeOfTiming,
  scaleRange,
  unmeasuredWhy,
  type ValueRange,
  withHiddenRequests,
} from './metrics/value-range.ts'
import type { CapacityResult, ThresholdResult, Verdict } from './results.ts'

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
  const { share = null, basis = null, undecided = null } = measured
  const of = basis ?? `n = ${samples}`
  const { proven = null } = measured
  const { lowest = value, highest = value } = proven ?? measured.range ?? {}
  const result = (verdict: Verdict, message: string): ThresholdResult => {
    const isUnknown = value === 0 && proven !== null
    const whole = isUnknown ? null : (share?.whole ?? null)
    const known = { value: isUnknown ? null : value, highest: highest === Number.POSITIVE_INFINITY ? null : highest }
    return { expression, ...known, lowest, whole, operator, bound, unit, verdict, message, basis, why }
  }
  const required = `${operator} ${formatExact(bound, unit)}`
  if (value === null) return result('inconclusive', `${measured.message} (required ${required}; ${of})`)

  if (undecided !== null && !isSettled(threshold, value, value + undecided.most)) {
    const counted = value === 0 ? '' : `, and is at least ${formatExact(value, unit)}`
    const message = `${subject} was not judged${counted}: ${undecided.why} (required ${required}; ${of})`
    return { ...result('inconclusive', message), value: value === 0 ? null : value, lowest: null, highest: null }
  }

  const isMet = compare(value, operator, bound)
  const own = proven === null ? formatWithError(value, lowest ?? value, highest ?? value, unit) : rangeLabel(proven)
  const shown = share === null ? own : `${share.label}, ${own} of it ${share.call}`
  const sentence = `${subject} was ${shown}, ${isMet ? '' : 'not '}${required} (${of})`
  const openReason =
    heldBackReason(threshold, value, metrics) ??
    rangeReason(measured.range ?? null, threshold) ??
    truncatedReason(threshold, measured, totals) ??
    measured.open ??
    null
  if (openReason !== null) return result('inconclusive', `${sentence}, but ${openReason}`)
  return result(isMet ? 'pass' : 'fail', sentence)
}

/** Undecided if the true value may lie on either side of the bound. */
function rangeReason(range: ValueRange | null, threshold: Threshold): string | null {
  if (range === null || isSettled(threshold, range.lowest, range.highest)) return null
  return `the measurement is not exact enough: ${range.causes.join(', ')}. ${range.remedy}`
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

/** Whether every value of a range decides a threshold in the same way. */
function isSettled({ operator, bound }: Threshold, min: number, max: number): boolean {
  const isInside = min <= bound && bound <= max
  if (isInside && min < max && (operator === '==' || operator === '!=')) return false
  return compare(min, operator, bound) === compare(max, operator, bound)
}

/** A crossed threshold that Turnpike itself may have crossed, since it held requests back. */
function heldBackReason(threshold: Threshold, value: number, metrics: RunMetrics): string | null {
  const holds = (share = 1) => compare(value * share, threshold.operator, threshold.bound)
  if (holds() || !mayBeOfHeldBack(threshold, metrics.select(threshold), holds)) return null
  const { call, stage } = threshold
  const cells = metrics
    .cells()
    .filter(cell => (call ?? cell.call) === cell.call && (stage ?? cell.stage) === cell.stage)
  return describeHeldBack(cells)
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

/** The undecided part of a total: the true total is at least the counted one, and at most this much larger. */
export type Undecided = {
  /** Infinite: nothing bounds it. */
  readonly most: number
  /** Why, and what would change it: a clause of a sentence, without a period. */
  readonly why: string
}

/** A total that judges decide. */
export type JudgedTotal = {
  /** null: in all stages. A total that is known for the whole run only is the same in each. */
  readonly countIn: (stage: string | null) => number
  /** What no judge decided; null: judges decided all of it. */
  readonly undecided: Undecided | null
  /** What it rests on, such as how many clauses were judged; null: only the requests. */
  readonly basis: string | null
}

/** By the word of thresholds. */
export type JudgedTotals = Readonly<Record<CountWith<'judged'> | 'credits' | 'spend', JudgedTotal>>

/** What thresholds need in addition to the metrics, and how far the run went. */
export type RunTotals = RunExtent & {
  readonly judged: JudgedTotals
  readonly capacity: readonly CapacityResult[]
  /** The longest stall of a run whose observations do not state their stalls; null: they do, or the run goes on. */
  readonly unrecordedStallMs: number | null
}

function measure(threshold: Threshold, metrics: RunMetrics, totals: RunTotals): MeasuredValue {
  const { measure } = threshold
  switch (measure.kind) {
    case 'timing': {
      // System stages belong to no call, but Turnpike's lateness includes them.
      const wholeRun = measure.timing === 'lateness' && threshold.stage === null && threshold.call === null
      const stats = wholeRun ? metrics.all() : metrics.select(threshold)
      const subject = `${describeAggregate(measure.of)} ${measure.timing}${describeSelection(threshold)}`
      const timed = measureTiming(subject, measure, stats)
      if (timed.value === null || measure.timing === 'lateness') return timed
      const stallMs = totals.unrecordedStallMs ?? 0
      return { ...timed, range: rangeOfTiming(threshold, measure, timed.value, metrics, stallMs) }
    }
    case 'credits':
      return measureTotal('credits', 'credits', metrics, totals)
    case 'spend':
      return measureTotal('spend', 'usd', metrics, totals)
    case 'capacity':
      return measureCapacity(threshold, totals.capacity)
    case 'count':
    case 'ratio':
    case 'per-second':
      return measureCount(measure.kind, measure.count, threshold, metrics, totals)
  }
}

type TimingMeasure = Extract<Threshold['measure'], { kind: 'timing' }>

function measureTiming(subject: string, { timing, of }: TimingMeasure, stats: RequestStats): MeasuredValue {
  const histogram = stats.timing(timing)
  const samples = histogram.count()
  const base = { subject, samples, unit: 'ms', grows: 'neither' } as const
  const value = aggregate(of, histogram)
  if (value !== null) return { ...base, value }
  const needed = of.kind === 'percentile' ? samplesFor(of.percent) : 1
  const largest = histogram.maxMs()
  if (largest === null) {
    const responses = stats.timing('latency').count()
    const message =
      responses === 0 || timing === 'lateness'
        ? `${subject} has no value: nothing was measured`
        : `${subject} cannot be measured: ${unmeasuredWhy(timing, stats)}`
    return { ...base, value, message }
  }
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

function measureTotal(
  subject: 'credits' | 'spend',
  unit: Unit,
  metrics: RunMetrics,
  { judged }: RunTotals,
): MeasuredValue {
  const samples = metrics.all().sent
  const { countIn, undecided } = judged[subject]
  const base = { subject, samples, unit, grows: 'only', undecided } as const
  return samples === 0 ? { ...base, value: null, message: 'nothing was measured' } : { ...base, value: countIn(null) }
}

function measureCount(
  kind: 'count' | 'ratio' | 'per-second',
  count: Count,
  selection: Selection,
  metrics: RunMetrics,
  totals: RunTotals,
): MeasuredValue {
  const isOfRun = hasTrait(count.kind, 'of-run')
  const stats = isOfRun ? metrics.all() : metrics.select(selection)
  // A response that the client left is neither good nor bad.
  const due = stats.sent - stats.left + stats.dropped
  const ofDue = hasTrait(count.kind, 'of-due')
  const samples = ofDue ? due : stats.sent
  const subject = `${count.kind === 'status' ? `status(${count.status})` : count.kind}${describeSelection(selection)}`
  const grows = kind === 'count' && hasTrait(count.kind, 'only-grows') ? 'only' : 'both'
  const basis = basisOf(count, samples, stats, totals)
  const base = { subject, samples, unit: kind, grows, basis } as const
  const none = (message: string): MeasuredValue => ({ ...base, value: null, message })

  if (isOfRun && (selection.call !== null || selection.stage !== null))
    return none(`${count.kind} exist only for the whole run`)
  if (samples === 0 || (stats.sent === 0 && count.kind !== 'dropped')) return none(`${subject}: nothing was measured`)
  const total = totalOf(count, stats, totals, selection.stage)
  const open = hasTrait(count.kind, 'judged') ? totals.judged[count.kind].undecided : null
  const inUnit = (amount: number): number | null => {
    if (kind === 'count') return amount
    return kind === 'ratio' ? amount / samples : perSecond(amount, metrics.activeMs(selection, totals))
  }
  const value = inUnit(total)
  if (value === null) return none(`${subject} has no rate: none of its stages has a duration`)
  const undecided = open && { ...open, most: inUnit(open.most) ?? open.most }
  // Requests that were never sent do not count.
  if (kind === 'ratio' && !ofDue) return { ...base, value, undecided }
  const counted = rangeOfCount(count.kind, total, stats)
  const grown =
    kind === 'ratio' || !hasTrait(count.kind, 'grows-with-load')
      ? counted
      : withHiddenRequests(counted, selection, metrics, (part, stage) => totalOf(count, part, totals, stage))
  const range = scaleRange(grown, each => {
    const scaled = inUnit(kind === 'count' ? Math.floor(each) : each) ?? each
    return kind === 'ratio' ? Math.min(1, scaled) : scaled
  })
  return { ...base, value, undecided, range }
}

/** The number of samples, and what else a reader must know of them; null: nothing else. */
function basisOf(count: Count, samples: number, { statuses }: RequestStats, totals: RunTotals): string | null {
  const ofTotal = hasTrait(count.kind, 'judged') ? totals.judged[count.kind].basis : null
  if (ofTotal !== null) return `${ofTotal}, n = ${samples}`
  const refused = count.kind === 'failed' ? [...statuses].filter(([status]) => isRefusal(status)) : []
  const counts = refused.toSorted(([a], [b]) => a - b).map(([status, each]) => `${each} got ${status}`)
  return counts.length === 0 ? null : `n = ${samples}, of which ${counts.join(', ')}`
}

/** Such a request has a complete response, so it did not fail. */
const isRefusal = (status: number): boolean => status >= 300

function totalOf(count: Count, stats: RequestStats, totals: RunTotals, stage: string | null): number {
  if (count.kind === 'status') return stats.statuses.get(count.status) ?? 0
  return hasTrait(count.kind, 'judged') ? totals.judged[count.kind].countIn(stage) : stats[count.kind]
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
  readonly share?: { readonly whole: number; readonly label: string; readonly call: string }
  /** A capacity that is not known exactly: the value is the lower end; 0 counts as no value. */
  readonly proven?: CapacityRange | null
  /** Missing: the value is exact. */
  readonly range?: ValueRange
  /** Replaces the number of samples in the message. */
  readonly basis?: string | null
  /** Why the value does not decide; null: it does. */
  readonly open?: string | null
  /** How much more it may be, in its unit, and why; null: it is exact. */
  readonly undecided?: Undecided | null
} & ({ readonly value: number } | { readonly value: null; readonly message: string })

/**
 * The rate that a search has confirmed; for one call, its share of the mix. Without one, the trials may prove that the
 * capacity lies in a range: then it is the lower end, if the whole range decides the threshold in the same way.
 */
function measureCapacity(threshold: Threshold, results: readonly CapacityResult[]): MeasuredValue {
  const { call, stage } = threshold
  const result = results.find(each => each.stage === stage)
  const of = (name: string | null) => `capacity${describeSelection({ call: name, stage })}`
  const subject = of(call)
  const samples = result?.trials.reduce((sum, { arrivals }) => sum + arrivals, 0) ?? 0
  const base = { subject, samples, unit: 'per-second', grows: 'neither' } as const
  if (result === undefined) return { ...base, value: null, message: `${subject} has no value: there was no search` }
  const share = call === null ? 1 : (result.mix[call] ?? 0)
  const range = provenRange(result)
  const perSecond = range?.lowest ?? result.ratePerSecond
  const reason = result.reason.replace(/\.$/, '')
  if (perSecond === null) return { ...base, value: null, message: `${subject} was not found: ${reason}` }
  const between = range && { lowest: range.lowest * share, highest: range.highest * share }
  const isOpen = between !== null && !isSettled(threshold, between.lowest, between.highest)
  if (isOpen && !isConclusive(result))
    return { ...base, value: null, message: `${of(null)} is ${capacityLabel(result)}: ${reason}` }
  const value = perSecond * share
  const known = {
    ...base,
    value,
    proven: between,
    basis: reason,
    open: isOpen ? capacityReason(range?.highest ?? value) : null,
  }
  if (call === null || share === 1) return known
  return { ...known, subject: of(null), share: { whole: perSecond, label: capacityLabel(result), call } }
}

const capacityReason = (max: number): string =>
  max === Number.POSITIVE_INFINITY ? 'no higher rate was tried' : `no rate below ${formatRate(max)} was tried`
