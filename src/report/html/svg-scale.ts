import { formatDuration } from '../../lib/format.ts'

const secondSteps = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 7_200, 14_400, 28_800, 86_400]
const mostTimeTicks = 6

/** Where time is marked on an axis that ends at `endMs`. */
export function timeTicks(endMs: number): readonly number[] {
  const step =
    1_000 * (secondSteps.find(seconds => endMs / (1_000 * seconds) <= mostTimeTicks) ?? Math.ceil(endMs / 6_000))
  return Array.from({ length: Math.floor(endMs / step) + 1 }, (_, tick) => tick * step)
}

/** `0`, `20 s`, `1m40s`. */
export const timeLabel = (ms: number): string => (ms === 0 ? '0' : formatDuration(ms))

/** Round values from 0 to at least `most`. */
export function valueTicks(most: number): readonly number[] {
  if (!(most > 0)) return [0, 1]
  const rough = most / 4
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = ([1, 2, 2.5, 5].find(factor => factor * power >= rough) ?? 10) * power
  return Array.from({ length: Math.ceil(most / step - 1e-9) + 1 }, (_, tick) => tick * step)
}

const logSteps = [[1], [1, 2, 5], [1, 2, 3, 4, 5, 6, 7, 8, 9]]
const fewestLogTicks = 2

/** Round values in milliseconds, from `fromMs` to `toMs`: powers of ten, and what is between them where they are too few. */
export function logTicks(fromMs: number, toMs: number): readonly number[] {
  const power = (ms: number) => Math.floor(Math.log10(ms) + 1e-9)
  const powers = Array.from({ length: power(toMs) - power(fromMs) + 1 }, (_, index) => 10 ** (power(fromMs) + index))
  const choices = logSteps.map(steps =>
    powers
      .flatMap(unit => steps.map(step => step * unit))
      .filter(tick => tick >= fromMs * (1 - 1e-9) && tick <= toMs * (1 + 1e-9)),
  )
  return choices.find(ticks => ticks.length >= fewestLogTicks) ?? choices.at(-1) ?? []
}

/** A share of the width, for attributes of SVG. */
export const percent = (share: number): string => `${Number((share * 100).toFixed(3))}%`

export const pixels = (value: number): string => String(Number(value.toFixed(2)))
