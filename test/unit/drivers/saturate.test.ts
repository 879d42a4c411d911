import { describe, expect, test } from 'vitest'
import { driveSaturate } from '../../../src/drivers/saturate.ts'
import { arrivalAt, soon, testCab } from './cab.ts'

const schedule = () => {
  let seq = 0
  return (dueMs: number) => arrivalAt(dueMs, seq++)
}

/** So many connections, each of which is free again after 10 ms. */
const connections = (count: number, clock: ReturnType<typeof testCab>['clock']) => async (fireNext: () => boolean) => {
  const lane = async () => {
    while (fireNext()) await new Promise<void>(resolve => void clock.at(clock.nowMs() + 10, resolve))
  }
  await Promise.all(Array.from({ length: count }, lane))
}

describe('a stage that saturates', () => {
  test('fires whenever a connection is free, each call due when it is sent', async () => {
    const cab = testCab(soon)
    const most = { maxCalls: 1_000, endMs: 100 }
    await cab.clock.run(driveSaturate(cab, schedule(), cab.inFlight, connections(4, cab.clock), most))
    expect(cab.fates.map(({ dueMs }) => dueMs)).toEqual(Array.from({ length: 40 }, (_, i) => Math.floor(i / 4) * 10))
    expect(cab.fates.every(({ dueMs, sentMs }) => dueMs === sentMs)).toBe(true)
  })

  test('is over when its calls are used up, to the call', async () => {
    const cab = testCab(soon)
    const most = { maxCalls: 10, endMs: 60_000 }
    await cab.clock.run(driveSaturate(cab, schedule(), cab.inFlight, connections(4, cab.clock), most))
    expect([cab.fates.length, cab.clock.nowMs()]).toEqual([10, 30])
  })

  test('is not put off by an answer that does not come: it stays in flight', async () => {
    const cab = testCab(sentMs => sentMs + 30_000)
    const hanging = async (fireNext: () => boolean) => {
      fireNext()
      await new Promise(() => {})
    }
    await cab.clock.run(driveSaturate(cab, schedule(), cab.inFlight, hanging, { maxCalls: 9, endMs: 1_000 }))
    expect([cab.clock.nowMs(), cab.inFlight.count()]).toEqual([1_000, 1])
  })

  test('fires nothing more once the run is stopped', async () => {
    const cab = testCab(soon)
    cab.clock.at(35, cab.stop)
    const most = { maxCalls: 1_000, endMs: 1_000 }
    await cab.clock.run(driveSaturate(cab, schedule(), cab.inFlight, connections(1, cab.clock), most))
    expect(cab.fates.map(({ sentMs }) => sentMs)).toEqual([0, 10, 20, 30])
  })
})
