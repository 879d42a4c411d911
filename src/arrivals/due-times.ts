import type { Random } from '../lib/random.ts'
import type { Shape } from '../plan/plan.ts'

/**
 * The instants, in milliseconds from the start of the stage and in order, at which a shape wants its arrivals. Each is
 * computed from its index, never from the one before it, so that nothing drifts; only poisson adds up its gaps.
 */
export function* dueTimes(shape: Shape, durationMs: number, random: Random): Iterable<number> {
  switch (shape.kind) {
    case 'pause':
      return
    case 'constant': {
      const { perSecond } = shape
      yield* series((perSecond * durationMs) / 1000, index => (index * 1000) / perSecond)
      return
    }
    case 'ramp': {
      const { fromPerSecond, toPerSecond } = shape
      const area = ((fromPerSecond + toPerSecond) * durationMs) / 2000
      yield* series(area, rampInstant(fromPerSecond, toPerSecond, durationMs))
      return
    }
    case 'burst': {
      const { size, everyMs } = shape
      yield* series(size * Math.ceil(durationMs / everyMs), index => Math.floor(index / size) * everyMs)
      return
    }
    case 'poisson': {
      const instant = (sum: number) => (sum * 1000) / shape.perSecond
      for (let sum = random.exponential(); instant(sum) < durationMs; sum += random.exponential()) yield instant(sum)
    }
  }
}

/**
 * The instants of the arrivals 0, 1, 2, … that are below `area`: so many have come by the end of the stage. It is
 * rounded first, because 0.9 a minute for an hour are 54 arrivals and not, by the last digit of a double, 55.
 */
function* series(area: number, instant: (index: number) => number): Iterable<number> {
  const end = Number(area.toPrecision(12))
  for (let index = 0; index < end; index++) yield instant(index)
}

/**
 * With a rate that goes from a to b in D, a·t + (b − a)·t² ∕ 2D arrivals have come by t. Arrival i is due where that
 * equals i. The root is written so that it stays exact when a and b are nearly the same.
 */
function rampInstant(fromPerSecond: number, toPerSecond: number, durationMs: number): (index: number) => number {
  const a = fromPerSecond / 1000
  const slope = (toPerSecond - fromPerSecond) / 1000 / durationMs
  return index => (index === 0 ? 0 : (2 * index) / (a + Math.sqrt(a * a + 2 * slope * index)))
}
