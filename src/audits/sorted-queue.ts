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
  let head = 0

  /** How many positions of `items` come before all keys that are at least `key`, or above it. */
  const search = (key: number, isAbove: boolean): number => {
    let low = head
    let high = items.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const item = items[middle]
      const other = item === undefined ? Number.POSITIVE_INFINITY : keyOf(item)
      if (isAbove ? other <= key : other < key) low = middle + 1
      else high = middle
    }
    return low
  }

  return {
    insert: item => {
      const key = keyOf(item)
      const last = items[items.length - 1]
      if (items.length === head || last === undefined || keyOf(last) <= key) items.push(item)
      else items.splice(search(key, true), 0, item)
    },
    shift: () => {
      if (head === items.length) return undefined
      const first = items[head++]
      if (head > cutOffAt && head * 2 > items.length) {
        items = items.slice(head)
        head = 0
      }
      return first
    },
    at: index => items[head + index],
    countBelow: key => search(key, false) - head,
    size: () => items.length - head,
  }
}
