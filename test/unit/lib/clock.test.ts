import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  clockFromEpoch,
  epochOf,
  monitorEventLoop,
  monotonicOriginMs,
  sleepPreciselyUntil,
  sleepUntil,
  systemClock,
} from '../../../src/lib/clock.ts'
import { manualClock } from '../../support/manual-clock.ts'

describe('sleepUntil', () => {
  test('wakes when it is due and not before', async () => {
    const clock = manualClock()
    let woke: number | null = null
    void sleepUntil(clock, 250).then(() => {
      woke = clock.nowMs()
    })
    await clock.advanceTo(249.9)
    expect(woke).toBeNull()
    await clock.advanceTo(1_000)
    expect(woke).toBe(250)
  })

  test('wakes at once when it is aborted, and leaves no timer', async () => {
    const clock = manualClock()
    const stop = new AbortController()
    const sleep = sleepUntil(clock, 60_000, stop.signal)
    stop.abort()
    await sleep
    expect(clock.nowMs()).toBe(0)
    await expect(clock.run(new Promise(() => {}))).rejects.toThrow('no timer')
  })

  test('does not sleep at all under a signal that has been aborted', async () => {
    const clock = manualClock()
    await sleepUntil(clock, 60_000, AbortSignal.abort())
    expect(clock.nowMs()).toBe(0)
  })

  test('lets go of the signal when it has woken', async () => {
    const clock = manualClock()
    const { signal } = new AbortController()
    const removed = vi.spyOn(signal, 'removeEventListener')
    await clock.run(sleepUntil(clock, 10, signal))
    expect(removed).toHaveBeenCalledWith('abort', expect.any(Function))
  })

  test('wakes later, but soon, when what it waits for is in the past', async () => {
    const clock = manualClock()
    await clock.advanceTo(500)
    await clock.run(sleepUntil(clock, 100))
    expect(clock.nowMs()).toBe(500)
  })
})

describe('the clock of the machine', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance', 'Date', 'setTimeout', 'clearTimeout'], now: Date.UTC(2026, 0, 15) })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  test('counts from its making, and says what time that was', () => {
    vi.advanceTimersByTime(5_000)
    const clock = systemClock()
    expect(clock.nowMs()).toBe(0)
    vi.advanceTimersByTime(1_500)
    expect([clock.nowMs(), clock.wallMs()]).toEqual([1_500, Date.UTC(2026, 0, 15) + 6_500])
  })

  test('is not moved by a step of the system time', () => {
    const clock = systemClock()
    vi.setSystemTime(Date.UTC(2030, 0, 1))
    expect(clock.nowMs()).toBe(0)
    expect(clock.wallMs()).toBe(Date.UTC(2026, 0, 15))
  })

  test('never wakes anyone early, though its timers know whole milliseconds only', () => {
    const clock = systemClock()
    let wokeMs: number | null = null
    clock.at(10.2, () => {
      wokeMs = clock.nowMs()
    })
    vi.advanceTimersByTime(10)
    expect(wokeMs).toBeNull()
    vi.advanceTimersByTime(1)
    expect(wokeMs).toBe(11)
  })

  test('wakes nobody who has cancelled', () => {
    const clock = systemClock()
    const wake = vi.fn()
    clock.at(10, wake)()
    vi.advanceTimersByTime(100)
    expect(wake).not.toHaveBeenCalled()
  })

  test('wakes for what is past in a turn of its own, never inside the call', () => {
    const clock = systemClock()
    const wake = vi.fn()
    clock.at(-5, wake)
    expect(wake).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(wake).toHaveBeenCalledTimes(1)
  })
})

describe('a sharp waking', () => {
  // Time passes by hand, turns of the event loop and timers by themselves.
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })
  const turns = async (count: number) => {
    for (let turn = 0; turn < count; turn++) await new Promise(resolve => setImmediate(resolve))
  }

  test('comes in the turn in which it is due, and not before', async () => {
    const wake = vi.fn()
    systemClock().atPrecisely(1.5, wake)
    await turns(5)
    vi.advanceTimersByTime(1)
    await turns(5)
    expect(wake).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    await turns(1)
    expect(wake).toHaveBeenCalledTimes(1)
  })

  test('for what is past comes in a turn of its own, never inside the call', async () => {
    const wake = vi.fn()
    systemClock().atPrecisely(-5, wake)
    expect(wake).not.toHaveBeenCalled()
    await turns(1)
    expect(wake).toHaveBeenCalledTimes(1)
  })

  test('that is further away is slept for, and still comes no earlier', async () => {
    const clock = systemClock()
    const wake = vi.fn()
    clock.atPrecisely(4.5, wake)
    await new Promise(resolve => setTimeout(resolve, 4))
    expect(wake).not.toHaveBeenCalled()
    vi.advanceTimersByTime(5)
    await new Promise<void>(resolve => clock.atPrecisely(5, resolve))
    await vi.waitFor(() => expect(wake).toHaveBeenCalledTimes(1))
  })

  test.each([-5, 1, 5])('that was cancelled does not come: %d ms ahead', async ms => {
    const wake = vi.fn()
    const cancel = systemClock().atPrecisely(ms, wake)
    if (ms > 0) await turns(3)
    cancel()
    vi.advanceTimersByTime(10)
    await new Promise(resolve => setTimeout(resolve, 10))
    expect(wake).not.toHaveBeenCalled()
  })

  test('ends a sleep, as does an abort', async () => {
    const clock = systemClock()
    const stop = new AbortController()
    await sleepPreciselyUntil(clock, 0)
    const sleep = sleepPreciselyUntil(clock, 60_000, stop.signal)
    stop.abort()
    await sleep
    expect(clock.nowMs()).toBe(0)
  })
})

const machineMs = () => Number(process.hrtime.bigint()) / 1e6

test('the origin of a clock is where the clock of the machine stood at its zero', () => {
  const clock = { ...manualClock(), nowMs: () => machineMs() - 5_000 }
  expect(monotonicOriginMs(clock)).toBeCloseTo(5_000, 0)
})

test('a clock that stands still has its origin in the past by as much as it shows', async () => {
  const clock = manualClock()
  await clock.advanceTo(60_000)
  const beforeMs = machineMs()
  const originMs = monotonicOriginMs(clock)
  expect(originMs + 60_000).toBeGreaterThanOrEqual(beforeMs)
  expect(originMs + 60_000).toBeLessThanOrEqual(machineMs())
})

test('clocks of one epoch show the same time, whenever they were made', () => {
  const first = systemClock()
  const second = clockFromEpoch(epochOf(first))
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
  const later = clockFromEpoch({ ...origin, machineMs: origin.machineMs - 60_000 })
  expect(later.nowMs()).toBeGreaterThanOrEqual(60_000)
  const dueMs = later.nowMs() + 3
  for (const wakeAt of [later.at, later.atPrecisely]) {
    await new Promise<void>(resolve => void wakeAt(dueMs, resolve))
    // A timer of Node.js knows whole milliseconds, and may wake within the one before.
    expect(later.nowMs()).toBeGreaterThan(dueMs - 1)
  }
})

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
