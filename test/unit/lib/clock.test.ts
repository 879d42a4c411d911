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
import { manualClock } from '../../../src/prove/manual-clock.ts'

describe('sleepUntil', () => {
  test('wakes at the due time, not before', async () => {
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

  test('wakes immediately on abort, and leaves no timer', async () => {
    const clock = manualClock()
    const stop = new AbortController()
    const sleep = sleepUntil(clock, 60_000, stop.signal)
    stop.abort()
    await sleep
    expect(clock.nowMs()).toBe(0)
    await expect(clock.run(new Promise(() => {}))).rejects.toThrow('no timer')
  })

  test('does not sleep if the signal is already aborted', async () => {
    const clock = manualClock()
    await sleepUntil(clock, 60_000, AbortSignal.abort())
    expect(clock.nowMs()).toBe(0)
  })

  test('removes its listener from the signal after waking', async () => {
    const clock = manualClock()
    const { signal } = new AbortController()
    const removed = vi.spyOn(signal, 'removeEventListener')
    await clock.run(sleepUntil(clock, 10, signal))
    expect(removed).toHaveBeenCalledWith('abort', expect.any(Function))
  })

  test('wakes without delay if the due time is in the past', async () => {
    const clock = manualClock()
    await clock.advanceTo(500)
    await clock.run(sleepUntil(clock, 100))
    expect(clock.nowMs()).toBe(500)
  })
})

describe('systemClock', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance', 'Date', 'setTimeout', 'clearTimeout'], now: Date.UTC(2026, 0, 15) })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  test('counts from its creation, and knows the wall time', () => {
    vi.advanceTimersByTime(5_000)
    const clock = systemClock()
    expect(clock.nowMs()).toBe(0)
    vi.advanceTimersByTime(1_500)
    expect([clock.nowMs(), clock.wallMs()]).toEqual([1_500, Date.UTC(2026, 0, 15) + 6_500])
  })

  test('ignores steps of the system time', () => {
    const clock = systemClock()
    vi.setSystemTime(Date.UTC(2030, 0, 1))
    expect(clock.nowMs()).toBe(0)
    expect(clock.wallMs()).toBe(Date.UTC(2026, 0, 15))
  })

  test('never wakes early, although timers have whole milliseconds', () => {
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

  test('does not wake after cancellation', () => {
    const clock = systemClock()
    const wake = vi.fn()
    clock.at(10, wake)()
    vi.advanceTimersByTime(100)
    expect(wake).not.toHaveBeenCalled()
  })

  test('never wakes inside the call, even for a time in the past', () => {
    const clock = systemClock()
    const wake = vi.fn()
    clock.at(-5, wake)
    expect(wake).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(wake).toHaveBeenCalledTimes(1)
  })
})

describe('atPrecisely', () => {
  // Time is manual; the event loop and its timers are real.
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })
  const turns = async (count: number) => {
    for (let turn = 0; turn < count; turn++) await new Promise(resolve => setImmediate(resolve))
  }

  test('wakes in the first turn after the due time, not before', async () => {
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

  test('never wakes inside the call, even for a time in the past', async () => {
    const wake = vi.fn()
    systemClock().atPrecisely(-5, wake)
    expect(wake).not.toHaveBeenCalled()
    await turns(1)
    expect(wake).toHaveBeenCalledTimes(1)
  })

  test('uses a timer for distant times, and does not wake early', async () => {
    const clock = systemClock()
    const wake = vi.fn()
    clock.atPrecisely(4.5, wake)
    await new Promise(resolve => setTimeout(resolve, 4))
    expect(wake).not.toHaveBeenCalled()
    vi.advanceTimersByTime(5)
    await new Promise<void>(resolve => clock.atPrecisely(5, resolve))
    await vi.waitFor(() => expect(wake).toHaveBeenCalledTimes(1))
  })

  test.each([-5, 1, 5])('does not wake after cancellation: %d ms ahead', async ms => {
    const wake = vi.fn()
    const cancel = systemClock().atPrecisely(ms, wake)
    if (ms > 0) await turns(3)
    cancel()
    vi.advanceTimersByTime(10)
    await new Promise(resolve => setTimeout(resolve, 10))
    expect(wake).not.toHaveBeenCalled()
  })

  test('wakes each of many at its own time, in the order of these', async () => {
    const clock = systemClock()
    const woken: number[] = []
    const times = Array.from({ length: 50 }, (_, index) => 1 + ((index * 17) % 50))
    const cancels = times.map(dueMs => clock.atPrecisely(dueMs, () => woken.push(dueMs)))
    for (const [index, cancel] of cancels.entries()) if ((times[index] ?? 0) % 10 === 0) cancel()
    const expected = times.toSorted((a, b) => a - b).filter(dueMs => dueMs % 10 !== 0)
    for (let nowMs = 1; nowMs <= 50; nowMs++) {
      vi.advanceTimersByTime(1)
      const due = expected.filter(dueMs => dueMs <= nowMs)
      // A timer counts real milliseconds, at most as many as were left.
      for (let tries = 0; woken.length < due.length && tries < 200; tries++)
        await new Promise(resolve => setTimeout(resolve, 1))
      expect(woken).toEqual(due)
    }
  })

  test('ends sleepPreciselyUntil, and so does an abort', async () => {
    const clock = systemClock()
    const stop = new AbortController()
    await sleepPreciselyUntil(clock, 0)
    const sleep = sleepPreciselyUntil(clock, 60_000, stop.signal)
    stop.abort()
    await sleep
    expect(clock.nowMs()).toBe(0)
  })
})

describe('wakeDue', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  test('wakes one that is due, the earliest, once its caller has returned', async () => {
    const clock = systemClock()
    const woken: number[] = []
    for (const dueMs of [7, 5, 6]) clock.atPrecisely(dueMs, () => woken.push(dueMs))
    vi.advanceTimersByTime(6)
    const seen: number[][] = []
    for (let chunk = 0; chunk < 3; chunk++) {
      const isDue = [clock.wakeDue(6), clock.wakeDue(6)]
      seen.push([...woken])
      await Promise.resolve()
      expect(isDue, `chunk ${chunk}`).toEqual(chunk < 2 ? [true, true] : [false, false])
    }
    expect(seen).toEqual([[], [5], [5, 6]])
    expect(woken).toEqual([5, 6])
    vi.advanceTimersByTime(1)
    await new Promise<void>(resolve => void clock.atPrecisely(7, resolve))
    expect(woken).toEqual([5, 6, 7])
  })

  test('leaves to the next turn what was due when it was given, as a sender that makes room does', async () => {
    const clock = systemClock()
    const wake = vi.fn()
    clock.atPrecisely(0, wake)
    clock.wakeDue(10)
    await Promise.resolve()
    expect(wake).not.toHaveBeenCalled()
    await new Promise(resolve => setImmediate(resolve))
    expect(wake).toHaveBeenCalledTimes(1)
  })

  test('does not wake what was cancelled meanwhile', async () => {
    const clock = systemClock()
    const wake = vi.fn()
    const cancel = clock.atPrecisely(1, wake)
    clock.wakeDue(1)
    cancel()
    await Promise.resolve()
    expect(wake).not.toHaveBeenCalled()
  })

  test('has the time of its clock', async () => {
    const first = systemClock()
    const origin = epochOf(first)
    const later = clockFromEpoch({ ...origin, machineMs: origin.machineMs - 60_000 })
    const wake = vi.fn()
    later.atPrecisely(60_010, wake)
    later.wakeDue(60_009)
    await Promise.resolve()
    expect(wake).not.toHaveBeenCalled()
    later.wakeDue(60_011)
    await Promise.resolve()
    expect(wake).toHaveBeenCalledTimes(1)
  })
})

