import { samplesFor } from './histogram.ts'
import { createLogBuckets } from './log-buckets.ts'
import type { Timeline } from './timeline.ts'

/** Milliseconds over time, one value for each `stepMs` (one or more columns); null: too few samples. */
export type TimesSeries = {
  readonly stepMs: number
  readonly p50: readonly (number | null)[]
  readonly p95: readonly (number | null)[]
  readonly max: readonly (number | null)[]
}

/** Number of values by size: `counts[i]` counts from `fromMs × 2^(i / perOctave)` up to the next. */
export type LatencyDistribution = {
  readonly fromMs: number
  readonly perOctave: number
  readonly counts: readonly number[]
}

/** The distribution of times in each column of a timeline, for charts: up to 12 % coarse. */
export type LatencyGrid = {
  readonly add: (column: number, ms: number) => void
  readonly series: () => TimesSeries
  readonly distribution: () => LatencyDistribution
  readonly countAt: (column: number, row: number) => number
  readonly snapshot: () => LatencyGridSnapshot
  readonly merge: (snapshot: LatencyGridSnapshot, columnOf: (theirs: number) => number) => void
}

export type LatencyGridSnapshot = {
  readonly added: number
  readonly counts: Uint32Array
  readonly maxima: Float64Array
}

/** The rows of a grid: the lowest starts at 64 µs, the highest ends above two minutes. */
const rows = createLogBuckets(0.064, 6, 21 * 6)

const enoughForMedian = 12
const minPoints = 12
/** Points may become wider for a p95 if at least this many remain. */
const enoughForP95 = 80
const manyPoints = 90

export function createLatencyGrid(timeline: Timeline): LatencyGrid {
  const matrix = timeline.matrix(rows.count)
  const maxima = timeline.maxima()
  let added = 0

  const total = (from: number, to: number, row: number): number => {
    let count = 0
    for (let column = from; column < to; column++) count += matrix.at(column, row)
    return count
  }

  const percentile = (from: number, to: number, percent: number): number | null => {
    const counts = Array.from({ length: rows.count }, (_, row) => total(from, to, row))
    const count = counts.reduce((sum, each) => sum + each, 0)
    if (count < samplesFor(percent)) return null
    let left = Math.ceil((count * percent) / 100)
    const row = counts.findIndex(each => {
      left -= each
      return left <= 0
    })
    // Interpolates within a row; otherwise curves would have steps.
    const above = (left - 0.5) / Math.max(1, counts[row] ?? 0)
    return roundTo3Digits(Math.min(rows.floorOf(row + 1 + above), slowest(from, to)))
  }

  const slowest = (from: number, to: number): number => {
    let max = 0
    for (let column = from; column < to; column++) max = Math.max(max, maxima.at(column))
    return max
  }

  /** How many columns to join, so that most points have enough values for a median, or even for a p95. */
  const width = (): number => {
    const columns = Array.from({ length: timeline.columns() }, (_, column) => maxima.at(column) > 0)
    const used = columns.filter(Boolean).length
    const holding = (values: number) => Math.max(1, Math.ceil((values * used) / Math.max(1, added)))
    const leaving = (points: number) => Math.max(1, Math.floor(columns.length / points))
    return Math.max(
      Math.min(holding(enoughForMedian), leaving(minPoints)),
      Math.min(holding(enoughForP95), leaving(manyPoints)),
    )
  }

  return {
    add: (column, ms) => {
      if (!Number.isFinite(ms)) return
      added++
      matrix.add(column, rows.bucketOf(ms))
      maxima.put(column, ms)
    },
    series: () => {
      const across = width()
      const starts = Array.from({ length: Math.ceil(timeline.columns() / across) }, (_, point) => point * across)
      const each = (of: (from: number, to: number) => number | null) =>
        starts.map(from => of(from, Math.min(from + across, timeline.columns())))
      return {
        stepMs: timeline.stepMs() * across,
        p50: each((from, to) => percentile(from, to, 50)),
        p95: each((from, to) => percentile(from, to, 95)),
        max: each((from, to) => (slowest(from, to) > 0 ? roundTo3Digits(slowest(from, to)) : null)),
      }
    },
    distribution: () => trimmed(Array.from({ length: rows.count }, (_, row) => total(0, timeline.columns(), row))),
    countAt: matrix.at,
    snapshot: () => ({ added, counts: matrix.snapshot(), maxima: maxima.snapshot() }),
    merge: (snapshot, columnOf) => {
      added += snapshot.added
      matrix.merge(snapshot.counts, columnOf)
      maxima.merge(snapshot.maxima, columnOf)
    },
  }
}

/** Drops the empty rows at both ends. */
function trimmed(counts: readonly number[]): LatencyDistribution {
  const first = Math.max(
    0,
    counts.findIndex(count => count > 0),
  )
  const last = counts.findLastIndex(count => count > 0)
  return {
    fromMs: roundTo3Digits(rows.floorOf(first)),
    perOctave: rows.perOctave,
    counts: counts.slice(first, last + 1),
  }
}

export const roundTo3Digits = (value: number): number => Number(value.toPrecision(3))

/** Row *i* of a column counts times from `fromMs × 2^(i / perOctave)` up to the next row. */
export type Heatmap = {
  readonly stepMs: number
  readonly fromMs: number
  readonly perOctave: number
  readonly counts: readonly (readonly number[])[]
}

const maxHeatmapColumns = 120
const rowsPerHeatmapRow = 2

/** Wide columns and high rows, so that most cells are not empty. */
export function heatmapOf(grids: readonly LatencyGrid[], columns: number, stepMs: number): Heatmap {
  const height = rows.count / rowsPerHeatmapRow
  const across = Math.max(1, Math.ceil(columns / maxHeatmapColumns))
  const counts = Array.from({ length: Math.ceil(columns / across) }, (_, wide) =>
    Array.from({ length: height }, (_, high) => {
      let count = 0
      for (const grid of grids)
        for (let column = wide * across; column < Math.min(columns, (wide + 1) * across); column++)
          for (let row = high * rowsPerHeatmapRow; row < (high + 1) * rowsPerHeatmapRow; row++)
            count += grid.countAt(column, row)
      return count
    }),
  )
  const used = Array.from({ length: height }, (_, row) => counts.some(column => (column[row] ?? 0) > 0))
  const first = Math.max(0, used.indexOf(true))
  return {
    stepMs: stepMs * across,
    fromMs: roundTo3Digits(rows.floorOf(first * rowsPerHeatmapRow)),
    perOctave: rows.perOctave / rowsPerHeatmapRow,
    counts: counts.map(column => column.slice(first, used.lastIndexOf(true) + 1)),
  }
}
