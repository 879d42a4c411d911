import { describe, expect, test } from 'vitest'
import { driveClosed } from '../../../src/drivers/closed.ts'
import { createGovernor } from '../../../src/drivers/governor.ts'
import { driveOpen } from '../../../src/drivers/open.ts'
import { driveSequence } from '../../../src/drivers/sequence.ts'
import { arrivalAt, every, soon, testCab } from './cab.ts'

const rules = { most: 3, windowMs: 30_000 }

describe('a governor', () => {
  test('holds nothing back that is not to fail', () => {
    const governor = createGovernor(rules)
    for (let atMs = 0; atMs < 100; atMs++) governor.note('c0', atMs)
    expect(governor.heldUntilMs('c0', 0, 100)).toBeNull()
    expect(governor.heldUntilMs('c0', 1, 100)).not.toBeNull()
  })

  test('lets a caller fail again when the oldest failure has left the window', () => {
    const governor = createGovernor(rules)
    for (const atMs of [1_000, 2_000]) governor.note('c0', atMs)
    expect(governor.heldUntilMs('c0', 1, 2_000)).toBeNull()
    governor.note('c0', 3_000)
    expect(governor.heldUntilMs('c0', 1, 3_000)).toBe(31_000)
    expect(governor.heldUntilMs('c0', 2, 3_000)).toBe(32_000)
    expect(governor.heldUntilMs('c0', 1, 30_999)).toBe(31_000)
    expect(governor.heldUntilMs('c0', 1, 31_000)).toBeNull()
  })

  test('counts what is under way as failed', () => {
    const governor = createGovernor(rules)
    governor.begin('c0', 2)
    governor.note('c0', 500)
    expect(governor.heldUntilMs('c0', 1, 1_000)).toBe(30_500)
    governor.end('c0', 1)
    expect(governor.heldUntilMs('c0', 1, 1_000)).toBeNull()
  })

  test('counts each caller by itself', () => {
    const governor = createGovernor(rules)
    governor.begin('c0', 3)
    expect(governor.heldUntilMs('c0', 1, 0)).toBe(30_000)
    expect(governor.heldUntilMs('c1', 1, 0)).toBeNull()
  })

  test('lets a single arrival go that fails more often than that, when nothing else has failed', () => {
    expect(createGovernor(rules).heldUntilMs('c0', 5, 0)).toBeNull()
  })
})

/** Every arrival is to fail, and fails. */
function governed(most: number) {
  const cab = testCab(soon)
  const governor = createGovernor({ most, windowMs: 30_000 })
  const fire: typeof cab.fire = async arrival => {
    governor.begin('c0', 1)
    await cab.fire(arrival)
    governor.end('c0', 1)
    governor.note('c0', cab.clock.nowMs())
  }
  const isHeldBack = () => governor.heldUntilMs('c0', 1, cab.clock.nowMs()) !== null
  return { ...cab, fire, isHeldBack, governor }
}

describe('what is held back', () => {
  test('waits in a sequence, and is due when it need not wait any more', async () => {
    const cab = governed(4)
    const turns = Array.from({ length: 10 }, (_, seq) => ({
      make: (dueMs: number) => arrivalAt(dueMs, seq),
      heldUntilMs: (nowMs: number) => cab.governor.heldUntilMs('c0', 1, nowMs),
    }))
    await cab.clock.run(driveSequence(cab, [turns], cab.inFlight, { lanes: 1, endMs: 100_000 }))
    const sent = cab.fates.map(({ sentMs }) => sentMs)
    expect(sent).toEqual([0, 10, 20, 30, 30_010, 30_020, 30_030, 30_040, 60_020, 60_030])
    expect(cab.fates.every(({ dueMs, sentMs }) => dueMs === sentMs)).toBe(true)
  })

  test('is dropped when its stage is over before', async () => {
    const cab = governed(2)
    const turns = Array.from({ length: 4 }, (_, seq) => ({
      make: (dueMs: number) => arrivalAt(dueMs, seq),
      heldUntilMs: (nowMs: number) => cab.governor.heldUntilMs('c0', 1, nowMs),
    }))
    await cab.clock.run(driveSequence(cab, [turns], cab.inFlight, { lanes: 1, endMs: 5_000 }))
    expect(cab.fates.map(({ dropped }) => dropped)).toEqual([null, null, 'failure-limit', 'failure-limit'])
    expect(cab.clock.nowMs()).toBe(5_000)
  })

  test('is dropped at once in an open stage', async () => {
    const cab = governed(3)
    await cab.clock.run(driveOpen(cab, every(100, 1_000), cab.inFlight, 100))
    expect(cab.fates.filter(({ dropped }) => dropped === null)).toHaveLength(3)
    expect(cab.fates.filter(({ dropped }) => dropped === 'failure-limit')).toHaveLength(7)
  })

  test('is dropped in a closed stage, whose users go on, but not without a pause', async () => {
    const cab = governed(3)
    let seq = 0
    const next = (dueMs: number) => arrivalAt(dueMs, seq++)
    await cab.clock.run(driveClosed(cab, next, cab.inFlight, { users: 1, thinkMs: 0, endMs: 1_030 }))
    expect(cab.fates.filter(({ dropped }) => dropped === null)).toHaveLength(3)
    expect(cab.fates.filter(({ dropped }) => dropped === 'failure-limit')).toHaveLength(10)
  })
})
