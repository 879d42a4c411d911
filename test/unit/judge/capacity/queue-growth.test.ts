import { describe, expect, test } from 'vitest'
import { queueRangeOf, queueTrendOf } from '../../../../src/judge/capacity/queue-growth.ts'
import type { TimedRequest } from '../../../../src/judge/capacity/request-sample.ts'
import { randomStream } from '../../../../src/lib/random.ts'

/** One arrival every `gapMs`; `tookMs` gives its latency. */
const passing = (count: number, gapMs: number, tookMs: (dueMs: number, index: number) => number): TimedRequest[] =>
  Array.from({ length: count }, (_, index) => {
    const dueMs = index * gapMs
    return { dueMs, sentMs: dueMs, endMs: dueMs + tookMs(dueMs, index), stallMs: 0 }
  })

const growthOf = (requests: readonly TimedRequest[]) => {
  const range = queueRangeOf(requests, 1, 2_990)
  return [range?.least, range?.measured, range?.most].map(trend => Math.round(trend?.inFlightPerSecond ?? -1))
}

/** 100 arrivals and 80 completions per second, so each request waits a quarter of the elapsed time. */
const piling = passing(300, 10, dueMs => 20 + dueMs / 4)

describe('the growth of a queue', () => {
  test('is the excess of arrivals over completions, and the growth of the latency', () => {
    const growth = queueTrendOf(piling, 1, 2_990)
    expect(growth?.inFlightPerSecond).toBeCloseTo(20, 0)
    expect(growth?.latencyMsPerSecond).toBeCloseTo(250, 0)
    expect(growth?.onceIn).toBe(1_000)
    expect(growth?.isRising).toBe(true)
  })

  test('is zero if the latency is constant, however long', () => {
    const growth = queueTrendOf(
      passing(300, 10, () => 800),
      1,
      2_990,
    )
    expect(growth?.inFlightPerSecond).toBeCloseTo(0, 6)
    expect(growth?.latencyMsPerSecond).toBe(0)
    expect(growth?.isRising).toBe(false)
  })

  test('is scaled up if only a sample of the requests is known', () => {
    const half = piling.filter((_, index) => index % 2 === 0)
    expect(queueTrendOf(half, 2, 2_980)?.inFlightPerSecond).toBeCloseTo(20, -0.5)
  })

  test('is evaluated only up to the given instant', () => {
    // The queue grows only in the second half.
    const late = passing(300, 10, dueMs => 20 + Math.max(0, dueMs - 1_500) / 4)
    expect(queueTrendOf(late, 1, 1_490)?.inFlightPerSecond).toBeCloseTo(0, 6)
    expect(queueTrendOf(late, 1, 2_990)?.latencyMsPerSecond).toBeGreaterThan(50)
  })

  test('has no value for a few requests', () => {
    expect(queueTrendOf(piling.slice(0, 12), 1, 110)).toBeNull()
    expect(queueTrendOf([], 1, 0)).toBeNull()
  })

  test('shows in a second of few requests', () => {
    // 28 arrivals and 20 completions per second.
    const growth = queueTrendOf(
      passing(28, 36, dueMs => 50 + dueMs * 0.4),
      1,
      27 * 36,
    )
    expect(growth?.inFlightPerSecond).toBeGreaterThan(5)
    expect(growth?.isRising).toBe(true)
  })

  test.each([300, 40])(
    'of %i requests is rarely significant if times only vary: in fewer than 10 of 500 trials',
    count => {
      const alarms = Array.from({ length: 500 }, (_, seed) => {
        const random = randomStream(seed, 'times')
        const growth = queueTrendOf(
          passing(count, 10, () => 30 * random.exponential()),
          1,
          count * 10 - 10,
        )
        return (growth?.onceIn ?? 1) > 1 ? 1 : 0
      })
      expect(alarms.reduce((sum: number, alarm) => sum + alarm, 0)).toBeLessThan(10)
    },
  )
})

describe('the range of the growth', () => {
  test('is a point if Turnpike was on time', () => {
    expect(growthOf(piling)).toEqual([20, 20, 20])
  })

  test('includes no growth if responses were read later and later', () => {
    const stalled = piling.map(each => ({ ...each, stallMs: each.endMs - each.dueMs - 20 }))
    expect(growthOf(stalled)).toEqual([0, 20, 20])
  })

  test('includes the growth that Turnpike hid by sending fewer requests than were due', () => {
    // The target responds within 20 ms to each request that it gets, and gets fewer and fewer of those due.
    const late = piling.map(each => ({ ...each, sentMs: each.endMs - 20 }))
    expect(growthOf(late)).toEqual([0, 0, 20])
  })

  test('excludes a still queue if the growth is larger than the errors', () => {
    const pause = piling.map(each => (each.dueMs > 1_000 && each.dueMs < 1_200 ? { ...each, stallMs: 100 } : each))
    expect(growthOf(pause)[0]).toBeGreaterThan(15)
  })
})
