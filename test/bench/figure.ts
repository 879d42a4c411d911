/** One number that a bench found, beside what it is to be. */
export type Figure = {
  readonly name: string
  readonly value: number
  /** Such as `ms` or `MB`; `''` for a ratio. */
  readonly unit: string
  readonly aim: { readonly kind: 'at-most' | 'at-least'; readonly bound: number } | null
}

export type Pace = {
  /** A tenth of the time: whether it works and roughly where it stands, nothing to quote. */
  readonly short: boolean
}

/** Measures one property of the instrument. What it sees on the way it prints; what is to be kept it returns. */
export type Bench = (pace: Pace) => Promise<readonly Figure[]>

export const meets = ({ value, aim }: Figure): boolean =>
  aim === null || (aim.kind === 'at-most' ? value <= aim.bound : value >= aim.bound)

/** One line a figure; a value that misses its aim is marked. */
export function showFigures(figures: readonly Figure[]): string {
  const width = Math.max(...figures.map(({ name }) => name.length))
  return figures
    .map(figure => {
      const { name, value, unit, aim } = figure
      const bound = aim === null ? '' : `${aim.kind === 'at-most' ? '≤' : '≥'} ${aim.bound}`
      return `  ${name.padEnd(width)}  ${`${value.toPrecision(3)} ${unit}`.padEnd(12)} ${bound}${meets(figure) ? '' : '  MISSED'}`
    })
    .join('\n')
}
