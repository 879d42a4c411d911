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

/** Handles items in the order in which they come, when so many wait, and `later` says so. */
export function inBatches<Item>(size: number, handle: (item: Item) => void, later = atOnce): Batch<Item> {
  let waiting: Item[] = []
  let isPutOff = false
  const take = (count: number) => {
    const items = waiting
    waiting = items.splice(count)
    for (const item of items) handle(item)
  }
  const turn = (hasTime: () => boolean) => {
    isPutOff = false
    const most = waiting.length * (1 - leastShare)
    while (waiting.length > most || (waiting.length > 0 && hasTime())) take(handledBetweenLooks)
    putOff()
  }
  const putOff = () => {
    if (isPutOff || waiting.length < size) return
    isPutOff = true
    later(turn)
  }
  return {
    add: item => {
      waiting.push(item)
      putOff()
    },
    flush: () => take(waiting.length),
  }
}
