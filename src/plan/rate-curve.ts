import { type Load, meanOf, mixOf, type Plan, type Shape, type StagePlan, traitsOf } from './plan.ts'
import { unpackArrivals } from './recorded-load.ts'

/** A part of a stage in which the rate changes linearly. Times count from the start of the stage. */
export type RateSegment = {
  readonly startMs: number
  readonly endMs: number
  readonly fromPerSecond: number
  readonly toPerSecond: number
}

/**
 * The rate of a shape over its stage, as segments without a gap; for poisson the mean. Null if a shape has no rate, since
 * its arrivals come at given instants.
 */
export function rateSegments(shape: Shape, durationMs: number): readonly RateSegment[] | null {
  const level = (startMs: number, endMs: number, perSecond: number): RateSegment => ({
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
      // Each level and the ramp after it take an equal part of the stage plus one more ramp after the last level.
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

/** The first and the last level are exactly the rates of the scenario, without rounding. */
function levelPerSecond({ fromPerSecond, toPerSecond, steps }: Stairs, step: number): number {
  if (step === steps - 1) return toPerSecond
  return fromPerSecond + ((toPerSecond - fromPerSecond) * step) / (steps - 1)
}

/** Arrivals of the segment in [fromMs, toMs). */
export function arrivalsIn(segment: RateSegment, fromMs: number, toMs: number): number {
  const from = Math.max(segment.startMs, fromMs)
  const to = Math.min(segment.endMs, toMs)
  return to <= from ? 0 : ((rateAt(segment, from) + rateAt(segment, to)) * (to - from)) / 2_000
}

/** Arrivals per second at an instant within the segment. */
export function rateAt({ startMs, endMs, fromPerSecond, toPerSecond }: RateSegment, atMs: number): number {
  if (fromPerSecond === toPerSecond) return fromPerSecond
  return fromPerSecond + ((toPerSecond - fromPerSecond) * (atMs - startMs)) / (endMs - startMs)
}

/** Forecasts assume that a closed user without think time calls every 10 ms, since no network response is faster. */
const minResponseMs = 10

/** The time at least from one arrival of a user to the next. */
const pauseOf = ({ thinkMs, withinMs = 0 }: Extract<Load, { readonly model: 'closed' }>): number =>
  Math.max(thinkMs + withinMs, minResponseMs)

/**
 * Expected arrivals of all callers in [fromMs, toMs), counted from the start of the stage. Exact for bursts, sequences,
 * recordings and constant rates, ramps, stairs and spikes; the mean for poisson. For closed, saturate and capacity stages
 * it is the maximum, since the responses set their pace.
 */
export function arrivalsBetween(stage: StagePlan, fromMs: number, toMs: number): number {
  const from = Math.min(Math.max(0, fromMs), stage.durationMs)
  const to = Math.min(Math.max(from, toMs), stage.durationMs)
  const { load } = stage
  if (load.model === 'sequence') return from === 0 && to > 0 ? load.calls.length * stage.callers : 0
  if (load.model === 'closed') return (load.users * (to - from)) / pauseOf(load)
  // All of them may arrive within any minute of the stage.
  if (load.model === 'saturate') return to > from ? load.maxCalls : 0
  if (load.model === 'capacity') return (load.search.toPerSecond * (to - from)) / 1_000
  const { shape } = load
  if (shape.kind === 'recorded') return countRecorded(shape, from, to)
  if (shape.kind === 'burst') return shape.size * (Math.ceil(to / shape.everyMs) - Math.ceil(from / shape.everyMs))
  return (rateSegments(shape, stage.durationMs) ?? []).reduce((sum, segment) => sum + arrivalsIn(segment, from, to), 0)
}

function countRecorded(shape: Extract<Shape, { readonly kind: 'recorded' }>, fromMs: number, toMs: number): number {
  let count = 0
  for (const { offsetMs } of unpackArrivals(shape)) if (offsetMs >= fromMs && offsetMs < toMs) count++
  return count
}

/** The highest rate of a stage, of all callers together; null if the stage has no rate. */
export function peakPerSecond({ load, durationMs }: StagePlan): number | null {
  if (load.model === 'sequence' || load.model === 'saturate') return null
  if (load.model === 'closed') return (load.users * 1_000) / pauseOf(load)
  if (load.model === 'capacity') return load.search.toPerSecond
  const segments = rateSegments(load.shape, durationMs)
  if (segments === null) return null
  return Math.max(...segments.flatMap(({ fromPerSecond, toPerSecond }) => [fromPerSecond, toPerSecond]))
}

/** The mean number of requests that one arrival of the stage sends. */
export const requestsPerArrivalIn = (stage: StagePlan, calls: Plan['calls']): number =>
  meanOf(mixOf(stage), name => {
    const call = calls[name]
    return call === undefined ? 1 : traitsOf(call).requests
  })
