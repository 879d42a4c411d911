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

/** Handles items in order, when `size` of them wait and `defer` calls back. By default that is immediately. */
export function createBatch<Item>(size: number, handle: (item: Item) => void, defer = immediately): Batch<Item> {
  let waiting: Item[] = []
  let isDeferred = false
  const take = (count: number) => {
    const items = waiting
    waiting = items.splice(count)
    for (const item of items) handle(item)
  }
  const turn = (hasTime: () => boolean) => {
    isDeferred = false
    const maxLeft = waiting.length * (1 - minShare)
    while (waiting.length > maxLeft || (waiting.length > 0 && hasTime())) take(itemsPerCheck)
    deferOnce()
  }
  const deferOnce = () => {
    if (isDeferred || waiting.length < size) return
    isDeferred = true
    defer(turn)
  }
  return {
    add: item => {
      waiting.push(item)
      deferOnce()
    },
    flush: () => take(waiting.length),
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
