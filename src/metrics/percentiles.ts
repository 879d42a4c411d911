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

/** How often a bound that we claim may be wrong. */
const RISK = 0.05

/**
 * The fewest samples that bound the percentile at 95 % confidence: with n of them the largest is below the q-quantile
 * with probability qⁿ, so n ≥ ln 0.05 ÷ ln q. Below the median it is the smallest sample that has to be below it.
 */
export function samplesNeeded(percent: number): number {
  const q = Math.max(percent, 100 - percent) / 100
  return q >= 1 ? Number.POSITIVE_INFINITY : Math.ceil(Math.log(RISK) / Math.log(q))
}

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
