import type { Random } from '../../lib/random.ts'
import type { Shape, Trial } from '../../plan/plan.ts'
import { arrivalsIn, type RateSegment, rateSegments } from '../../plan/rate-curve.ts'

/** Shapes whose due times follow from a formula. */
export type ClosedFormShape = Exclude<Shape, { readonly kind: 'recorded' }>

/**
 * The due times of a shape in order, in milliseconds from the start of the stage. Each is computed from its index and
 * not from the previous one, so errors do not accumulate. Only poisson sums its gaps.
 */
export function* dueTimes(shape: ClosedFormShape, durationMs: number, random: Random): Iterable<number> {
  switch (shape.kind) {
    case 'constant':
    case 'ramp':
    case 'stairs':
    case 'spike':
      yield* alongCurve(rateSegments(shape, durationMs) ?? [])
      return
    case 'burst': {
      const { size, everyMs } = shape
      const bursts = everyMs > 0 ? Math.ceil(durationMs / everyMs) : 0
      for (let index = 0; index < size * bursts; index++) yield Math.floor(index / size) * everyMs
      return
    }
    case 'poisson': {
      const instant = (sum: number) => (sum * 1000) / shape.perSecond
      for (let sum = random.exponential(); instant(sum) < durationMs; sum += random.exponential()) yield instant(sum)
      return
    }
    case 'pause':
  }
}

/** The due times of a trial, in milliseconds from its start: one for each of its arrivals. */
export function* trialDueTimes(
  { arrivals, perSecond }: Pick<Trial, 'arrivals' | 'perSecond'>,
  spacing: 'even' | 'poisson',
  random: Random,
): Iterable<number> {
  let gaps = 0
  for (let index = 0; index < arrivals; index++) {
    yield ((spacing === 'even' ? index : gaps) * 1000) / perSecond
    gaps += random.exponential()
  }
}

/**
 * Arrival i is due when the area below the rate curve reaches i. An arrival on the edge of two segments belongs to the
 * later one. An arrival at the end of the stage belongs to the next stage.
 */
function* alongCurve(segments: readonly RateSegment[]): Iterable<number> {
  let area = 0
  let index = 0
  for (const segment of segments) {
    const before = snapToInteger(area)
    area += arrivalsIn(segment, segment.startMs, segment.endMs)
    const end = snapToInteger(area)
    for (; index < end; index++) yield Math.min(segment.endMs, segment.startMs + msUntil(segment, index - before))
  }
}

/**
 * Rounds an area that differs from an integer only by floating-point error. A rate of 0.9 per minute gives 54 arrivals
 * in an hour, not 55.
 */
function snapToInteger(area: number): number {
  const integer = Math.round(area)
  return Math.abs(area - integer) <= integer * 5e-12 ? integer : area
}

/**
 * Milliseconds from the start of a segment until `arrivals` arrivals. If the rate goes from a to b within D, the number
 * of arrivals by t is a·t + (b − a)·t² ∕ 2D. This form of the root stays exact if a and b are nearly equal.
 */
function msUntil({ startMs, endMs, fromPerSecond, toPerSecond }: RateSegment, arrivals: number): number {
  if (arrivals === 0) return 0
  if (fromPerSecond === toPerSecond) return (arrivals * 1000) / fromPerSecond
  const a = fromPerSecond / 1000
  const slope = (toPerSecond - fromPerSecond) / 1000 / (endMs - startMs)
  return (2 * arrivals) / (a + Math.sqrt(Math.max(0, a * a + 2 * slope * arrivals)))
}
