import type { Clock } from './clock.ts'

export type Batch<Item> = {
  readonly add: (item: Item) => void
  /** Handles all waiting items. Call it before reading anything that `handle` writes. */
  readonly flush: () => void
}

/** Calls `work` when there is time for it. `hasTime` is false once that time, or this many times of it, is over. */
export type Defer = (work: (hasTime: (times: number) => boolean) => void) => void

const immediately: Defer = work => work(() => true)
/**
 * If more than `batches` of items wait, each turn has more time, and handles this share of them even without time. It bounds
 * the backlog to these, or to the arrivals of eight turns.
 */
const minShare = 1 / 8
const batches = 2
/** The garbage collector copies what waits, so a lasting backlog costs more than longer turns. */
const timesIfBehind = 2
/** Handled items are removed once there are this many. */
const cutOffAt = 256

/**
 * Handles items in order: once `size` of them wait, all of them, in as many calls of `defer` as it takes. By default that is
 * immediately.
 */
export function createBatch<Item>(size: number, handle: (item: Item) => void, defer = immediately): Batch<Item> {
  let items: (Item | undefined)[] = []
  /** The position of the first item that waits. */
  let next = 0
  let isDeferred = false
  const waiting = () => items.length - next
  const take = () => {
    const item = items[next] as Item
    // The garbage collector copies what the list still holds.
    items[next++] = undefined
    handle(item)
    if (next < cutOffAt && waiting() > 0) return
    items = items.slice(next)
    next = 0
  }
  const turn = (hasTime: (times: number) => boolean) => {
    isDeferred = false
    const first = waiting()
    const isBehind = first > batches * size
    const maxLeft = isBehind ? first * (1 - minShare) : first - 1
    while (waiting() > 0 && (waiting() > maxLeft || hasTime(isBehind ? timesIfBehind : 1))) take()
    deferAt(1)
  }
  const deferAt = (count: number) => {
    if (isDeferred || waiting() < count) return
    isDeferred = true
    defer(turn)
  }
  return {
    add: item => {
      items.push(item)
      deferAt(size)
    },
    flush: () => {
      for (let count = waiting(); count > 0; count--) take()
    },
  }
}

/** The time that deferred work may delay timers and sockets. */
const sliceMs = 1

/**
 * Defers work to the turn of the event loop after the next one. By then, everything that has arrived is read, and the
 * resulting requests are written. The time is over, too, when a precise timer of the clock is due, which then wakes.
 */
export const whenIdle =
  ({ nowMs, wakeDue }: Pick<Clock, 'nowMs' | 'wakeDue'>): Defer =>
  work => {
    setImmediate(() =>
      setImmediate(() => {
        const startMs = performance.now()
        work(times => performance.now() < startMs + times * sliceMs && !wakeDue(nowMs()))
      }),
    )
  }
