import { describe, expect, test } from 'vitest'
import type { Clock } from '../../../../src/lib/clock.ts'
import { watchStalls } from '../../../../src/produce/transport/stalls.ts'

/** A clock whose only timer wakes as late as the test says. */
function lateClock() {
  let now = 0
  let next: { dueMs: number; wake: () => void } | null = null
  const at: Clock['at'] = (dueMs, wake) => {
    next = { dueMs, wake }
    return () => {
      next = null
    }
  }
  return {
    clock: { nowMs: () => now, wallMs: () => now, at, atPrecisely: at, wakeDue: () => false } satisfies Clock,
    moveTo: (ms: number) => {
      now = ms
    },
    /** Wakes on time until `ms`. */
    runTo: (ms: number) => {
      while (next !== null && next.dueMs <= ms) {
        now = Math.max(now, next.dueMs)
        next.wake()
      }
      now = Math.max(now, ms)
    },
    hasTimer: () => next !== null,
  }
}

describe('the stalls between two instants', () => {
  test('are none while the event loop is on time', () => {
    const { clock, runTo } = lateClock()
    const stalls = watchStalls(clock)
    runTo(1000)
    expect(stalls.between(0, 1000)).toBeUndefined()
  })
  test('are as long as nothing was read', () => {
    const { clock, runTo, moveTo } = lateClock()
    const stalls = watchStalls(clock)
    runTo(100)
    moveTo(140)
    expect(stalls.between(50, 140)).toEqual({ count: 1, longestMs: 40 })
    runTo(200)
    expect(stalls.between(50, 200)).toEqual({ count: 1, longestMs: 40 })
    moveTo(220)
    runTo(300)
    expect(stalls.between(50, 300)).toEqual({ count: 2, longestMs: 40 })
  })
  test('leave out those that were over before', () => {
    const { clock, runTo, moveTo } = lateClock()
    const stalls = watchStalls(clock)
    runTo(100)
    moveTo(140)
    runTo(200)
    expect(stalls.between(141, 200)).toBeUndefined()
  })
  test('are not forgotten after thousands of others', () => {
    const { clock, runTo, moveTo } = lateClock()
    const stalls = watchStalls(clock)
    moveTo(500)
    runTo(510)
    for (let ms = 510; ms < 60_000; ms += 20) {
      moveTo(ms + 10)
      runTo(ms + 20)
    }
    const seen = stalls.between(0, 60_000)
    expect(seen?.longestMs).toBe(500)
    expect(seen?.count).toBeGreaterThan(2000)
  })
  test('end with the watch', () => {
    const { clock, hasTimer } = lateClock()
    watchStalls(clock).stop()
    expect(hasTimer()).toBe(false)
  })
})
