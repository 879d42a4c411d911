import { describe, expect, test } from 'vitest'
import type { Arrival } from '../../../../src/produce/arrivals/arrivals.ts'
import { driveClosed } from '../../../../src/produce/drivers/closed.ts'
import { arrivalAt, soon, stalling, testContext } from './test-context.ts'

/** Arrivals on request. */
function schedule(): (dueMs: number) => Arrival {
  let id = 0
  return dueMs => arrivalAt(dueMs, id++)
}

describe('the closed model', () => {
  test('hides a stall: in 20 s with a stall of 5 s, one user has one late call', async () => {
    const context = testContext(stalling(8_000, 13_000))
    await context.clock.run(driveClosed(context, schedule(), { users: 1, thinkMs: 0, endMs: 20_000 }))
    const late = context.fates.filter(({ dueMs, endMs }) => endMs !== null && endMs - dueMs > 1_000)
    expect(late).toHaveLength(1)
    expect(context.fates).toHaveLength(1_501)
  })

  test('has exactly as many calls in flight as users', async () => {
    const context = testContext(soon)
    await context.clock.run(driveClosed(context, schedule(), { users: 7, thinkMs: 0, endMs: 100 }))
    expect(context.fates.map(({ sentMs }) => sentMs)).toEqual(
      Array.from({ length: 70 }, (_, index) => Math.floor(index / 7) * 10),
    )
  })

  test('has each user think between a response and the next call', async () => {
    const context = testContext(soon)
    await context.clock.run(driveClosed(context, schedule(), { users: 1, thinkMs: 90, endMs: 500 }))
    expect(context.fates.map(({ sentMs }) => sentMs)).toEqual([0, 100, 200, 300, 400])
  })

  test('has every call due when it is sent', async () => {
    const context = testContext(sentMs => sentMs + 13.7)
    await context.clock.run(driveClosed(context, schedule(), { users: 3, thinkMs: 5, endMs: 1_000 }))
    expect(context.fates.every(({ dueMs, sentMs }) => dueMs === sentMs)).toBe(true)
  })
})

test('a user who is free sends the next call before the last one is observed, and only one', async () => {
  const context = testContext(soon)
  const fire: typeof context.fire = (arrival, onFree) => {
    // Free after 4 ms; observed 6 ms later.
    context.clock.at(context.clock.nowMs() + 4, () => onFree?.())
    return context.fire(arrival)
  }
  await context.clock.run(driveClosed({ ...context, fire }, schedule(), { users: 1, thinkMs: 0, endMs: 20 }))
  expect(context.fates.map(({ sentMs }) => sentMs)).toEqual([0, 4, 8, 12, 16])
})

describe('the end of a closed stage', () => {
  test('sends nothing more, and does not wait for thinking users', async () => {
    const context = testContext(soon)
    await context.clock.run(driveClosed(context, schedule(), { users: 2, thinkMs: 60_000, endMs: 1_000 }))
    // No timer is left that keeps the process running.
    await expect(context.clock.run(new Promise(() => {}))).rejects.toThrow('no timer')
    expect([context.clock.nowMs(), context.fates.length]).toEqual([1_000, 2])
  })

  test('does not wait for a missing response, which stays in flight', async () => {
    const context = testContext(sentMs => sentMs + 30_000)
    await context.clock.run(driveClosed(context, schedule(), { users: 2, thinkMs: 0, endMs: 1_000 }))
    expect([context.clock.nowMs(), context.inFlight.count()]).toEqual([1_000, 2])
    await context.clock.run(context.inFlight.idle())
    expect([context.clock.nowMs(), context.fates.length]).toEqual([30_000, 2])
  })

  test('comes immediately when the run is stopped', async () => {
    const context = testContext(soon)
    const driven = driveClosed(context, schedule(), { users: 2, thinkMs: 10_000, endMs: 60_000 })
    await context.clock.advanceTo(500)
    context.stop()
    await driven
    expect([context.clock.nowMs(), context.fates.length]).toEqual([500, 2])
  })
})

test('a bug of ours ends the stage with its error', async () => {
  const context = testContext(soon)
  const fire = () => Promise.reject(new RangeError('no such call'))
  const driven = driveClosed({ ...context, fire }, schedule(), { users: 2, thinkMs: 0, endMs: 1_000 })
  await expect(context.clock.run(driven)).rejects.toThrow('no such call')
})
