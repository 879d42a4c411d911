import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { sleepSharplyUntil, sleepUntil, systemClock } from '../../../src/lib/clock.ts'
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
    systemClock().sharplyAt(1.5, wake)
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
    systemClock().sharplyAt(-5, wake)
    expect(wake).not.toHaveBeenCalled()
    await turns(1)
    expect(wake).toHaveBeenCalledTimes(1)
  })

  test('that is further away is slept for, and still comes no earlier', async () => {
    const clock = systemClock()
    const wake = vi.fn()
    clock.sharplyAt(4.5, wake)
    await new Promise(resolve => setTimeout(resolve, 4))
    expect(wake).not.toHaveBeenCalled()
    vi.advanceTimersByTime(5)
    await new Promise<void>(resolve => clock.sharplyAt(5, resolve))
    await vi.waitFor(() => expect(wake).toHaveBeenCalledTimes(1))
  })

  test.each([-5, 1, 5])('that was cancelled does not come: %d ms ahead', async ms => {
    const wake = vi.fn()
    const cancel = systemClock().sharplyAt(ms, wake)
    if (ms > 0) await turns(3)
    cancel()
    vi.advanceTimersByTime(10)
    await new Promise(resolve => setTimeout(resolve, 10))
    expect(wake).not.toHaveBeenCalled()
  })

  test('ends a sleep, as does an abort', async () => {
    const clock = systemClock()
    const stop = new AbortController()
    await sleepSharplyUntil(clock, 0)
    const sleep = sleepSharplyUntil(clock, 60_000, stop.signal)
    stop.abort()
    await sleep
    expect(clock.nowMs()).toBe(0)
  })
})
