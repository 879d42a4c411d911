import { describe, expect, test } from 'vitest'
import type { Arrival } from '../../../src/produce/arrivals/arrivals.ts'
import { driveClosed } from '../../../src/produce/drivers/closed.ts'
import { driveOpen } from '../../../src/produce/drivers/open.ts'
import { driveSequence } from '../../../src/produce/drivers/sequence.ts'
import { createFailureLimiter } from '../../../src/produce/firing.ts'
import { arrivalAt, every, soon, testContext } from './drivers/test-context.ts'

const rules = { max: 3, windowMs: 30_000 }

describe('a failure limiter', () => {
  test('allows every call without expected failures', () => {
    const failureLimiter = createFailureLimiter(rules)
    for (let atMs = 0; atMs < 100; atMs++) failureLimiter.recordFailure('c0', atMs)
    expect(failureLimiter.waitUntilMs('c0', 0, 100)).toBeNull()
    expect(failureLimiter.waitUntilMs('c0', 1, 100)).not.toBeNull()
  })

  test('allows another failure when the oldest one has left the window', () => {
    const failureLimiter = createFailureLimiter(rules)
    for (const atMs of [1_000, 2_000]) failureLimiter.recordFailure('c0', atMs)
    expect(failureLimiter.waitUntilMs('c0', 1, 2_000)).toBeNull()
    failureLimiter.recordFailure('c0', 3_000)
    expect(failureLimiter.waitUntilMs('c0', 1, 3_000)).toBe(31_000)
    expect(failureLimiter.waitUntilMs('c0', 2, 3_000)).toBe(32_000)
    expect(failureLimiter.waitUntilMs('c0', 1, 30_999)).toBe(31_000)
    expect(failureLimiter.waitUntilMs('c0', 1, 31_000)).toBeNull()
  })

  test('allows it at the very time that it names, whatever the rounding of the sum', () => {
    for (let index = 0; index < 1_000; index++) {
      const failureLimiter = createFailureLimiter(rules)
      const atMs = 1_000 + index / 7
      for (let times = 0; times < 3; times++) failureLimiter.recordFailure('c0', atMs)
      const untilMs = failureLimiter.waitUntilMs('c0', 1, atMs) ?? 0
      expect(failureLimiter.waitUntilMs('c0', 1, untilMs)).toBeNull()
    }
  })

  test('counts requests in flight as failed', () => {
    const failureLimiter = createFailureLimiter(rules)
    failureLimiter.begin('c0', 2)
    failureLimiter.recordFailure('c0', 500)
    expect(failureLimiter.waitUntilMs('c0', 1, 1_000)).toBe(30_500)
    failureLimiter.end('c0', 1)
    expect(failureLimiter.waitUntilMs('c0', 1, 1_000)).toBeNull()
  })

  test('counts each caller separately', () => {
    const failureLimiter = createFailureLimiter(rules)
    failureLimiter.begin('c0', 3)
    expect(failureLimiter.waitUntilMs('c0', 1, 0)).toBe(30_000)
    expect(failureLimiter.waitUntilMs('c1', 1, 0)).toBeNull()
  })

  test('allows a single arrival above the limit if nothing else has failed', () => {
    expect(createFailureLimiter(rules).waitUntilMs('c0', 5, 0)).toBeNull()
  })
})

/** Every arrival has expected failures, and fails. */
function limited(max: number) {
  const context = testContext(soon)
  const failureLimiter = createFailureLimiter({ max, windowMs: 30_000 })
  const fire: typeof context.fire = async arrival => {
    failureLimiter.begin('c0', 1)
    const wasSent = await context.fire(arrival)
    failureLimiter.end('c0', 1)
    failureLimiter.recordFailure('c0', context.clock.nowMs())
    return wasSent
  }
  const mustWait = () => failureLimiter.waitUntilMs('c0', 1, context.clock.nowMs()) !== null
  return { ...context, fire, mustWait, failureLimiter }
}

describe('an arrival that must wait', () => {
  test('is due in a sequence when it may be sent, and is sent then', async () => {
    const context = limited(4)
    const turns = Array.from({ length: 10 }, (_, id) => ({
      make: (dueMs: number) => arrivalAt(dueMs, id),
      waitUntilMs: (nowMs: number) => context.failureLimiter.waitUntilMs('c0', 1, nowMs),
      send: (arrival: Arrival) => context.fire(arrival).then(() => 'done' as const),
    }))
    await context.clock.run(driveSequence(context, [turns], { lanes: 1, endMs: 100_000 }))
    const sent = context.fates.map(({ sentMs }) => sentMs)
    expect(sent).toEqual([0, 10, 20, 30, 30_010, 30_020, 30_030, 30_040, 60_020, 60_030])
    expect(context.fates.every(({ dueMs, sentMs }) => dueMs === sentMs)).toBe(true)
  })

  test('is dropped if its stage ends before', async () => {
    const context = limited(2)
    const turns = Array.from({ length: 4 }, (_, id) => ({
      make: (dueMs: number) => arrivalAt(dueMs, id),
      waitUntilMs: (nowMs: number) => context.failureLimiter.waitUntilMs('c0', 1, nowMs),
      send: (arrival: Arrival) => context.fire(arrival).then(() => 'done' as const),
    }))
    await context.clock.run(driveSequence(context, [turns], { lanes: 1, endMs: 5_000 }))
    expect(context.fates.map(({ dropped }) => dropped)).toEqual([null, null, 'failure-limit', 'failure-limit'])
    expect(context.clock.nowMs()).toBe(5_000)
  })

  test('is dropped immediately in an open stage', async () => {
    const context = limited(3)
    await context.clock.run(driveOpen(context, every(100, 1_000), 100))
    expect(context.fates.filter(({ dropped }) => dropped === null)).toHaveLength(3)
    expect(context.fates.filter(({ dropped }) => dropped === 'failure-limit')).toHaveLength(7)
  })

  test('is dropped in a closed stage, whose users pause and continue', async () => {
    const context = limited(3)
    let id = 0
    const next = (dueMs: number) => arrivalAt(dueMs, id++)
    await context.clock.run(driveClosed(context, next, { users: 1, thinkMs: 0, endMs: 1_030 }))
    expect(context.fates.filter(({ dropped }) => dropped === null)).toHaveLength(3)
    expect(context.fates.filter(({ dropped }) => dropped === 'failure-limit')).toHaveLength(10)
  })
})
