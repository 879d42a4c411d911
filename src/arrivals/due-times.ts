import type { Random } from '../lib/random.ts'
import type { Shape } from '../plan/plan.ts'
import { arrivalsIn, type RatePiece, ratePieces } from '../plan/rate-line.ts'
import type { Trial } from '../plan/search-terms.ts'

/** What is computed and not read. */
export type Computed = Exclude<Shape, { readonly kind: 'recorded' }>

/**
 * The instants, in milliseconds from the start of the stage and in order, at which a shape wants its arrivals. Each is
 * computed from its index, never from the one before it, so that nothing drifts; only poisson adds up its gaps.
 */
export function* dueTimes(shape: Computed, durationMs: number, random: Random): Iterable<number> {
  switch (shape.kind) {
    case 'constant':
    case 'ramp':
    case 'stairs':
    case 'spike':
      yield* alongLine(ratePieces(shape, durationMs) ?? [])
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

/** The instants of a trial, of which there is one for each of its arrivals. */
export function* trialTimes(
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
 * Arrival i is due when i arrivals have come by the line: where the area below it is i. An arrival on the edge of two
 * pieces is the first of the later one, and one at the end of the stage belongs to the next stage.
 */
function* alongLine(pieces: readonly RatePiece[]): Iterable<number> {
  let area = 0
  let index = 0
  for (const piece of pieces) {
    const before = settled(area)
    area += arrivalsIn(piece, piece.startMs, piece.endMs)
    const end = settled(area)
    for (; index < end; index++) yield Math.min(piece.endMs, piece.startMs + msUntil(piece, index - before))
  }
}

/**
 * An area that is a whole number but for the last digits of a double is that number: 0.9 a minute for an hour are 54
 * arrivals and not 55.
 */
function settled(area: number): number {
  const whole = Math.round(area)
  return Math.abs(area - whole) <= whole * 5e-12 ? whole : area
}

/**
 * Milliseconds from the start of a piece until so many arrivals have come. With a rate that goes from a to b in D these
 * are a·t + (b − a)·t² ∕ 2D by t. The root is written so that it stays exact when a and b are nearly the same.
 */
function msUntil({ startMs, endMs, fromPerSecond, toPerSecond }: RatePiece, arrivals: number): number {
  if (arrivals === 0) return 0
  if (fromPerSecond === toPerSecond) return (arrivals * 1000) / fromPerSecond
  const a = fromPerSecond / 1000
  const slope = (toPerSecond - fromPerSecond) / 1000 / (endMs - startMs)
  return (2 * arrivals) / (a + Math.sqrt(Math.max(0, a * a + 2 * slope * arrivals)))
}
