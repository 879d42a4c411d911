import { describe, expect, test } from 'vitest'
import { type Random, randomStream } from '../../../../src/lib/random.ts'
import type { Shape } from '../../../../src/plan/plan.ts'
import { arrivalsBetween } from '../../../../src/plan/rate-curve.ts'
import { type ClosedFormShape, dueTimes } from '../../../../src/produce/arrivals/due-times.ts'
import { stageOf } from './plans.ts'

type Stairs = Extract<Shape, { kind: 'stairs' }>
type Spike = Extract<Shape, { kind: 'spike' }>

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs

const timesOf = (shape: ClosedFormShape, durationMs: number): readonly number[] => [
  ...dueTimes(shape, durationMs, randomStream(1, 'arrivals/test')),
]
const stairs = (fromPerSecond: number, toPerSecond: number, steps: number, rampMs = 0): Stairs => ({
  kind: 'stairs',
  fromPerSecond,
  toPerSecond,
  steps,
  rampMs,
})
const spike = (basePerSecond: number, peakPerSecond: number, more: Partial<Spike>): Spike => ({
  kind: 'spike',
  basePerSecond,
  peakPerSecond,
  atMs: 0,
  forMs: minuteMs,
  rampUpMs: 0,
  rampDownMs: 0,
  ...more,
})

/** Every `everyMs` within [fromMs, toMs). */
const every = (everyMs: number, fromMs: number, toMs: number): readonly number[] =>
  Array.from({ length: Math.ceil((toMs - fromMs) / everyMs) }, (_, index) => fromMs + index * everyMs)

describe('stairs', () => {
  test('from 20 to 40 per minute have one arrival every 3 s, 2 s, and then 1.5 s, exactly', () => {
    expect(timesOf(stairs(20 / 60, 40 / 60, 3), 3 * minuteMs)).toEqual([
      ...every(3_000, 0, minuteMs),
      ...every(2_000, minuteMs, 2 * minuteMs),
      ...every(1_500, 2 * minuteMs, 3 * minuteMs),
    ])
  })

  test('down to 0 have no arrivals on their last level', () => {
    expect(timesOf(stairs(2, 0, 3), 3_000)).toEqual([0, 500, 1_000])
  })

  test('up from 0 start with their second level', () => {
    expect(timesOf(stairs(0, 2, 2), 4_000)).toEqual([2_000, 2_500, 3_000, 3_500])
  })

  test('between equal rates are a constant rate', () => {
    const constant = timesOf({ kind: 'constant', perSecond: 8.3 }, 10 * minuteMs)
    const flat = timesOf(stairs(8.3, 8.3, 7, 1_000), 10 * minuteMs)
    expect(flat).toHaveLength(constant.length)
    expect(Math.max(...flat.map((dueMs, index) => Math.abs(dueMs - (constant[index] ?? 0))))).toBeLessThan(1e-6)
  })

  test('with ramps have levels of equal length', () => {
    // Levels of 10 s with 5 s between them: 10 + 5 + 10 + 5 + 10.
    const stage = stageOf(
      { model: 'open', shape: stairs(1, 3, 3, 5_000), mix: [] },
      { durationMs: 40_000, startMs: 7_000 },
    )
    const between = (fromMs: number, toMs: number) => arrivalsBetween(stage, fromMs, toMs)
    expect([between(0, 10_000), between(15_000, 25_000), between(30_000, 40_000)]).toEqual([10, 20, 30])
    expect([between(10_000, 15_000), between(25_000, 30_000)]).toEqual([7.5, 12.5])
  })

  test('over a day do not drift: arrival k of the second half is k ∕ 8.3 s after noon', () => {
    const times = timesOf(stairs(20 / 60, 8.3, 2), dayMs)
    const atNoon = 20 * 12 * 60
    expect(times).toHaveLength(atNoon + 358_560)
    expect(times.slice(0, atNoon).every((dueMs, index) => dueMs === index * 3_000)).toBe(true)
    const late = times.slice(atNoon).map((dueMs, k) => Math.abs(dueMs - (dayMs / 2 + (k * 1_000) / 8.3)))
    expect(Math.max(...late.filter((_, k) => k % 97 === 0))).toBe(0)
  })
})

