export type Batch<Item> = {
  readonly add: (item: Item) => void
  /** Handles all waiting items. To be called before anything is read that `handle` writes. */
  readonly flush: () => void
}

/** Calls `work` when there is time for it; `hasTime` tells it whether there still is. */
export type Defer = (work: (hasTime: () => boolean) => void) => void

const tokensPerWrite: Defer = work => work(() => true)
/** The share of waiting items that is handled even without time, so that fewer wait than arrive in eight turns. */
const minShare = 1 / 8
/** How many items are handled between two questions for time. */
const itemsPerCheck = 4

/** Handles items in their order, once `size` of them wait and `defer` calls for it; by default at once. */
export function createBatch<Item>(size: number, handle: (item: Item) => void, defer = tokensPerWrite): Batch<Item> {
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

/** How long timers and sockets may have to wait for deferred work. */
const sliceMs = 1

/**
 * Defers work to the turn after the next one of the event loop: by then everything that has arrived is read, and the
 * requests that follow from it are written.
 */
export const whenIdle: Defer = work => {
  setImmediate(() =>
    setImmediate(() => {
      const endMs = performance.now() + sliceMs
      work(() => performance.now() < endMs)
    }),
  )
}
