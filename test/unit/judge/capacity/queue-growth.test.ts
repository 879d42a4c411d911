import { describe, expect, test } from 'vitest'
import { queueTrendOf, type TimedRequest } from '../../../../src/judge/capacity/queue-growth.ts'
import { randomStream } from '../../../../src/lib/random.ts'

/** One arrival every `gapMs`, each of which takes as long as `tookMs` says. */
const passing = (count: number, gapMs: number, tookMs: (dueMs: number, index: number) => number): TimedRequest[] =>
  Array.from({ length: count }, (_, index) => {
    const dueMs = index * gapMs
    return { dueMs, sentMs: dueMs, endMs: dueMs + tookMs(dueMs, index) }
  })

/** 100 come each second and 80 go, so that each waits a quarter of the time that has gone by. */
const piling = passing(300, 10, dueMs => 20 + dueMs / 4)

describe('the growth of a queue', () => {
  test('is what comes in excess of what goes, with the time by which that takes longer', () => {
    const growth = queueTrendOf(piling, 1, 2_990)
    expect(growth?.inFlightPerSecond).toBeCloseTo(20, 0)
    expect(growth?.latencyMsPerSecond).toBeCloseTo(250, 0)
    expect(growth?.deviations).toBeGreaterThan(10)
    expect(growth?.isRising).toBe(true)
  })

  test('is none where requests take their time, however long that is', () => {
    const growth = queueTrendOf(
      passing(300, 10, () => 800),
      1,
      2_990,
    )
    expect(growth?.inFlightPerSecond).toBeCloseTo(0, 6)
    expect(growth?.latencyMsPerSecond).toBe(0)
    expect(growth?.isRising).toBe(false)
  })

  test('is that of all requests where one in so many is known', () => {
    const half = piling.filter((_, index) => index % 2 === 0)
    expect(queueTrendOf(half, 2, 2_980)?.inFlightPerSecond).toBeCloseTo(20, -0.5)
  })

  test('is looked for only as far as all is known', () => {
    // The queue grows in the second half alone.
    const late = passing(300, 10, dueMs => 20 + Math.max(0, dueMs - 1_500) / 4)
    expect(queueTrendOf(late, 1, 1_490)?.inFlightPerSecond).toBeCloseTo(0, 6)
    expect(queueTrendOf(late, 1, 2_990)?.latencyMsPerSecond).toBeGreaterThan(50)
  })

  test('is not told from a handful of requests', () => {
    expect(queueTrendOf(piling.slice(0, 25), 1, 240)).toBeNull()
    expect(queueTrendOf([], 1, 0)).toBeNull()
  })

  test('is no steady one where times only vary: in 500 trials it seems so as rarely as it may', () => {
    const alarms = Array.from({ length: 500 }, (_, seed) => {
      const random = randomStream(seed, 'times')
      const growth = queueTrendOf(
        passing(300, 10, () => 100 * random.exponential()),
        1,
        2_990,
      )
      return (growth?.deviations ?? 0) > 2.9 ? 1 : 0
    })
    expect(alarms.reduce((sum: number, alarm) => sum + alarm, 0)).toBeLessThan(10)
  })
})
