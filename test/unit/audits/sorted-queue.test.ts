import { expect, test } from 'vitest'
import { createSortedQueue } from '../../../src/audits/sorted-queue.ts'
import { randomStream } from '../../../src/lib/random.ts'

test('what is inserted in any order comes out in ascending order, equals as they came', () => {
  const random = randomStream(1, 'queue')
  const items = Array.from({ length: 2000 }, (_, place) => ({ key: random.int(200), place }))
  const queue = createSortedQueue<(typeof items)[number]>(item => item.key)
  for (const item of items) queue.insert(item)
  const out = Array.from({ length: 2000 }, () => queue.shift())
  expect(out).toEqual(items.toSorted((a, b) => a.key - b.key || a.place - b.place))
  expect(queue.shift()).toBeUndefined()
})

test('taking out and putting in by turns never loses or reorders an item', () => {
  const random = randomStream(2, 'queue')
  const queue = createSortedQueue<number>(key => key)
  let held: number[] = []
  for (let turn = 0; turn < 5000; turn++) {
    if (random.next() < 0.55) {
      const key = turn + random.int(50)
      queue.insert(key)
      held = [...held, key].sort((a, b) => a - b)
    } else expect(queue.shift()).toBe(held.shift())
    expect(queue.size()).toBe(held.length)
    expect(queue.at(3)).toBe(held[3])
    expect(queue.countBelow(turn)).toBe(held.filter(key => key < turn).length)
  }
})
