import { type Clock, inMicroseconds } from '../lib/clock.ts'

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

/** `wake` is null once the timer has fired or was cancelled. */
type Timer = { readonly dueMs: number; readonly order: number; wake: (() => void) | null }

const isBefore = (a: Timer, b: Timer): boolean => a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order)

/** A binary heap with the next timer first. */
function createTimers() {
  const heap: Timer[] = []
  const at = (index: number): Timer => heap[index] as Timer
  const swap = (a: number, b: number) => {
    const moved = at(a)
    heap[a] = at(b)
    heap[b] = moved
  }
  return {
    first: (): Timer | undefined => heap[0],
    add: (timer: Timer) => {
      heap.push(timer)
      for (let child = heap.length - 1; child > 0; ) {
        const parent = (child - 1) >> 1
        if (!isBefore(at(child), at(parent))) break
        swap(child, parent)
        child = parent
      }
    },
    removeFirst: () => {
      const last = heap.pop()
      if (last === undefined || heap.length === 0) return
      heap[0] = last
      for (let parent = 0; ; ) {
        const left = 2 * parent + 1
        if (left >= heap.length) break
        const right = left + 1
        const least = right < heap.length && isBefore(at(right), at(left)) ? right : left
        if (!isBefore(at(least), at(parent))) break
        swap(least, parent)
        parent = least
      }
    },
  }
}

export function manualClock(startWallMs = Date.UTC(2026, 0, 15, 12)): ManualClock {
  let now = 0
  let order = 0
  const timers = createTimers()

  const settle = () => new Promise<void>(resolve => setImmediate(resolve))
  /** The next timer that has not been cancelled. */
  const next = (): Timer | undefined => {
    let first = timers.first()
    while (first !== undefined && first.wake === null) {
      timers.removeFirst()
      first = timers.first()
    }
    return first
  }
  const step = async (untilMs: number) => {
    const timer = next()
    if (timer === undefined || timer.dueMs > untilMs) return false
    timers.removeFirst()
    const { wake } = timer
    timer.wake = null
    now = Math.max(now, timer.dueMs)
    wake?.()
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
          if (!settled && next() === undefined) throw new Error('the work waits for something, but no timer is left')
        }
      }
      return work
    },
  }
}
