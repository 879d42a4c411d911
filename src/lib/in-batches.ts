export type Batch<Item> = {
  readonly add: (item: Item) => void
  /** Handles what waits. To be called before anything is read that `handle` writes. */
  readonly flush: () => void
}

/** Handles items in the order in which they come, so many at a time. */
export function inBatches<Item>(size: number, handle: (item: Item) => void): Batch<Item> {
  let waiting: Item[] = []
  const flush = () => {
    const items = waiting
    waiting = []
    for (const item of items) handle(item)
  }
  return {
    add: item => {
      waiting.push(item)
      if (waiting.length >= size) flush()
    },
    flush,
  }
}
