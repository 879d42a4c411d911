import { samplesToProve } from '../plan/sample-size.ts'
import type { Histogram } from './histogram.ts'

/** Milliseconds. A percentile that so few samples cannot bound is null; so is everything where there are none. */
export type Percentiles = {
  readonly count: number
  readonly mean: number | null
  readonly p50: number | null
  readonly p90: number | null
  readonly p95: number | null
  readonly p99: number | null
  readonly p999: number | null
  readonly max: number | null
}

/** The fewest samples that bound the percentile; no number of them bounds the largest or the smallest possible value. */
export const samplesNeeded = (percent: number): number =>
  percent > 0 && percent < 100 ? samplesToProve(percent) : Number.POSITIVE_INFINITY

/** null: there are too few samples to say. */
export function percentileMs(histogram: Histogram, percent: number): number | null {
  return histogram.count() < samplesNeeded(percent) ? null : histogram.atPercentile(percent)
}

export function percentiles(histogram: Histogram): Percentiles {
  const count = histogram.count()
  return {
    count,
    mean: meanMs(histogram),
    p50: percentileMs(histogram, 50),
    p90: percentileMs(histogram, 90),
    p95: percentileMs(histogram, 95),
    p99: percentileMs(histogram, 99),
    p999: percentileMs(histogram, 99.9),
    max: histogram.maxMs(),
  }
}

export const meanMs = (histogram: Histogram): number | null =>
  histogram.count() === 0 ? null : histogram.sumMs() / histogram.count()
