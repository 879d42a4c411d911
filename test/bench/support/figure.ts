/** One number that a bench measured, with its target value. */
export type Figure = {
  readonly name: string
  readonly value: number
  /** For example `ms` or `MB`; `''` for a ratio. */
  readonly unit: string
  readonly aim: { readonly kind: 'at-most' | 'at-least'; readonly bound: number } | null
}

export type Pace = {
  /** A tenth of the time: shows that the bench works, but its numbers are rough. */
  readonly short: boolean
}

/** Measures one property of Turnpike. Prints details and returns the figures. */
export type Bench = (pace: Pace) => Promise<readonly Figure[]>

export const meets = ({ value, aim }: Figure): boolean =>
  aim === null || (aim.kind === 'at-most' ? value <= aim.bound : value >= aim.bound)

/** One line per figure. A value that misses its aim is marked. */
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