const machineMs = () => Number(process.hrtime.bigint()) / 1e6

test('monotonicOriginMs is the monotonic time at the zero of a clock', () => {
  const clock = { ...manualClock(), nowMs: () => machineMs() - 5_000 }
  expect(monotonicOriginMs(clock)).toBeCloseTo(5_000, 0)
})

test('monotonicOriginMs subtracts the time of a stopped clock', async () => {
  const clock = manualClock()
  await clock.advanceTo(60_000)
  const beforeMs = machineMs()
  const originMs = monotonicOriginMs(clock)
  expect(originMs + 60_000).toBeGreaterThanOrEqual(beforeMs)
  expect(originMs + 60_000).toBeLessThanOrEqual(machineMs())
})

test('clocks of one epoch show the same time', () => {
  const first = systemClock()
  const second = clockFromEpoch(epochOf(first))
  for (const name of ['nowMs', 'wallMs'] as const) {
    const [before, between, after] = [first[name](), second[name](), first[name]()]
    // Each origin has an error of about a microsecond.
    expect(between).toBeGreaterThan(before - 0.1)
    expect(between).toBeLessThan(after + 0.1)
  }
})

test('clockFromEpoch wakes by its own time', async () => {
  const first = systemClock()
  const origin = epochOf(first)
  const later = clockFromEpoch({ ...origin, machineMs: origin.machineMs - 60_000 })
  expect(later.nowMs()).toBeGreaterThanOrEqual(60_000)
  const dueMs = later.nowMs() + 3
  for (const wakeAt of [later.at, later.atPrecisely]) {
    await new Promise<void>(resolve => void wakeAt(dueMs, resolve))
    // A timer of Node.js has whole milliseconds and may wake up to one early.
    expect(later.nowMs()).toBeGreaterThan(dueMs - 1)
  }
})

test('monitorEventLoop measures a block of the event loop', async () => {
  const monitor = monitorEventLoop()
  await sleep(40)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 150)
  await sleep(40)
  const { p99, max } = monitor.delayMs()
  monitor.stop()
  // Of about ten samples, the block is the largest, so it is the p99 too.
  expect(p99).toBeGreaterThan(100)
  expect(max).toBeGreaterThanOrEqual(p99)
})

test('monitorEventLoop reports no delay without samples', () => {
  const monitor = monitorEventLoop()
  expect(monitor.delayMs()).toEqual({ p99: 0, max: 0 })
  monitor.stop()
})
