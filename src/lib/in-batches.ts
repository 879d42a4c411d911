export type Batch<Item> = {
  readonly add: (item: Item) => void
  /** Handles what waits. To be called before anything is read that `handle` writes. */
  readonly flush: () => void
}

/** Has work done when there is time for it; `hasTime` tells the work whether there still is. */
export type Later = (work: (hasTime: () => boolean) => void) => void

const atOnce: Later = work => work(() => true)
/** Of what waits, this share is handled even where there is no time, so that less waits than comes in eight turns. */
const leastShare = 1 / 8
const handledBetweenLooks = 4
/** So many that are handled make it worth while to forget them. */
const manyHandled = 1_024

/** Handles items in the order in which they come, when so many wait, and `later` says so. */
export function inBatches<Item>(size: number, handle: (item: Item) => void, later = atOnce): Batch<Item> {
  let items: Item[] = []
  /** Those before it are handled. */
  let next = 0
  let isPutOff = false
  const waiting = () => items.length - next
  const take = (count: number) => {
    for (let left = count; left > 0 && waiting() > 0; left--) handle(items[next++] as Item)
    if (next < manyHandled && waiting() > 0) return
    items = items.slice(next)
    next = 0
  }
  const turn = (hasTime: () => boolean) => {
    isPutOff = false
    const most = waiting() * (1 - leastShare)
    while (waiting() > most || (waiting() > 0 && hasTime())) take(handledBetweenLooks)
    putOff()
  }
  const putOff = () => {
    if (isPutOff || waiting() < size) return
    isPutOff = true
    later(turn)
  }
  return {
    add: item => {
      items.push(item)
      putOff()
    },
    flush: () => take(waiting()),
  }
}
