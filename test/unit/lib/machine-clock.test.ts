import { expect, test } from 'vitest'
import { originOnMachineMs } from '../../../src/lib/machine-clock.ts'
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
