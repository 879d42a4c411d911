import type { Unit } from '../lib/format.ts'
import type { Slice, SlicedTiming } from '../metrics/slices.ts'
import { countOf, type Estimate, estimateMean, estimatePercentile, estimateRate, estimateShare } from './estimates.ts'

/** One number by which runs are compared. */
export type ComparedMeasure = {
  readonly name: string
  readonly unit: Unit
  readonly better: 'lower' | 'higher'
  /**
   * Times and rates hang on the machine and on the harness as well as on the target, shares and prices on the target
   * alone. Shares are compared by their difference, all others by their ratio.
   */
  readonly kind: 'time' | 'rate' | 'share' | 'price'
  /** Of a time, which percentile of it; else null. */
  readonly percent: number | null
  /** null: there are too few values to say. */
  readonly estimate: (slices: readonly Slice[]) => Estimate | null
  /** How many values there are of it. */
  readonly values: (slices: readonly Slice[]) => number
}

/** Everything that a call is compared by. A probe is to be refused, and so has no goodput. */
export const measuresOf = (isProbe: boolean): readonly ComparedMeasure[] =>
  isProbe ? measures.filter(measure => measure !== goodput) : measures

const total = (of: (slice: Slice) => number) => (slices: readonly Slice[]) =>
  slices.reduce((sum, slice) => sum + of(slice), 0)

const time = (timing: SlicedTiming, name: string, percent: number): ComparedMeasure => ({
  name: `${name} p${percent}`,
  unit: 'ms',
  better: 'lower',
  kind: 'time',
  percent,
  estimate: slices => estimatePercentile(slices, timing, percent),
  values: total(slice => countOf(slice.times[timing] ?? [])),
})

const rate = (name: string, count: (slice: Slice) => number): ComparedMeasure => ({
  name,
  unit: 'per-second',
  better: 'higher',
  kind: 'rate',
  percent: null,
  estimate: slices => estimateRate(slices, count),
  values: total(slice => slice.sent + slice.dropped),
})

const share = (name: string, count: (slice: Slice) => number): ComparedMeasure => ({
  name,
  unit: 'ratio',
  better: 'lower',
  kind: 'share',
  percent: null,
  estimate: slices => estimateShare(slices, count, ({ sent }) => sent),
  values: total(({ sent }) => sent),
})

const price = (name: string, unit: Unit, amount: (slice: Slice) => number): ComparedMeasure => ({
  name,
  unit,
  better: 'lower',
  kind: 'price',
  percent: null,
  estimate: slices => estimateMean(slices, amount, ({ succeeded }) => succeeded),
  values: total(({ succeeded }) => succeeded),
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
  price('credits a call', 'credits', ({ claimedCredits }) => Number(claimedCredits)),
  price('cost a call', 'usd', ({ claimedUsd }) => Number(claimedUsd)),
]
