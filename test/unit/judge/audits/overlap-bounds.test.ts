import { describe, expect, test } from 'vitest'
import {
  createOverlapBounds,
  createSortedQueue,
  type RequestInterval,
  type SumBounds,
} from '../../../../src/judge/audits/overlap-bounds.ts'
import { randomStream } from '../../../../src/lib/random.ts'

type Entry = RequestInterval & { readonly id: number }

/** Sums of ids, as sets of ids. */
const boundsOf = (entries: readonly Entry[], watermarks: readonly number[] = []) => {
  const judged: { id: number; view: SumBounds<readonly number[]> }[] = []
  const bounds = createOverlapBounds<Entry, readonly number[]>(
    [],
    (sum, { id }) => [...sum, id],
    ({ id }, view) => judged.push({ id, view }),
  )
  const judgedAfter = entries.map((entry, index) => {
    bounds.add(entry, watermarks[index] ?? 0)
    return judged.length
  })
  bounds.finish()
  return { judged, judgedAfter }
}

const span = (id: number, sentMs: number, shownMs: number, settledMs = shownMs): Entry => ({
  id,
  sentMs,
  shownMs,
  settledMs,
})

describe('overlap bounds', () => {
  test('include effects that settled before an entry was sent, and possibly those sent before its response', () => {
    const { judged } = boundsOf([span(1, 0, 10), span(2, 5, 30), span(3, 20, 25), span(4, 29, 40)])
    expect(judged.find(({ id }) => id === 3)?.view).toEqual({ certain: [1], before: [1, 2], possible: [1, 2, 3] })
    expect(judged.find(({ id }) => id === 2)?.view).toEqual({ certain: [], before: [1], possible: [1, 2, 3, 4] })
  })

  test('treat a request sent at the instant of a response as sent after it', () => {
    const { judged } = boundsOf([span(1, 0, 10), span(2, 10, 20)])
    expect(judged.map(({ view }) => view)).toEqual([
      { certain: [], before: [], possible: [1] },
      { certain: [1], before: [1], possible: [1, 2] },
    ])
  })

  test('treat an effect that settles late as uncertain until then', () => {
    const { judged } = boundsOf([span(1, 0, 10, 1010), span(2, 1009, 1020), span(3, 1010, 1020)])
    expect(judged.map(({ view }) => view.certain)).toEqual([[], [], [1]])
  })

  test('are judged as soon as no later entry can affect them', () => {
    const { judgedAfter } = boundsOf([span(1, 0, 10), span(2, 5, 8), span(3, 11, 12)], [0, 5, 11])
    expect(judgedAfter).toEqual([0, 0, 2])
  })

  test('match a comparison of every entry with all others in a random history', () => {
    for (let seed = 0; seed < 20; seed++) {
      const random = randomStream(seed, 'bounds')
      const entries = Array.from({ length: 300 }, (_, id) => {
        const sentMs = random.int(3000)
        const shownMs = sentMs + 1 + random.int(100)
        return span(id, sentMs, shownMs, shownMs + random.int(200))
      })
      // Requests sent within 50 ms of each other arrive in random order.
      const order = entries.toSorted((a, b) => a.sentMs - b.sentMs + (a.id % 7) * 7 - (b.id % 7) * 7)
      const watermarks = order.map((_, index) => Math.min(...order.slice(index).map(entry => entry.sentMs)))
      const sorted = (ids: readonly number[]) => ids.toSorted((a, b) => a - b)
      for (const { id, view } of boundsOf(order, watermarks).judged) {
        const own = entries[id] ?? span(0, 0, 0)
        const which = (found: (other: Entry) => boolean) => entries.filter(found).map(other => other.id)
        expect(sorted(view.certain)).toEqual(which(other => other.settledMs <= own.sentMs))
        expect(sorted(view.possible)).toEqual(which(other => other.sentMs < own.shownMs))
      }
    }
  })

  test('take less than two seconds for a hundred thousand entries with a thousand overlapping', () => {
    const started = performance.now()
    let judged = 0
    const bounds = createOverlapBounds<Entry, bigint>(
      0n,
      (sum, { id }) => sum + BigInt(id),
      () => judged++,
    )
    for (let id = 0; id < 100_000; id++) bounds.add(span(id, id, id + 1000, id + 2000), id)
    bounds.finish()
    expect(judged).toBe(100_000)
    expect(performance.now() - started).toBeLessThan(2000)
  })
})

test('items inserted in any order come out in ascending order, and equal items in insertion order', () => {
  const random = randomStream(1, 'queue')
  const items = Array.from({ length: 2000 }, (_, seq) => ({ key: random.int(200), seq }))
  const queue = createSortedQueue<(typeof items)[number]>(item => item.key)
  for (const item of items) queue.insert(item)
  const out = Array.from({ length: 2000 }, () => queue.shift())
  expect(out).toEqual(items.toSorted((a, b) => a.key - b.key || a.seq - b.seq))
  expect(queue.shift()).toBeUndefined()
})

test('alternating inserts and removals never lose or reorder an item', () => {
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
