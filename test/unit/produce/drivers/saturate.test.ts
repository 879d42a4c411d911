import { describe, expect, test } from 'vitest'
import { driveSaturate } from '../../../../src/produce/drivers/closed.ts'
import { arrivalAt, soon, testContext } from './test-context.ts'

const schedule = () => {
  let id = 0
  return (dueMs: number) => arrivalAt(dueMs, id++)
}

/** Connections that are free again after 10 ms. */
const connections =
  (count: number, clock: ReturnType<typeof testContext>['clock']) => async (fireNext: () => boolean) => {
    const lane = async () => {
      while (fireNext()) await new Promise<void>(resolve => void clock.at(clock.nowMs() + 10, resolve))
    }
    await Promise.all(Array.from({ length: count }, lane))
  }

describe('a stage that saturates', () => {
  test('fires whenever a connection is free, with each call due when it is sent', async () => {
    const context = testContext(soon)
    const bounds = { maxCalls: 1_000, endMs: 100 }
    await context.clock.run(driveSaturate(context, schedule(), connections(4, context.clock), bounds))
    expect(context.fates.map(({ dueMs }) => dueMs)).toEqual(
      Array.from({ length: 40 }, (_, i) => Math.floor(i / 4) * 10),
    )
    expect(context.fates.every(({ dueMs, sentMs }) => dueMs === sentMs)).toBe(true)
  })

  test('is over after exactly the maximum number of calls', async () => {
    const context = testContext(soon)
    const bounds = { maxCalls: 10, endMs: 60_000 }
    await context.clock.run(driveSaturate(context, schedule(), connections(4, context.clock), bounds))
    expect([context.fates.length, context.clock.nowMs()]).toEqual([10, 30])
  })

  test('does not wait for a missing response, which stays in flight', async () => {
    const context = testContext(sentMs => sentMs + 30_000)
    const hanging = async (fireNext: () => boolean) => {
      fireNext()
      await new Promise(() => {})
    }
    await context.clock.run(driveSaturate(context, schedule(), hanging, { maxCalls: 9, endMs: 1_000 }))
    expect([context.clock.nowMs(), context.inFlight.count()]).toEqual([1_000, 1])
  })

  test('fires nothing after a stop', async () => {
    const context = testContext(soon)
    context.clock.at(35, context.stop)
    const bounds = { maxCalls: 1_000, endMs: 1_000 }
    await context.clock.run(driveSaturate(context, schedule(), connections(1, context.clock), bounds))
    expect(context.fates.map(({ sentMs }) => sentMs)).toEqual([0, 10, 20, 30])
  })
})
