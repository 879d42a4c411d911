/** `wake` is null once the timer has fired or was cancelled. `order`: of creation. */
export type Timer = { readonly dueMs: number; readonly order: number; wake: (() => void) | null }

const isBefore = (a: Timer, b: Timer): boolean => a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order)

/** A binary heap with the next timer first. */
export function createTimers() {
  const heap: Timer[] = []
  const at = (index: number): Timer => heap[index] as Timer
  const swap = (a: number, b: number) => {
    const moved = at(a)
    heap[a] = at(b)
    heap[b] = moved
  }
  const removeFirst = () => {
    const last = heap.pop()
    if (last === undefined || heap.length === 0) return
    heap[0] = last
    for (let parent = 0; ; ) {
      const left = 2 * parent + 1
      if (left >= heap.length) break
      const right = left + 1
      const least = right < heap.length && isBefore(at(right), at(left)) ? right : left
      if (!isBefore(at(least), at(parent))) break
      swap(least, parent)
      parent = least
    }
  }
  /** The next timer that has not been cancelled. */
  const first = (): Timer | undefined => {
    while (heap[0]?.wake === null) removeFirst()
    return heap[0]
  }
  return {
    first,
    add: (timer: Timer) => {
      heap.push(timer)
      for (let child = heap.length - 1; child > 0; ) {
        const parent = (child - 1) >> 1
        if (!isBefore(at(child), at(parent))) break
        swap(child, parent)
        child = parent
      }
    },
    /** Removes the next timer if it is due. */
    takeDue: (nowMs: number): Timer | null => {
      const timer = first()
      if (timer === undefined || timer.dueMs > nowMs) return null
      removeFirst()
      return timer
    },
  }
}

/** Wakes the one who waits for this timer, once. */
export function fire(timer: Timer): void {
  const { wake } = timer
  timer.wake = null
  wake?.()
}
