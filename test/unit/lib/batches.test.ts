import { describe, expect, test } from 'vitest'
import { createBatch, whenIdle } from '../../../src/lib/batches.ts'
import { systemClock } from '../../../src/lib/clock.ts'

test('createBatch handles items in batches, each once and in order', () => {
  const handled: number[] = []
  const batch = createBatch<number>(3, item => handled.push(item))
  const seen = [1, 2, 3, 4, 5, 6, 7].map(item => {
    batch.add(item)
    return handled.length
  })
  expect(seen).toEqual([0, 0, 3, 3, 3, 6, 6])
  batch.flush()
  batch.flush()
  expect(handled).toEqual([1, 2, 3, 4, 5, 6, 7])
})

test('items added during a batch are handled after it', () => {
  const handled: string[] = []
  const batch = createBatch<string>(2, item => {
    handled.push(item)
    if (item === 'a') batch.add('c')
  })
  batch.add('a')
  batch.add('b')
  batch.flush()
  expect(handled).toEqual(['a', 'b', 'c'])
})

describe('a deferred batch', () => {
  /** A batch of at least two, whose work waits for `turn`. */
  function deferredBatch(count: number) {
    const handled: number[] = []
    const works: ((hasTime: (times: number) => boolean) => void)[] = []
    const batch = createBatch<number>(
      2,
      item => handled.push(item),
      work => works.push(work),
    )
    for (let item = 0; item < count; item++) batch.add(item)
    const turn = (looks: number) => {
      let left = looks
      works.shift()?.(() => left-- > 0)
      return handled.length
    }
    return { handled, works, batch, turn }
  }

  test('handles as many items per turn as time permits, until none waits', () => {
    const { handled, works, batch, turn } = deferredBatch(4)
    expect([handled.length, works.length]).toEqual([0, 1])
    expect([turn(1), works.length, turn(9), works.length]).toEqual([2, 1, 4, 0])
    batch.add(4)
    expect(works).toHaveLength(0)
    batch.add(5)
    expect([works.length, turn(9)]).toEqual([1, 6])
    expect(handled).toEqual([...Array(6).keys()])
  })

  test('handles one item in each turn without time, and an eighth of more than two batches', () => {
    const few = deferredBatch(4)
    expect([few.turn(0), few.turn(0), few.turn(0), few.turn(0), few.works.length]).toEqual([1, 2, 3, 4, 0])
    const many = deferredBatch(64)
    expect([many.turn(0), many.turn(0)]).toEqual([8, 15])
  })

  test('has twice the time while more than two batches wait', () => {
    const { batch, works, handled } = deferredBatch(5)
    const asked: number[] = []
    const turn = () => works.shift()?.(times => asked.push(times) < 2)
    turn()
    expect([asked, handled]).toEqual([
      [2, 2],
      [0, 1],
    ])
    asked.length = 0
    turn()
    expect([asked, handled]).toEqual([
      [1, 1],
      [0, 1, 2, 3],
    ])
    batch.flush()
  })

  test('has a bounded backlog, even without time', () => {
    const { batch, handled, turn } = deferredBatch(0)
    let maxBacklog = 0
    for (let round = 0, item = 0; round < 200; round++) {
      for (const end = item + 64; item < end; item++) batch.add(item)
      turn(0)
      maxBacklog = Math.max(maxBacklog, item - handled.length)
    }
    expect(maxBacklog).toBeLessThan(64 * 8)
  })

  test('handles everything on flush', () => {
    const { batch, handled, turn, works } = deferredBatch(9)
    batch.flush()
    expect(handled).toHaveLength(9)
    expect([turn(9), works.length]).toEqual([9, 0])
  })
})

test('whenIdle runs work after the rest of this turn of the event loop', async () => {
  const order: string[] = []
  await new Promise<void>(resolve => {
    whenIdle(systemClock())(() => {
      order.push('work')
      resolve()
    })
    setImmediate(() => order.push('sent in the same turn'))
  })
  expect(order).toEqual(['sent in the same turn', 'work'])
})

test('whenIdle limits the time of work', async () => {
  const spentMs = await new Promise<number>(resolve => {
    whenIdle(systemClock())(hasTime => {
      const startedMs = performance.now()
      while (hasTime(1));
      resolve(performance.now() - startedMs)
    })
  })
  expect(spentMs).toBeGreaterThan(0)
})

test('the time of whenIdle ends when an arrival is due, which is then sent before anything else', async () => {
  const order: string[] = []
  let dueMs = Number.POSITIVE_INFINITY
  const clock = {
    nowMs: () => 5,
    wakeDue: (nowMs: number) => {
      if (nowMs < dueMs) return false
      queueMicrotask(() => order.push('sent'))
      return true
    },
  }
  await new Promise<void>(resolve => {
    const items = createBatch<number>(
      64,
      item => {
        order.push(`judged ${item}`)
        // An arrival gets due while the first items are judged.
        dueMs = 5
        if (item === 63) resolve()
      },
      whenIdle(clock),
    )
    for (let item = 0; item < 64; item++) items.add(item)
  })
  expect(order.indexOf('sent')).toBe(1)
  expect(order.filter(each => each !== 'sent')).toEqual(Array.from({ length: 64 }, (_, item) => `judged ${item}`))
})