describe('a spike', () => {
  test('has the full peak rate from its start for its whole duration', () => {
    expect(timesOf(spike(1, 4, { atMs: 3_000, forMs: 1_000 }), 6_000)).toEqual([
      ...[0, 1_000, 2_000],
      ...[3_000, 3_250, 3_500, 3_750],
      ...[4_000, 5_000],
    ])
  })

  test('on a rate of 0 has no arrivals before and after', () => {
    expect(timesOf(spike(0, 2, { atMs: 5_000, forMs: 1_000 }), minuteMs)).toEqual([5_000, 5_500])
  })

  test('that rises from 0 has its first arrival where the rate leaves 0', () => {
    const [first, second] = timesOf(spike(0, 2, { atMs: 5_000, forMs: 1_000, rampUpMs: 1_000 }), minuteMs)
    // 2·t²∕2 arrivals by t: the next one would be due at √1 s.
    expect([first, second]).toEqual([4_000, expect.closeTo(5_000, 6)])
  })

  test('may fill its stage', () => {
    expect(timesOf(spike(1, 2, { forMs: 2_000 }), 2_000)).toEqual([0, 500, 1_000, 1_500])
  })

  test('in the middle of a day shifts no later arrival, to the last digit', () => {
    const atMs = dayMs / 2
    const times = timesOf(spike(8.3, 83, { atMs, forMs: 10_000 }), dayMs)
    // 830 arrivals instead of 83.
    const before = 358_560
    expect(times).toHaveLength(2 * before + 747)
    const later = times.slice(before + 830)
    const closed = (k: number) => atMs + 10_000 + (k * 1_000) / 8.3
    expect(Math.max(...later.filter((_, k) => k % 89 === 0).map((dueMs, i) => Math.abs(dueMs - closed(i * 89))))).toBe(
      0,
    )
  })
})

describe('a shape with random numbers', () => {
  const random = randomStream(11, 'shapes')
  const rate = ({ next }: Random) => (next() < 0.15 ? 0 : 10 ** (next() * 3 - 2))
  const drawn = Array.from({ length: 60 }, () => {
    const durationMs = 1_000 + random.int(20 * minuteMs)
    const part = () => random.next() * 0.24 * durationMs
    const steps = 2 + random.int(9)
    const rampMs = random.next() < 0.3 ? 0 : (random.next() * 0.9 * durationMs) / (steps - 1)
    const rampUpMs = part()
    const shapes = [
      stairs(rate(random), rate(random), steps, rampMs),
      spike(rate(random), rate(random), { rampUpMs, atMs: rampUpMs + part(), forMs: part(), rampDownMs: part() }),
    ]
    return shapes.map(shape => ({ shape, durationMs }))
  }).flat()

  /** The mean rate: stairs are symmetric around their middle, and a ramp of a spike has half of its peak. */
  const integral = (shape: ClosedFormShape, durationMs: number): number => {
    if (shape.kind === 'stairs') return ((shape.fromPerSecond + shape.toPerSecond) * durationMs) / 2_000
    if (shape.kind !== 'spike') throw new Error(`no closed form of ${shape.kind}`)
    const { basePerSecond, peakPerSecond, forMs, rampUpMs, rampDownMs } = shape
    return (
      (basePerSecond * durationMs + (peakPerSecond - basePerSecond) * (forMs + (rampUpMs + rampDownMs) / 2)) / 1_000
    )
  }

  test.each(drawn)(
    '$shape.kind $shape has as many arrivals in $durationMs ms as its integral',
    ({ shape, durationMs }) => {
      const area = integral(shape, durationMs)
      expect(timesOf(shape, durationMs).length).toBe(Math.ceil(Number(area.toPrecision(11))))
      const stage = stageOf({ model: 'open', shape, mix: [] }, { durationMs })
      expect(arrivalsBetween(stage, 0, durationMs)).toBeCloseTo(area, 6)
    },
  )

  test.each(drawn)(
    '$shape.kind $shape has each arrival where its integral reaches the index',
    ({ shape, durationMs }) => {
      const stage = stageOf({ model: 'open', shape, mix: [] }, { durationMs })
      const times = timesOf(shape, durationMs)
      const off = times.map((dueMs, index) => Math.abs(arrivalsBetween(stage, 0, dueMs) - index))
      expect(Math.max(0, ...off)).toBeLessThan(1e-6)
      expect(times.every((dueMs, index) => dueMs >= (times[index - 1] ?? 0) && dueMs < durationMs)).toBe(true)
    },
  )
})
