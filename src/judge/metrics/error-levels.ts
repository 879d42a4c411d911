import type { Aggregate } from '../../plan/plan.ts'
import type { Histogram } from './histogram.ts'

/** At most `share` of the values (1 is all) have an error of more than `ms`. */
type ErrorLevel = { readonly ms: number; readonly share: number }

/** What is known about the errors of many values: the larger an error, the fewer values have it. One level has share 0. */
export type ErrorLevels = readonly ErrorLevel[]

/** How far true values may be below and above the measured ones. */
export type MeasurementError = { readonly below: ErrorLevels; readonly above: ErrorLevels }

/** Where the true value lies; both ends belong to it. */
export type Interval = { readonly lowest: number; readonly highest: number }

export const noError: ErrorLevels = [{ ms: 0, share: 0 }]

export const errorUpTo = (ms: number): ErrorLevels => [{ ms, share: 0 }]

const shares = [0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0]

/**
 * The levels of measured errors. `of`: the number of values that they belong to; those without an error may be missing
 * from the histogram. `spread`: how many values each error may concern.
 */
export function levelsOf(errors: Histogram, of: number, spread = 1): ErrorLevels {
  const count = errors.count()
  if (count === 0 || of === 0) return noError
  // At a share of 1 stand the values without an error.
  return [1, ...shares].map(share => ({
    ms: share === 1 ? 0 : (errors.atPercentile(100 * (1 - share)) ?? 0),
    share: Math.min(1, (share * spread * count) / of),
  }))
}

/** The levels of the sum of two errors of each value. An error above a level of the sum exceeds one of the two. */
export function sumLevels(a: ErrorLevels, b: ErrorLevels): ErrorLevels {
  const sums = a.flatMap(one => b.map(other => ({ ms: one.ms + other.ms, share: one.share + other.share })))
  return sums.filter(sum => sum.share < 1 && !sums.some(other => other.ms < sum.ms && other.share <= sum.share))
}

export const divideLevels = (levels: ErrorLevels, by: number): ErrorLevels =>
  levels.map(({ ms, share }) => ({ ms: ms / by, share }))

/** The worse of both, if it is unknown which of them describes the values. */
export const worseLevels = (a: ErrorLevels, b: ErrorLevels): ErrorLevels =>
  [...a, ...b].map(({ share }) => ({ share, ms: Math.max(msAt(a, share), msAt(b, share)) }))

/** The error that at most `share` of the values exceed. */
const msAt = (levels: ErrorLevels, share: number): number =>
  Math.min(...levels.filter(level => level.share <= share).map(({ ms }) => ms))

const largestError = (levels: ErrorLevels): number => msAt(levels, 0)

/**
 * Where the true aggregate lies, given the measured one. Percentiles: if at most a share of the values is off by more
 * than `ms`, then the true percentile is no more than that share of ranks and `ms` away. Each level gives such a bound,
 * and the narrowest of them holds, whichever values have the errors.
 */
export function intervalOf(values: Histogram, of: Aggregate, value: number, error: MeasurementError): Interval {
  const { below, above } = error
  const ends = (): readonly [lowest: number, highest: number] => {
    switch (of.kind) {
      case 'percentile':
        return [lowestPercentile(values, of.percent, below), highestPercentile(values, of.percent, above)]
      case 'mean':
        return [value - meanError(below), value + meanError(above)]
      case 'min':
      case 'max':
        return [value - largestError(below), value + largestError(above)]
    }
  }
  const [lowest, highest] = ends()
  return { lowest: Math.min(value, Math.max(0, lowest)), highest: Math.max(value, highest) }
}

function lowestPercentile(values: Histogram, percent: number, levels: ErrorLevels): number {
  const bounds = levels.flatMap(({ ms, share }) => {
    const rank = percent - 100 * share
    return rank > 0 ? (values.atPercentile(rank) ?? 0) - ms : []
  })
  return Math.max(0, ...bounds)
}

function highestPercentile(values: Histogram, percent: number, levels: ErrorLevels): number {
  const bounds = levels.flatMap(({ ms, share }) => {
    const rank = percent + 100 * share
    return rank <= 100 ? (values.atPercentile(rank) ?? 0) + ms : []
  })
  return Math.min(...bounds)
}

/** The largest mean of errors with these levels. */
function meanError(levels: ErrorLevels): number {
  let [sumMs, fromMs, share] = [0, 0, 1]
  for (const level of levels.toSorted((a, b) => a.ms - b.ms)) {
    sumMs += (level.ms - fromMs) * share
    fromMs = level.ms
    share = Math.min(share, level.share)
  }
  return sumMs
}
