import { describe, expect, test } from 'vitest'
import type { Clock } from '../../../../src/lib/clock.ts'
import { driveOpen } from '../../../../src/produce/drivers/open.ts'
import { arrivalAt, every, soon, stalling, testContext } from './test-context.ts'

const unlimited = 10_000

describe('the open model', () => {
  test('measures a stall in full: in 20 s at 100 per second with a stall of 5 s, 400 to 500 calls have a high latency', async () => {
    const context = testContext(stalling(8_000, 13_000))
    await context.clock.run(driveOpen(context, every(10, 20_000), unlimited))
    await context.clock.run(context.inFlight.idle())
    const late = context.fates.filter(({ dueMs, endMs }) => endMs !== null && endMs - dueMs > 1_000)
    expect(context.fates).toHaveLength(2_000)
    expect(late.length).toBeGreaterThanOrEqual(400)
    expect(late.length).toBeLessThanOrEqual(500)
  })

  test('sends every arrival when it is due, independent of earlier responses', async () => {
    const context = testContext(() => 1e9)
    await context.clock.run(driveOpen(context, every(7.3, 5_000), unlimited))
    expect(context.fates.every(({ dueMs, sentMs }) => sentMs === dueMs)).toBe(true)
    expect(context.inFlight.count()).toBe(685)
  })

  test('never sends early, and sends overdue arrivals immediately', async () => {
    const context = testContext(soon)
    await context.clock.advanceTo(250)
    await context.clock.run(driveOpen(context, every(100, 500), unlimited))
    expect(context.fates.map(({ sentMs }) => sentMs)).toEqual([250, 250, 250, 300, 400])
  })

  test('sends all arrivals of a burst immediately', async () => {
    const context = testContext(soon)
    const burst = [0, 0, 0, 0, 500, 500, 500, 500].map(dueMs => arrivalAt(dueMs))
    await context.clock.run(driveOpen(context, burst, unlimited))
    expect(context.fates.map(({ sentMs }) => sentMs)).toEqual([0, 0, 0, 0, 500, 500, 500, 500])
  })

  test('resolves when the last arrival is sent, without waiting for responses', async () => {
    const context = testContext(sentMs => sentMs + 60_000)
    await context.clock.run(driveOpen(context, every(100, 1_000), unlimited))
    expect([context.clock.nowMs(), context.inFlight.count()]).toEqual([900, 10])
  })
})

describe('the maximum in flight', () => {
  test('is sent; other arrivals are dropped and counted, and never wait', async () => {
    const context = testContext(stalling(1_000, 3_000))
    await context.clock.run(driveOpen(context, every(10, 4_000), 50))
    const dropped = context.fates.filter(fate => fate.dropped === 'max-in-flight')
    // Of the 200 arrivals that are due in the stall, the first 50 fill the limit.
    expect(dropped.map(({ dueMs }) => dueMs)).toEqual(Array.from({ length: 150 }, (_, index) => 1_500 + index * 10))
    expect(context.fates.filter(({ sentMs, dueMs }) => sentMs !== null && sentMs > dueMs)).toEqual([])
    expect(context.fates).toHaveLength(400)
  })

  test('includes arrivals of earlier stages', async () => {
    const context = testContext(soon)
    context.inFlight.track(new Promise(() => {}))
    await context.clock.run(driveOpen(context, [arrivalAt(0), arrivalAt(100)], 1))
    expect(context.fates.map(({ dropped }) => dropped)).toEqual(['max-in-flight', 'max-in-flight'])
  })
})

describe('a stop', () => {
  test('ends the wait for the next arrival immediately, and nothing is sent after it', async () => {
    const context = testContext(soon)
    const driven = driveOpen(context, every(1_000, 60_000), unlimited)
    await context.clock.advanceTo(2_500)
    context.stop()
    await driven
    expect(context.clock.nowMs()).toBe(2_500)
    expect(context.fates.map(({ sentMs }) => sentMs)).toEqual([0, 1_000, 2_000])
  })

  test('before the start sends nothing', async () => {
    const context = testContext(soon)
    context.stop()
    await driveOpen(context, every(10, 1_000), unlimited)
    expect(context.fates).toEqual([])
  })

  test('stops reading the schedule', async () => {
    const context = testContext(soon)
    let drawn = 0
    function* endless() {
      for (;;) yield arrivalAt(drawn++ * 10)
    }
    const driven = driveOpen(context, endless(), unlimited)
    await context.clock.advanceTo(100)
    context.stop()
    await driven
    expect(drawn).toBe(12)
  })
})

test('a harness that is too slow for its schedule yields to the event loop every 5 ms', async () => {
  const context = testContext(soon)
  let busyMs = 0
  let sentInTurn = 0
  const turns: number[] = []
  const clock: Clock = {
    ...context.clock,
    nowMs: () => context.clock.nowMs() + busyMs,
    atPrecisely: (dueMs, wake) => {
      turns.push(sentInTurn)
      sentInTurn = 0
      return context.clock.atPrecisely(dueMs - busyMs, wake)
    },
  }
  // One is due every millisecond, and sending it keeps the only thread busy for three.
  const fire = async () => {
    busyMs += 3
    sentInTurn++
    return true
  }
  await context.clock.run(driveOpen({ ...context, clock, fire }, every(1, 1_000), unlimited))
  expect(turns).toEqual(Array(499).fill(2))
})
