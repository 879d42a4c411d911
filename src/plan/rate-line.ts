import type { Shape } from './plan.ts'

/** A stretch of a stage, from its start, in which the rate goes evenly from one value to another. */
export type RatePiece = {
  readonly startMs: number
  readonly endMs: number
  readonly fromPerSecond: number
  readonly toPerSecond: number
}

/**
 * The rate of a shape over its stage, piece by piece and without a gap; of poisson the mean. Null where arrivals come at
 * once and not at a rate.
 */
export function ratePieces(shape: Shape, durationMs: number): readonly RatePiece[] | null {
  const level = (startMs: number, endMs: number, perSecond: number): RatePiece => ({
    startMs,
    endMs,
    fromPerSecond: perSecond,
    toPerSecond: perSecond,
  })
  switch (shape.kind) {
    case 'constant':
    case 'poisson':
      return [level(0, durationMs, shape.perSecond)]
    case 'ramp': {
      const { fromPerSecond, toPerSecond } = shape
      return [{ startMs: 0, endMs: durationMs, fromPerSecond, toPerSecond }]
    }
    case 'stairs': {
      const { steps, rampMs } = shape
      // Each level and the ramp behind it take so much of what the stage would last with a ramp behind the last level.
      const startOf = (step: number) => (step * (durationMs + rampMs)) / steps
      const rateOf = (step: number) => levelPerSecond(shape, step)
      return Array.from({ length: steps }, (_, step) => {
        const endMs = step === steps - 1 ? durationMs : startOf(step + 1) - rampMs
        return [
          level(startOf(step), endMs, rateOf(step)),
          { startMs: endMs, endMs: startOf(step + 1), fromPerSecond: rateOf(step), toPerSecond: rateOf(step + 1) },
        ]
      })
        .flat()
        .slice(0, -1)
    }
    case 'spike': {
      const { basePerSecond, peakPerSecond, atMs, forMs, rampUpMs, rampDownMs } = shape
      const [upMs, downMs, overMs] = [atMs - rampUpMs, atMs + forMs, atMs + forMs + rampDownMs]
      return [
        level(0, upMs, basePerSecond),
        { startMs: upMs, endMs: atMs, fromPerSecond: basePerSecond, toPerSecond: peakPerSecond },
        level(atMs, downMs, peakPerSecond),
        { startMs: downMs, endMs: overMs, fromPerSecond: peakPerSecond, toPerSecond: basePerSecond },
        level(overMs, durationMs, basePerSecond),
      ]
    }
    case 'pause':
      return [level(0, durationMs, 0)]
    case 'burst':
    case 'recorded':
      return null
  }
}

type Stairs = Extract<Shape, { kind: 'stairs' }>

/** The first and the last level are as they were written, to the last digit. */
function levelPerSecond({ fromPerSecond, toPerSecond, steps }: Stairs, step: number): number {
  if (step === steps - 1) return toPerSecond
  return fromPerSecond + ((toPerSecond - fromPerSecond) * step) / (steps - 1)
}

/** Arrivals that come in [fromMs, toMs), as far as the piece reaches. */
export function arrivalsIn(piece: RatePiece, fromMs: number, toMs: number): number {
  const from = Math.max(piece.startMs, fromMs)
  const to = Math.min(piece.endMs, toMs)
  return to <= from ? 0 : ((rateAt(piece, from) + rateAt(piece, to)) * (to - from)) / 2_000
}

/** Arrivals a second at an instant within the piece. */
export function rateAt({ startMs, endMs, fromPerSecond, toPerSecond }: RatePiece, atMs: number): number {
  if (fromPerSecond === toPerSecond) return fromPerSecond
  return fromPerSecond + ((toPerSecond - fromPerSecond) * (atMs - startMs)) / (endMs - startMs)
}
