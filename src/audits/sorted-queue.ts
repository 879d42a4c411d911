/** A queue in ascending order of a number; equals keep the order in which they came. */
export type SortedQueue<Item> = {
  /** Quick where the item belongs near the end. */
  readonly insert: (item: Item) => void
  readonly shift: () => Item | undefined
  readonly at: (index: number) => Item | undefined
  readonly countBelow: (key: number) => number
  readonly size: () => number
}

/** Items that were shifted are cut off when they are so many, and more than what is left. */
const cutOffAt = 256

export function createSortedQueue<Item>(keyOf: (item: Item) => number): SortedQueue<Item> {
  let items: Item[] = []
  /** Beside the items, place by place: to look for a key is what is done most. */
  let keys: number[] = []
  let head = 0

  /** The first place whose key is at least `key`, or above it. */
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
    insert: item => {
      const key = keyOf(item)
      const last = keys[keys.length - 1]
      if (keys.length === head || last === undefined || last <= key) {
        items.push(item)
        keys.push(key)
        return
      }
      const place = search(key, true)
      items.splice(place, 0, item)
      keys.splice(place, 0, key)
    },
    shift: () => {
      if (head === items.length) return undefined
      const first = items[head++]
      if (head > cutOffAt && head * 2 > items.length) {
        items = items.slice(head)
        keys = keys.slice(head)
        head = 0
      }
      return first
    },
    at: index => items[head + index],
    countBelow: key => search(key, false) - head,
    size: () => items.length - head,
  }
}
