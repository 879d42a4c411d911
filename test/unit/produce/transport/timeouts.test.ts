import { describe, expect, test } from 'vitest'
import type { Clock } from '../../../../src/lib/clock.ts'
import { createDeadlineWatch, type TimeoutPhase, touch } from '../../../../src/produce/transport/timeouts.ts'

const timeouts = { connectMs: 100, headersMs: 50, idleMs: 200, totalMs: 1_000 }

/** A clock that only moves with `pass` and `stall`, and counts the timers that are set. */
function standingClock() {
  let nowMs = 0
  let timers: { dueMs: number; wake: () => void }[] = []
  let set = 0
  const at: Clock['at'] = (dueMs, wake) => {
    set++
    const timer = { dueMs, wake }
    timers.push(timer)
    return () => {
      timers = timers.filter(each => each !== timer)
    }
  }
  const clock: Clock = { nowMs: () => nowMs, wallMs: () => nowMs, at, atPrecisely: at, wakeDue: () => false }
  /** Fires the earliest timer that is due by `untilMs`, if any. */
  const wakeOnce = (untilMs = nowMs): boolean => {
    const next = timers.filter(({ dueMs }) => dueMs <= untilMs).toSorted((a, b) => a.dueMs - b.dueMs)[0]
    if (next === undefined) return false
    timers = timers.filter(each => each !== next)
    nowMs = Math.max(nowMs, next.dueMs)
    next.wake()
    return true
  }
  const pass = (ms: number): void => {
    const untilMs = nowMs + ms
    while (wakeOnce(untilMs));
    nowMs = untilMs
  }
  /** Advances the time without firing timers, like a busy process. */
  const stall = (ms: number): void => {
    nowMs += ms
  }
  return { clock, pass, stall, wakeOnce, set: () => set, waiting: () => timers.length }
}

function watched(clock: Clock) {
  const late: string[] = []
  const watch = createDeadlineWatch(clock)
  const start = (name: string) => {
    const deadline = watch.start(timeouts, clock.nowMs(), limit => late.push(`${name}${limit} at ${clock.nowMs()}`))
    return {
      enter: (phase: TimeoutPhase, atMs: number) => watch.enter(deadline, phase, atMs),
      touch: (atMs: number) => touch(deadline, atMs),
      stop: () => watch.stop(deadline),
    }
  }
  return { late, start, deadline: start('') }
}

describe('each timeout is exact to the millisecond', () => {
  test('for the connection', () => {
    const { clock, pass } = standingClock()
    const { late } = watched(clock)
    pass(99)
    expect(late).toEqual([])
    pass(1)
    expect(late).toEqual(['connect at 100'])
  })

  test('for the headers, even if the connect timeout is later', () => {
    const { clock, pass } = standingClock()
    const { late, deadline } = watched(clock)
    pass(10)
    deadline.enter('headers', 10)
    pass(500)
    expect(late).toEqual(['headers at 60'])
  })

  test('for idle time, since the last byte', () => {
    const { clock, pass } = standingClock()
    const { late, deadline } = watched(clock)
    deadline.enter('idle', 0)
    pass(150)
    deadline.touch(150)
    pass(150)
    deadline.touch(300)
    pass(500)
    expect(late).toEqual(['idle at 500'])
  })

  test('for the total, even if bytes keep arriving', () => {
    const { clock, pass } = standingClock()
    const { late, deadline } = watched(clock)
    deadline.enter('idle', 0)
    for (let atMs = 100; atMs < 1_000; atMs += 100) {
      pass(100)
      deadline.touch(atMs)
    }
    pass(500)
    expect(late).toEqual(['total at 1000'])
  })
})

test('the timer is not reset for each byte', () => {
  const { clock, pass, set } = standingClock()
  const { deadline } = watched(clock)
  deadline.enter('idle', 0)
  for (let atMs = 1; atMs <= 900; atMs++) {
    pass(1)
    deadline.touch(atMs)
  }
  expect(set()).toBeLessThan(10)
})

test('bytes that are read one turn after a timeout still count', () => {
  const { clock, stall, wakeOnce } = standingClock()
  const { late, deadline } = watched(clock)
  deadline.enter('headers', 0)
  stall(70)
  wakeOnce()
  deadline.enter('idle', 70)
  wakeOnce()
  expect(late).toEqual([])
})

test('a timeout counts after one more turn without bytes', () => {
  const { clock, stall, wakeOnce } = standingClock()
  const { late, deadline } = watched(clock)
  deadline.enter('headers', 0)
  stall(70)
  wakeOnce()
  wakeOnce()
  expect(late).toEqual(['headers at 70'])
})

test('after a stop nothing is called and no timer is left', () => {
  const { clock, pass, waiting } = standingClock()
  const { late, deadline } = watched(clock)
  deadline.enter('headers', 0)
  deadline.stop()
  expect(waiting()).toBe(0)
  pass(5_000)
  expect(late).toEqual([])
})

describe('many requests', () => {
  test('share one timer, and each has its own timeout', () => {
    const { clock, pass, set, waiting } = standingClock()
    const { late, start } = watched(clock)
    const others = Array.from({ length: 500 }, (_, index) => {
      pass(0.1)
      return start(`${index} `)
    })
    expect([set(), waiting()]).toEqual([1, 1])
    for (const [index, other] of others.entries()) if (index !== 300) other.stop()
    pass(500)
    expect(late).toEqual(['connect at 100', expect.stringMatching(/^300 connect at 130/)])
    expect(waiting()).toBe(0)
  })

  test('one that ends because of the timeout of another has no timeout of its own', () => {
    const { clock, pass } = standingClock()
    const watch = createDeadlineWatch(clock)
    const late: string[] = []
    const first = watch.start(timeouts, 0, () => {
      late.push('first')
      watch.stop(second)
    })
    const second = watch.start(timeouts, 0, () => late.push('second'))
    pass(1_000)
    watch.stop(first)
    expect(late).toEqual(['first'])
  })

  test('a stopped one makes room for the next', () => {
    const { clock, pass } = standingClock()
    const { late, start, deadline } = watched(clock)
    deadline.stop()
    deadline.stop()
    start('next ')
    start('last ').enter('headers', 0)
    pass(100)
    expect(late).toEqual(['last headers at 50', 'next connect at 100'])
  })
})
