export type Batch<Item> = {
  readonly add: (item: Item) => void
  /** Handles all waiting items. Call it before reading anything that `handle` writes. */
  readonly flush: () => void
}

/** Calls `work` when there is time for it. `hasTime` is false once that time is over. */
export type Defer = (work: (hasTime: () => boolean) => void) => void

const immediately: Defer = work => work(() => true)
/** The share of waiting items that each turn handles even without time. It bounds the backlog to the arrivals of eight turns. */
const minShare = 1 / 8
/** Items between two checks of the time. */
const itemsPerCheck = 4
/** Handled items are removed once there are this many. */
const cutOffAt = 256

/** Handles items in order, when `size` of them wait and `defer` calls back. By default that is immediately. */
export function createBatch<Item>(size: number, handle: (item: Item) => void, defer = immediately): Batch<Item> {
  let items: Item[] = []
  /** The position of the first item that waits. */
  let next = 0
  let isDeferred = false
  const waiting = () => items.length - next
  const take = (count: number) => {
    for (let taken = 0; taken < count && waiting() > 0; taken++) handle(items[next++] as Item)
    if (next < cutOffAt && waiting() > 0) return
    items = items.slice(next)
    next = 0
  }
  const turn = (hasTime: () => boolean) => {
    isDeferred = false
    const maxLeft = waiting() * (1 - minShare)
    while (waiting() > maxLeft || (waiting() > 0 && hasTime())) take(itemsPerCheck)
    deferOnce()
  }
  const deferOnce = () => {
    if (isDeferred || waiting() < size) return
    isDeferred = true
    defer(turn)
  }
  return {
    add: item => {
      items.push(item)
      deferOnce()
    },
    flush: () => take(waiting()),
  }
}

/** The maximum time that deferred work may delay timers and sockets. */
const sliceMs = 1

/**
 * Defers work to the turn of the event loop after the next one. By then, everything that has arrived is read, and the
 * resulting requests are written.
 */
export const whenIdle: Defer = work => {
  setImmediate(() =>
    setImmediate(() => {
      const endMs = performance.now() + sliceMs
      work(() => performance.now() < endMs)
    }),
  )
}
