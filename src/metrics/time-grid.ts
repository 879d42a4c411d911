import { samplesNeeded } from './percentiles.ts'
import type { Timeline } from './timeline.ts'

/** Milliseconds over time, a value for each `stepMs`, which may be several columns: null where there are too few to say. */
export type TimesSeries = {
  readonly stepMs: number
  readonly p50: readonly (number | null)[]
  readonly p95: readonly (number | null)[]
  readonly max: readonly (number | null)[]
}

/** How many values there were of each size: `counts[i]` of at least `fromMs × 2^(i / perOctave)` and below the next. */
export type Distribution = { readonly fromMs: number; readonly perOctave: number; readonly counts: readonly number[] }

/** How times were distributed in each column of a timeline: good for pictures, up to 12 % coarse. */
export type TimeGrid = {
  readonly add: (column: number, ms: number) => void
  readonly series: () => TimesSeries
  readonly distribution: () => Distribution
  readonly countAt: (column: number, row: number) => number
  readonly facts: () => TimeGridFacts
  readonly absorb: (facts: TimeGridFacts, columnOf: (theirs: number) => number) => void
}

export type TimeGridFacts = { readonly added: number; readonly counts: Uint32Array; readonly maxima: Float64Array }

export const perOctave = 6
/** The lowest row begins at 64 µs, the highest ends beyond two minutes; what is outside is put into them. */
export const lowestMs = 0.064
export const rows = 21 * perOctave

const enoughForMedian = 12
const fewestPoints = 12
/** A p95 is worth wider points as long as these are many. */
const enoughForP95 = 80
const manyPoints = 90

const rowOf = (ms: number): number => {
  const row = Math.floor(Math.log2(ms / lowestMs) * perOctave)
  return row > 0 ? Math.min(row, rows - 1) : 0
}

/** `share` of the way from the lower end of a row to its upper one. */
const withinRow = (row: number, share: number): number => lowestMs * 2 ** ((row + share) / perOctave)

export function createTimeGrid(timeline: Timeline): TimeGrid {
  const grid = timeline.grid(rows)
  const maxima = timeline.maxima()
  let added = 0

  const total = (from: number, to: number, row: number): number => {
    let count = 0
    for (let column = from; column < to; column++) count += grid.at(column, row)
    return count
  }

  const percentile = (from: number, to: number, percent: number): number | null => {
    const counts = Array.from({ length: rows }, (_, row) => total(from, to, row))
    const count = counts.reduce((sum, each) => sum + each, 0)
    if (count < samplesNeeded(percent)) return null
    let left = Math.ceil((count * percent) / 100)
    const row = counts.findIndex(each => {
      left -= each
      return left <= 0
    })
    // The values of a row are taken to be spread evenly over it, or else a curve would go in steps.
    const above = (left - 0.5) / Math.max(1, counts[row] ?? 0)
    return threeDigits(Math.min(withinRow(row, 1 + above), slowest(from, to)))
  }

  const slowest = (from: number, to: number): number => {
    let max = 0
    for (let column = from; column < to; column++) max = Math.max(max, maxima.at(column))
    return max
  }

  /** So many columns taken together that most of them hold enough values for a median, or even for a p95. */
  const width = (): number => {
    const columns = Array.from({ length: timeline.columns() }, (_, column) => maxima.at(column) > 0)
    const used = columns.filter(Boolean).length
    const holding = (values: number) => Math.max(1, Math.ceil((values * used) / Math.max(1, added)))
    const leaving = (points: number) => Math.max(1, Math.floor(columns.length / points))
    return Math.max(
      Math.min(holding(enoughForMedian), leaving(fewestPoints)),
      Math.min(holding(enoughForP95), leaving(manyPoints)),
    )
  }

  return {
    add: (column, ms) => {
      if (!Number.isFinite(ms)) return
      added++
      grid.add(column, rowOf(ms))
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
        max: each((from, to) => (slowest(from, to) > 0 ? threeDigits(slowest(from, to)) : null)),
      }
    },
    distribution: () => trimmed(Array.from({ length: rows }, (_, row) => total(0, timeline.columns(), row))),
    countAt: grid.at,
    facts: () => ({ added, counts: grid.facts(), maxima: maxima.facts() }),
    absorb: (facts, columnOf) => {
      added += facts.added
      grid.absorb(facts.counts, columnOf)
      maxima.absorb(facts.maxima, columnOf)
    },
  }
}

/** Without the empty rows below and above. */
function trimmed(counts: readonly number[]): Distribution {
  const first = Math.max(
    0,
    counts.findIndex(count => count > 0),
  )
  const last = counts.findLastIndex(count => count > 0)
  return {
    fromMs: threeDigits(lowestMs * 2 ** (first / perOctave)),
    perOctave,
    counts: counts.slice(first, last + 1),
  }
}

export const threeDigits = (value: number): number => Number(value.toPrecision(3))
