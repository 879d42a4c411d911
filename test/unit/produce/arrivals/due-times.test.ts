import { describe, expect, test } from 'vitest'
import { randomStream } from '../../../../src/lib/random.ts'
import { arrivalsBetween } from '../../../../src/plan/rate-curve.ts'
import { type ClosedFormShape, dueTimes } from '../../../../src/produce/arrivals/due-times.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs

const timesOf = (shape: ClosedFormShape, durationMs: number, seed = 1): readonly number[] => [
  ...dueTimes(shape, durationMs, randomStream(seed, 'arrivals/test')),
]
const constant = (perSecond: number): ClosedFormShape => ({ kind: 'constant', perSecond })
const poisson = (perSecond: number): ClosedFormShape => ({ kind: 'poisson', perSecond })
const ramp = (fromPerSecond: number, toPerSecond: number): ClosedFormShape => ({
  kind: 'ramp',
  fromPerSecond,
  toPerSecond,
})

describe('a constant rate', () => {
  test('of 20 per minute has exactly one arrival every 3 s for an hour', () => {
    const times = timesOf(constant(20 / 60), hourMs)
    expect(times).toEqual(Array.from({ length: 1_200 }, (_, index) => index * 3_000))
  })

  test('of 8.3 per second has arrival k at k ∕ 8.3 s and does not drift', () => {
    const times = timesOf(constant(8.3), hourMs)
    expect(times).toHaveLength(29_880)
    expect(times[8_300]).toBeCloseTo(1_000_000, 6)
    expect(times.every((dueMs, index) => dueMs === (index * 1_000) / 8.3)).toBe(true)
  })

  test('of one per day has one arrival in an hour, at its start', () => {
    expect(timesOf(constant(1 / 86_400), hourMs)).toEqual([0])
  })

  test('of 0 has no arrivals', () => {
    expect(timesOf(constant(0), hourMs)).toEqual([])
  })

  test('has no arrival at its end, which belongs to the next stage', () => {
    expect(timesOf(constant(2), 1_000)).toEqual([0, 500])
    expect(timesOf(constant(2), 1_001)).toEqual([0, 500, 1_000])
  })

  test('has no extra arrival from rounding, at any ratio of any tier', () => {
    const wrong: string[] = []
    for (const perMinute of [1, 7, 18, 20, 50, 75, 90, 100, 150, 500])
      for (const share of [0.1, 0.5, 0.8, 0.9, 1, 1.1, 1.3])
        for (const callers of [1, 2, 3, 7, 16])
          for (const minutes of [1, 2, 5, 10]) {
            const planned = (perMinute * callers * minutes * (share * 10)) / 10
            const { length } = timesOf(constant((share * perMinute * callers) / 60), minutes * minuteMs)
            const exact = Math.ceil(Math.round(planned * 10) / 10)
            if (length !== exact) wrong.push(`${share} of ${perMinute}/min × ${callers} for ${minutes} min: ${length}`)
          }
    expect(wrong).toEqual([])
  })
})

