import { formatDuration, type Unit } from '../../lib/format.ts'
import { samplesFor } from '../metrics/histogram.ts'
import type { BucketCounts, Slice, SlicedTiming } from '../metrics/slices.ts'
import type { Verdict } from '../results.ts'
import {
  countOf,
  type Estimate,
  estimateMean,
  estimatePercentile,
  estimateRate,
  estimateShare,
  mean,
  minSlices,
  minValues,
  positionMs,
  quantilePosition,
  sumBuckets,
} from './estimates.ts'

/** One number by which runs are compared. */
export type ComparedMeasure = {
  readonly name: string
  readonly unit: Unit
  readonly better: 'lower' | 'higher'
  /**
   * Times and rates depend on the target, the machine and Turnpike; shares and prices only on the target. Shares are
   * compared by their difference, all others by their ratio.
   */
  readonly kind: 'time' | 'rate' | 'share' | 'price'
  /** The time, its percentile, and the values of a slice; else null. */
  readonly timing: SlicedTiming | null
  readonly percent: number | null
  readonly bucketsOf: ((slice: Slice) => BucketCounts) | null
  /** null: too few values. */
  readonly estimate: (slices: readonly Slice[]) => Estimate | null
  /** The number of values, and how many an estimate needs. */
  readonly values: (slices: readonly Slice[]) => number
  readonly needed: number
}

/** The measures of a call. A probe has no goodput, because its response is a refusal. */
export const measuresOf = (isProbe: boolean): readonly ComparedMeasure[] =>
  isProbe ? measures.filter(measure => measure !== goodput) : measures

const total = (of: (slice: Slice) => number) => (slices: readonly Slice[]) =>
  slices.reduce((sum, slice) => sum + of(slice), 0)

const noTime = { timing: null, percent: null, bucketsOf: null } as const

const time = (timing: SlicedTiming, name: string, percent: number): ComparedMeasure => ({
  name: `${name} p${percent}`,
  unit: 'ms',
  better: 'lower',
  kind: 'time',
  timing,
  percent,
  bucketsOf: slice => slice.times[timing] ?? [],
  estimate: slices => estimatePercentile(slices, timing, percent),
  values: total(slice => countOf(slice.times[timing] ?? [])),
  needed: Math.max(minValues, samplesFor(percent)),
})

const rate = (name: string, count: (slice: Slice) => number): ComparedMeasure => ({
  name,
  unit: 'per-second',
  better: 'higher',
  kind: 'rate',
  ...noTime,
  estimate: slices => estimateRate(slices, count),
  values: total(slice => slice.sent + slice.dropped),
  needed: minSlices,
})

const share = (name: string, count: (slice: Slice) => number): ComparedMeasure => ({
  name,
  unit: 'ratio',
  better: 'lower',
  kind: 'share',
  ...noTime,
  estimate: slices => estimateShare(slices, count, ({ sent }) => sent),
  values: total(({ sent }) => sent),
  needed: minSlices,
})

const price = (name: string, unit: Unit, amount: (slice: Slice) => number): ComparedMeasure => ({
  name,
  unit,
  better: 'lower',
  kind: 'price',
  ...noTime,
  estimate: slices => estimateMean(slices, amount, ({ succeeded }) => succeeded),
  values: total(({ succeeded }) => succeeded),
  needed: samplesFor(50),
})

const times: readonly (readonly [timing: SlicedTiming, name: string])[] = [
  ['latency', 'latency'],
  ['service-time', 'service time'],
  ['ttft', 'TTFT'],
  ['tpot', 'TPOT'],
  ['icl', 'ICL'],
]
const goodput = rate('goodput', ({ good }) => good)

const measures: readonly ComparedMeasure[] = [
  ...times.flatMap(([timing, name]) => [50, 95, 99].map(percent => time(timing, name, percent))),
  rate('achieved', ({ answered }) => answered),
  goodput,
  share('failures', ({ failed, faulty }) => failed + faulty),
  share('refusals', ({ refused }) => refused),
  price('credits per call', 'credits', ({ claimedCredits }) => Number(claimedCredits)),
  price('cost per call', 'usd', ({ claimedUsd }) => Number(claimedUsd)),
]

/** A call in a stage of a run. */
export type RunCell = {
  readonly slices: readonly Slice[]
  /** Arrivals of all calls of the stage that were never sent. */
  readonly dropped: number
  /** Whether the run ended by itself. */
  readonly isComplete: boolean
  readonly verdict: Verdict
}

/**
 * Why a number is inconclusive whatever its value: the run deviated from its plan, or Turnpike affected the number.
 * Lateness changes the load and delays the reading of responses; dropped arrivals spare the target. null: neither.
 */
export function inconclusiveReason(
  measure: ComparedMeasure,
  run: RunCell,
  baselines: readonly RunCell[],
  material: { readonly baseMs: number; readonly minEffect: number },
): string | null {
  if (!run.isComplete) return 'the run did not end by itself'
  if (baselines.some(({ isComplete }) => !isComplete)) return 'its baseline did not end by itself'
  if (measure.kind === 'share' || measure.kind === 'price') return null
  if (run.verdict === 'inconclusive') return 'the run is inconclusive'
  if (baselines.some(({ verdict }) => verdict === 'inconclusive')) return 'its baseline is inconclusive'
  if (run.dropped > 0) return 'arrivals of its stage were dropped'
  if (baselines.some(({ dropped }) => dropped > 0)) return 'arrivals of its stage were dropped in a baseline'
  return measure.percent === null ? null : latenessReason(measure.percent, run, baselines, material)
}

/** How late a request may be sent, by the time that is compared. */
const maxLatenessMs = (baseMs: number): number => Math.max(20, baseMs / 10)

/** Compares lateness at the same percentile, because a few late requests do not change a median. */
function latenessReason(
  percent: number,
  run: RunCell,
  baselines: readonly RunCell[],
  { baseMs, minEffect }: { readonly baseMs: number; readonly minEffect: number },
): string | null {
  const late = latenessPercentileMs(run, percent)
  const lateBefore = baselines.map(baseline => latenessPercentileMs(baseline, percent))
  const latest = Math.max(late, ...lateBefore)
  const max = maxLatenessMs(baseMs)
  if (latest > max)
    return `Turnpike was late: lateness p${percent} ${formatDuration(latest)}, limit ${formatDuration(max)}`
  const before = mean(lateBefore)
  if (Math.abs(late - before) <= baseMs * minEffect) return null
  return `the lateness of Turnpike changed: p${percent} ${formatDuration(late)}, baseline ${formatDuration(before)}`
}

function latenessPercentileMs({ slices }: RunCell, percent: number): number {
  const cells = sumBuckets(slices.map(({ times }) => times.lateness ?? []))
  return cells.length === 0 ? 0 : positionMs(quantilePosition(cells, percent / 100))
}
