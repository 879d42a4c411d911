import { type Clock, inMicroseconds } from '../lib/clock.ts'
import { createTimers, fire, type Timer } from '../lib/timers.ts'

/** A clock that moves only on request. Timers fire in the order of due time, then of creation. */
export type ManualClock = Clock & {
  /** Moves to `ms` and fires due timers on the way. Promises settle in between. */
  readonly advanceTo: (ms: number) => Promise<void>
  /** Moves from timer to timer until `work` has settled, and returns its value. */
  readonly run: <T>(work: Promise<T>) => Promise<T>
}

/** Whole microseconds, but never before a timer that fired. */
function roundedUp(ms: number): number {
  const rounded = inMicroseconds(ms)
  if (Math.abs(rounded - ms) < 1e-6) return Math.max(rounded, ms)
  return rounded < ms ? inMicroseconds(rounded + 1e-3) : rounded
}

export function manualClock(startWallMs = Date.UTC(2026, 0, 15, 12)): ManualClock {
  let now = 0
  let order = 0
  const timers = createTimers()

  const settle = () => new Promise<void>(resolve => setImmediate(resolve))
  const step = async (untilMs: number) => {
    const timer = timers.takeDue(untilMs)
    if (timer === null) return false
    now = Math.max(now, timer.dueMs)
    fire(timer)
    await settle()
    return true
  }

  const at: Clock['at'] = (dueMs, wake) => {
    const timer: Timer = { dueMs, order: order++, wake }
    timers.add(timer)
    return () => {
      timer.wake = null
    }
  }

  return {
    nowMs: () => roundedUp(now),
    wallMs: () => startWallMs + now,
    at,
    atPrecisely: at,
    wakeDue: () => false,
    advanceTo: async ms => {
      await settle()
      while (await step(ms));
      now = Math.max(now, ms)
      await settle()
    },
    run: async work => {
      let settled = false
      const mark = () => {
        settled = true
      }
      work.then(mark, mark)
      await settle()
      while (!settled) {
        if (!(await step(Number.POSITIVE_INFINITY)) && !settled) {
          await settle()
          if (!settled && timers.first() === undefined)
            throw new Error('the work waits for something, but no timer is left')
        }
      }
      return work
    },
  }
}