describe('a ramp', () => {
  const ramps: readonly (readonly [from: number, to: number])[] = [
    [0, 10],
    [1, 50],
    [10, 0],
    [50, 1],
    [5, 5],
    [5, 5 + 1e-12],
    [0.01, 0.02],
    [0, 0.05],
    [100, 300],
  ]

  test.each(ramps)('from %d to %d per second has as many arrivals by any time as its integral', (from, to) => {
    const durationMs = 10 * minuteMs
    const stage = { name: 's', startMs: 0, durationMs, callers: 1, firstCaller: 0, beyondFailures: false }
    const load = { model: 'open', shape: ramp(from, to), mix: [] } as const
    const times = timesOf(ramp(from, to), durationMs)
    const off = (dueMs: number, index: number) => Math.abs(arrivalsBetween({ ...stage, load }, 0, dueMs) - index)
    expect(times.findIndex((dueMs, index) => !(off(dueMs, index) < 1e-6))).toBe(-1)
    const area = arrivalsBetween({ ...stage, load }, 0, durationMs)
    expect(times.length).toBeGreaterThanOrEqual(Math.floor(area))
    expect(times.length).toBeLessThanOrEqual(Math.ceil(area))
  })

  test.each(ramps)('from %d to %d has increasing times within its stage', (from, to) => {
    const times = timesOf(ramp(from, to), 10 * minuteMs)
    expect(times.every((dueMs, index) => dueMs >= (times[index - 1] ?? 0) && dueMs < 10 * minuteMs)).toBe(true)
  })

  test('from 0 to 2 per second has arrival k at √k s', () => {
    const times = timesOf(ramp(0, 2), 1_000 * 10).slice(0, 4)
    expect(times.map(dueMs => dueMs ** 2)).toEqual([0, 1, 2, 3].map(k => expect.closeTo(k * 10_000_000, 3)))
  })

  test('between equal rates is a constant rate', () => {
    expect(timesOf(ramp(4, 4), minuteMs)).toEqual(timesOf(constant(4), minuteMs))
  })

  test('from 0 to 0 has no arrivals', () => {
    expect(timesOf(ramp(0, 0), minuteMs)).toEqual([])
  })

  test('down is the reversed ramp up, to within one arrival', () => {
    const up = timesOf(ramp(1, 9), minuteMs).filter(dueMs => dueMs >= 30_000).length
    const down = timesOf(ramp(9, 1), minuteMs).filter(dueMs => dueMs < 30_000).length
    expect(Math.abs(up - down)).toBeLessThanOrEqual(1)
  })
})

describe('a poisson stage', () => {
  test('has the mean and the variance of its rate', () => {
    const counts = Array.from({ length: 400 }, (_, seed) => timesOf(poisson(2), minuteMs, seed).length)
    const mean = counts.reduce((sum, count) => sum + count, 0) / counts.length
    const variance = counts.reduce((sum, count) => sum + (count - mean) ** 2, 0) / counts.length
    // 400 counts of mean 120: the standard error of the mean is 0.55, of the variance 8.5. Three of each are allowed.
    expect(Math.abs(mean - 120)).toBeLessThan(1.7)
    expect(Math.abs(variance - 120)).toBeLessThan(26)
  })

  test('is the same for the same seed and differs for other seeds', () => {
    expect(timesOf(poisson(5), minuteMs, 7)).toEqual(timesOf(poisson(5), minuteMs, 7))
    expect(timesOf(poisson(5), minuteMs, 7)).not.toEqual(timesOf(poisson(5), minuteMs, 8))
  })

  test('at twice the rate has the same arrivals in half the time', () => {
    const slow = timesOf(poisson(2), minuteMs)
    const fast = timesOf(poisson(4), minuteMs / 2)
    expect(fast).toEqual(slow.map(dueMs => expect.closeTo(dueMs / 2, 6)))
  })

  test('of 0 has no arrivals', () => {
    expect(timesOf(poisson(0), hourMs)).toEqual([])
  })
})

describe('a burst', () => {
  test('has all arrivals at the start and at every period', () => {
    expect(timesOf({ kind: 'burst', size: 3, everyMs: 400 }, 1_000)).toEqual([0, 0, 0, 400, 400, 400, 800, 800, 800])
  })

  test('with a period as long as its stage occurs once', () => {
    expect(timesOf({ kind: 'burst', size: 2, everyMs: 1_000 }, 1_000)).toEqual([0, 0])
  })

  test('of size 0 has no arrivals', () => {
    expect(timesOf({ kind: 'burst', size: 0, everyMs: 100 }, 1_000)).toEqual([])
  })
})

test('a pause has no arrivals', () => {
  expect(timesOf({ kind: 'pause' }, hourMs)).toEqual([])
})

test('a stage without duration has no arrivals in any shape', () => {
  const shapes: readonly ClosedFormShape[] = [
    constant(5),
    ramp(1, 2),
    poisson(5),
    { kind: 'burst', size: 3, everyMs: 0 },
  ]
  expect(shapes.flatMap(shape => timesOf(shape, 0))).toEqual([])
})
