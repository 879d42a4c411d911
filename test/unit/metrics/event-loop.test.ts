import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { monitorEventLoop } from '../../../src/metrics/event-loop.ts'

test('event loop: a loop that was blocked says for how long at least, less what is no delay', async () => {
  const monitor = monitorEventLoop()
  await sleep(40)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 150)
  await sleep(40)
  const { p99, max } = monitor.delayMs()
  monitor.stop()
  expect(max).toBeGreaterThan(100)
  expect(p99).toBeGreaterThanOrEqual(0)
})

test('event loop: a monitor that has seen nothing tells of no delay', () => {
  const monitor = monitorEventLoop()
  expect(monitor.delayMs()).toEqual({ p99: 0, max: 0 })
  monitor.stop()
})
