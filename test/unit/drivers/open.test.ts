import { describe, expect, test } from 'vitest'
import { driveOpen } from '../../../src/drivers/open.ts'
import type { Clock } from '../../../src/lib/clock.ts'
import { arrivalAt, every, soon, stalling, testCab } from './cab.ts'

const unlimited = 10_000

describe('the open model', () => {
  test('sees the whole of a stall: of 20 s at 100 a second through 5 s of silence, 400 to 500 calls are late from due', async () => {
    const cab = testCab(stalling(8_000, 13_000))
    await cab.clock.run(driveOpen(cab, every(10, 20_000), cab.inFlight, unlimited))
    await cab.clock.run(cab.inFlight.idle())
    const late = cab.fates.filter(({ dueMs, endMs }) => endMs !== null && endMs - dueMs > 1_000)
    expect(cab.fates).toHaveLength(2_000)
    expect(late.length).toBeGreaterThanOrEqual(400)
    expect(late.length).toBeLessThanOrEqual(500)
  })

  test('sends every arrival when it is due, whatever became of those before it', async () => {
    const cab = testCab(() => 1e9)
    await cab.clock.run(driveOpen(cab, every(7.3, 5_000), cab.inFlight, unlimited))
    expect(cab.fates.every(({ dueMs, sentMs }) => sentMs === dueMs)).toBe(true)
    expect(cab.inFlight.count()).toBe(685)
  })

  test('never sends early, and sends at once what is overdue', async () => {
    const cab = testCab(soon)
    await cab.clock.advanceTo(250)
    await cab.clock.run(driveOpen(cab, every(100, 500), cab.inFlight, unlimited))
    expect(cab.fates.map(({ sentMs }) => sentMs)).toEqual([250, 250, 250, 300, 400])
  })

  test('sends a burst all at once', async () => {
    const cab = testCab(soon)
    const burst = [0, 0, 0, 0, 500, 500, 500, 500].map(dueMs => arrivalAt(dueMs))
    await cab.clock.run(driveOpen(cab, burst, cab.inFlight, unlimited))
    expect(cab.fates.map(({ sentMs }) => sentMs)).toEqual([0, 0, 0, 0, 500, 500, 500, 500])
  })

  test('resolves when the last one was sent, and does not wait for answers', async () => {
    const cab = testCab(sentMs => sentMs + 60_000)
    await cab.clock.run(driveOpen(cab, every(100, 1_000), cab.inFlight, unlimited))
    expect([cab.clock.nowMs(), cab.inFlight.count()]).toEqual([900, 10])
  })
})

describe('at most so many in flight', () => {
  test('are sent; the others are dropped and counted, and never wait', async () => {
    const cab = testCab(stalling(1_000, 3_000))
    await cab.clock.run(driveOpen(cab, every(10, 4_000), cab.inFlight, 50))
    const dropped = cab.fates.filter(fate => fate.dropped === 'max-in-flight')
    // Of the 200 that are due in the stall the first 50 fill the house.
    expect(dropped.map(({ dueMs }) => dueMs)).toEqual(Array.from({ length: 150 }, (_, index) => 1_500 + index * 10))
    expect(cab.fates.filter(({ sentMs, dueMs }) => sentMs !== null && sentMs > dueMs)).toEqual([])
    expect(cab.fates).toHaveLength(400)
  })

  test('count those of the stages before as well', async () => {
    const cab = testCab(soon)
    cab.inFlight.track(new Promise(() => {}))
    await cab.clock.run(driveOpen(cab, [arrivalAt(0), arrivalAt(100)], cab.inFlight, 1))
    expect(cab.fates.map(({ dropped }) => dropped)).toEqual(['max-in-flight', 'max-in-flight'])
  })
})

describe('a stop', () => {
  test('ends the waiting for the next arrival at once, and nothing is sent after it', async () => {
    const cab = testCab(soon)
    const driven = driveOpen(cab, every(1_000, 60_000), cab.inFlight, unlimited)
    await cab.clock.advanceTo(2_500)
    cab.stop()
    await driven
    expect(cab.clock.nowMs()).toBe(2_500)
    expect(cab.fates.map(({ sentMs }) => sentMs)).toEqual([0, 1_000, 2_000])
  })

  test('before the start sends nothing', async () => {
    const cab = testCab(soon)
    cab.stop()
    await driveOpen(cab, every(10, 1_000), cab.inFlight, unlimited)
    expect(cab.fates).toEqual([])
  })

  test('leaves the schedule where it is: it is not drawn to its end', async () => {
    const cab = testCab(soon)
    let drawn = 0
    function* endless() {
      for (;;) yield arrivalAt(drawn++ * 10)
    }
    const driven = driveOpen(cab, endless(), cab.inFlight, unlimited)
    await cab.clock.advanceTo(100)
    cab.stop()
    await driven
    expect(drawn).toBe(12)
  })
})

test('a harness that is too slow for its schedule lets answers and signals have their turn every 5 ms', async () => {
  const cab = testCab(soon)
  let busyMs = 0
  let sentInTurn = 0
  const turns: number[] = []
  const clock: Clock = {
    ...cab.clock,
    nowMs: () => cab.clock.nowMs() + busyMs,
    atPrecisely: (dueMs, wake) => {
      turns.push(sentInTurn)
      sentInTurn = 0
      return cab.clock.atPrecisely(dueMs - busyMs, wake)
    },
  }
  // One is due every millisecond, and to send it keeps the only thread busy for three.
  const fire = async () => {
    busyMs += 3
    sentInTurn++
  }
  await cab.clock.run(driveOpen({ ...cab, clock, fire }, every(1, 1_000), cab.inFlight, unlimited))
  expect(turns).toEqual(Array(499).fill(2))
})
