/** The time interval of a request, for overlaps. All times in milliseconds since the start of the run. */
export type RequestInterval = {
  readonly sentMs: number
  /** The state in the response is from this time at the latest. Not before `sentMs`. */
  readonly shownMs: number
  /** Requests sent from this time on find the effect of this request. Not before `shownMs`. */
  readonly settledMs: number
}

/** The effects that a request may have found, as sums over other requests. */
export type SumBounds<Sum> = {
  /** Over requests that had settled before it was sent: it certainly found their effect. */
  readonly certain: Sum
  /** Over all requests that were sent before it. */
  readonly before: Sum
  /** Over itself and all requests sent before its response showed a state. It found no other effects. */
  readonly possible: Sum
}

export type OverlapBounds<Entry extends RequestInterval> = {
  /** Entries added later were sent at `watermarkMs` or later. */
  readonly add: (entry: Entry, watermarkMs: number) => void
  /** Judges all open entries. No more entries are added. */
  readonly finish: () => void
}

/**
 * Bounds for everything that adds up while requests overlap: money on an account, requests in a window. Entries are
 * judged in the order of sending, each as soon as no later entry can affect it. The time per entry does not depend on
 * the number of overlapping requests, and only open entries are stored. Of a judged one, its effect is stored until it
 * has settled: at thousands of requests per second, `keep` saves memory if it returns the same object for equal effects.
 */
export function createOverlapBounds<Entry extends RequestInterval & Effect, Sum, Effect = Entry>(
  zero: Sum,
  plus: (sum: Sum, effect: Effect) => Sum,
  judge: (entry: Entry, view: SumBounds<Sum>) => void,
  keep: (entry: Entry) => Effect = entry => entry,
): OverlapBounds<Entry> {
  type Place = { readonly entry: Entry; sumThrough: Sum }
  const open = createSortedQueue<Place>(({ entry }) => entry.sentMs)
  /** How many of the open entries have their final sum: no entry can come before them any more. */
  let summed = 0
  let total = zero
  let before = zero
  const unsettled = createQueue<Effect>()
  let certain = zero

  function judgeFirst({ entry, sumThrough }: Place) {
    while (unsettled.firstKey() <= entry.sentMs) {
      const first = unsettled.shift()
      if (first !== undefined) certain = plus(certain, first)
    }
    const reach = Math.max(1, open.countBelow(entry.shownMs))
    const possible = open.at(reach - 1)?.sumThrough ?? total
    judge(entry, { certain, before, possible })
    before = sumThrough
    unsettled.insert(keep(entry), entry.settledMs)
    open.shift()
    summed--
  }

  function advance(watermarkMs: number) {
    for (let next = open.at(summed); next !== undefined && next.entry.sentMs < watermarkMs; next = open.at(summed)) {
      total = plus(total, next.entry)
      next.sumThrough = total
      summed++
    }
    for (let first = open.at(0); first !== undefined && first.entry.shownMs < watermarkMs; first = open.at(0))
      judgeFirst(first)
  }

  return {
    add: (entry, watermarkMs) => {
      open.insert({ entry, sumThrough: zero })
      advance(watermarkMs)
    },
    finish: () => advance(Number.POSITIVE_INFINITY),
  }
}

/** A queue in ascending order of a key. Items with equal keys keep their insertion order. */
type Queue<Item> = {
  /** Fast if the item belongs near the end. */
  readonly insert: (item: Item, key: number) => void
  readonly shift: () => Item | undefined
  readonly at: (index: number) => Item | undefined
  /** Infinity for an empty queue. */
  readonly firstKey: () => number
  readonly countBelow: (key: number) => number
  readonly size: () => number
}

/** A queue whose items have their keys themselves. */
type SortedQueue<Item> = Omit<Queue<Item>, 'insert' | 'firstKey'> & { readonly insert: (item: Item) => void }

export function createSortedQueue<Item>(keyOf: (item: Item) => number): SortedQueue<Item> {
  const queue = createQueue<Item>()
  return { ...queue, insert: item => queue.insert(item, keyOf(item)) }
}

/** Items that are moved one by one at an insertion. */
const maxMoved = 128
/** Removes shifted items once there are more than this, and more than remain. */
const cutOffAt = 256

function createQueue<Item>(): Queue<Item> {
  let items: (Item | undefined)[] = []
  /** The keys of the items, at the same positions. Most calls search for a key. */
  let keys: number[] = []
  let head = 0

  /** The first position whose key is at least `key`, or above it. */
  const search = (key: number, isAbove: boolean): number => {
    let low = head
    let high = keys.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const other = keys[middle] ?? Number.NaN
      if (isAbove ? other <= key : other < key) low = middle + 1
      else high = middle
    }
    return low
  }

  return {
    insert: (item, key) => {
      let position = items.length
      if (position - maxMoved > head && (keys[position - maxMoved] ?? key) > key) {
        position = search(key, true)
        items.splice(position, 0, item)
        keys.splice(position, 0, key)
        return
      }
      // Few items are above it. Moving them one by one needs no list, unlike `splice`.
      for (; position > head; position--) {
        const above = items[position - 1]
        const other = keys[position - 1]
        if (above === undefined || other === undefined || other <= key) break
        items[position] = above
        keys[position] = other
      }
      items[position] = item
      keys[position] = key
    },
    shift: () => {
      if (head === items.length) return undefined
      const first = items[head]
      // The garbage collector copies what the list still holds.
      items[head++] = undefined
      if (head > cutOffAt && head * 2 > items.length) {
        items = items.slice(head)
        keys = keys.slice(head)
        head = 0
      }
      return first
    },
    at: index => items[head + index],
    firstKey: () => keys[head] ?? Number.POSITIVE_INFINITY,
    countBelow: key => search(key, false) - head,
    size: () => items.length - head,
  }
}
