import { duration } from '../../metrics/quantity.ts'

const secondSteps = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 7_200, 14_400, 28_800, 86_400]
const mostTimeTicks = 6

/** Where time is marked on an axis that ends at `endMs`. */
export function timeTicks(endMs: number): readonly number[] {
  const step =
    1_000 * (secondSteps.find(seconds => endMs / (1_000 * seconds) <= mostTimeTicks) ?? Math.ceil(endMs / 6_000))
  return Array.from({ length: Math.floor(endMs / step) + 1 }, (_, tick) => tick * step)
}

/** `0`, `20 s`, `1m40s`. */
export const timeLabel = (ms: number): string => (ms === 0 ? '0' : duration(ms))

/** Round values from 0 to at least `most`. */
export function valueTicks(most: number): readonly number[] {
  if (!(most > 0)) return [0, 1]
  const rough = most / 4
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = ([1, 2, 2.5, 5].find(factor => factor * power >= rough) ?? 10) * power
  return Array.from({ length: Math.ceil(most / step - 1e-9) + 1 }, (_, tick) => tick * step)
}

/** Powers of ten in milliseconds, from `fromMs` to `toMs`. */
export function decadeTicks(fromMs: number, toMs: number): readonly number[] {
  const first = Math.ceil(Math.log10(fromMs) - 1e-9)
  const last = Math.floor(Math.log10(toMs) + 1e-9)
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, tick) => 10 ** (first + tick))
}

/** A share of the width, for attributes of SVG. */
export const percent = (share: number): string => `${Number((share * 100).toFixed(3))}%`

export const pixels = (value: number): string => String(Number(value.toFixed(2)))
