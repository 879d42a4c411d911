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
    case 'constant':
      yield* until(durationMs, index => (index * 1000) / shape.perSecond)
      return
    case 'ramp':
      yield* until(durationMs, rampInstant(shape.fromPerSecond, shape.toPerSecond, durationMs))
      return
    case 'burst':
      yield* until(durationMs, index => Math.floor(index / shape.size) * shape.everyMs)
      return
    case 'poisson': {
      let sum = random.exponential()
      yield* until(durationMs, () => {
        const dueMs = (sum * 1000) / shape.perSecond
        sum += random.exponential()
        return dueMs
      })
    }
  }
}

function* until(endMs: number, instant: (index: number) => number): Iterable<number> {
  for (let index = 0; ; index++) {
    const dueMs = instant(index)
    // The negation also ends a shape whose rate is zero: its instants are not numbers.
    if (!(dueMs < endMs)) return
    yield dueMs
  }
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
