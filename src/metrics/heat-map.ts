import { lowestMs, perOctave, rows, type TimeGrid, threeDigits } from './time-grid.ts'

/** Row *i* of a column counts what took at least `fromMs × 2^(i / perOctave)`, and less than the next row. */
export type HeatMap = {
  readonly stepMs: number
  readonly fromMs: number
  readonly perOctave: number
  readonly counts: readonly (readonly number[])[]
}

const mostHeatColumns = 120
const rowsOfHeat = 2

/** Wide columns and high rows, so that there is something in each. */
export function heatOf(grids: readonly TimeGrid[], columns: number, stepMs: number): HeatMap {
  const across = Math.max(1, Math.ceil(columns / mostHeatColumns))
  const counts = Array.from({ length: Math.ceil(columns / across) }, (_, wide) =>
    Array.from({ length: rows / rowsOfHeat }, (_, high) => {
      let count = 0
      for (const grid of grids)
        for (let column = wide * across; column < Math.min(columns, (wide + 1) * across); column++)
          for (let row = high * rowsOfHeat; row < (high + 1) * rowsOfHeat; row++) count += grid.countAt(column, row)
      return count
    }),
  )
  const used = Array.from({ length: rows / rowsOfHeat }, (_, row) => counts.some(column => (column[row] ?? 0) > 0))
  const first = Math.max(0, used.indexOf(true))
  return {
    stepMs: stepMs * across,
    fromMs: threeDigits(lowestMs * 2 ** ((first * rowsOfHeat) / perOctave)),
    perOctave: perOctave / rowsOfHeat,
    counts: counts.map(column => column.slice(first, used.lastIndexOf(true) + 1)),
  }
}
