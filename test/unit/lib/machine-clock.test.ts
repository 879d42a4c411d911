import { expect, test } from 'vitest'
import { systemClock } from '../../../src/lib/clock.ts'
import { clockSince, epochOf, originOnMachineMs } from '../../../src/lib/machine-clock.ts'
import { manualClock } from '../../support/manual-clock.ts'

const machineMs = () => Number(process.hrtime.bigint()) / 1e6

test('the origin of a clock is where the clock of the machine stood at its zero', () => {
  const clock = { ...manualClock(), nowMs: () => machineMs() - 5_000 }
  expect(originOnMachineMs(clock)).toBeCloseTo(5_000, 0)
})

test('a clock that stands still has its origin in the past by as much as it shows', async () => {
  const clock = manualClock()
  await clock.advanceTo(60_000)
  const beforeMs = machineMs()
  const originMs = originOnMachineMs(clock)
  expect(originMs + 60_000).toBeGreaterThanOrEqual(beforeMs)
  expect(originMs + 60_000).toBeLessThanOrEqual(machineMs())
})

test('clocks of one epoch show the same time, whenever they were made', () => {
  const first = systemClock()
  const second = clockSince(epochOf(first))
  for (const name of ['nowMs', 'wallMs'] as const) {
    const [before, between, after] = [first[name](), second[name](), first[name]()]
    // Each knows its origin to a microsecond.
    expect(between).toBeGreaterThan(before - 0.1)
    expect(between).toBeLessThan(after + 0.1)
  }
})

test('a clock of an epoch wakes by the time that it shows', async () => {
  const first = systemClock()
  const origin = epochOf(first)
  const later = clockSince({ ...origin, machineMs: origin.machineMs - 60_000 })
  expect(later.nowMs()).toBeGreaterThanOrEqual(60_000)
  const dueMs = later.nowMs() + 3
  for (const wakeAt of [later.at, later.sharplyAt]) {
    await new Promise<void>(resolve => void wakeAt(dueMs, resolve))
    // A timer of Node.js knows whole milliseconds, and may wake within the one before.
    expect(later.nowMs()).toBeGreaterThan(dueMs - 1)
  }
})
