import { describe, expect, test } from 'vitest'
import { manualClock } from '../../../../src/prove/manual-clock.ts'
import { createRedisClock } from '../../../../src/run/queue/redis-clock.ts'

/** A Redis whose clock is `ahead` of that of this machine at first, and answers after these round trips in turn. */
function redisAt(ahead: () => number, roundTrips: readonly number[]) {
  const clock = manualClock()
  let calls = 0
  const time = async (): Promise<[number, number]> => {
    const half = (roundTrips[calls++ % roundTrips.length] ?? 0) / 2
    await clock.advanceTo(clock.nowMs() + half)
    const micros = Math.round((clock.nowMs() + ahead()) * 1_000)
    await clock.advanceTo(clock.nowMs() + half)
    return [Math.floor(micros / 1e6), micros % 1e6]
  }
  return { clock, redis: { time } as never }
}

describe('the shared clock', () => {
  test('is that of Redis, to half of the shortest round trip', async () => {
    const { clock, redis } = redisAt(() => 1_000_000, [40, 8, 60, 2, 30])
    const shared = createRedisClock(redis, clock)
    await shared.measure()
    expect(shared.nowMs() - (clock.nowMs() + 1_000_000)).toBeCloseTo(0, 2)
    expect(shared.skew().clockErrorMs).toBe(1)
  })

  test('does not jump when it is measured again, and says how far it has drifted', async () => {
    let ahead = 1_000_000
    const { clock, redis } = redisAt(() => ahead, [2])
    const shared = createRedisClock(redis, clock)
    await shared.measure()
    ahead += 7
    await shared.measure()
    expect(shared.nowMs() - clock.nowMs()).toBeCloseTo(1_000_000, 2)
    expect(shared.skew().clockDriftMs).toBeCloseTo(7, 2)
  })

  test('says the largest drift of the run, and nothing of what a slow answer may pretend', async () => {
    let ahead = 1_000_000
    const roundTrips = [2]
    const { clock, redis } = redisAt(() => ahead, roundTrips)
    const shared = createRedisClock(redis, clock)
    await shared.measure()
    for (const [drift, roundTrip] of [
      [9, 2],
      [3, 2],
      [20, 100],
    ] as const) {
      ahead = 1_000_000 + drift
      roundTrips[0] = roundTrip
      await shared.measure()
    }
    expect(shared.skew()).toMatchObject({ clockDriftMs: expect.closeTo(9, 2), clockErrorMs: 1 })
  })
})
