import { describe, expect, test } from 'vitest'
import { createBatch, whenIdle } from '../../../src/lib/batches.ts'

test('items are handled so many at a time, each once and in order', () => {
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

test('what is added while others are handled comes behind them', () => {
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

describe('what is put off', () => {
  /** A batch of two at least, with work that waits for `turn`. */
  function putOff(count: number) {
    const handled: number[] = []
    const works: ((hasTime: () => boolean) => void)[] = []
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

  test('is handled in turns, as much as there is time for', () => {
    const { handled, works, batch, turn } = putOff(9)
    expect([handled.length, works.length]).toEqual([0, 1])
    expect([turn(0), turn(1), works.length]).toEqual([4, 9, 0])
    batch.add(9)
    expect(works).toHaveLength(0)
    batch.add(10)
    expect([works.length, turn(9)]).toEqual([1, 11])
    expect(handled).toEqual([...Array(11).keys()])
  })

  test('cannot pile up, though there never is time', () => {
    const { batch, handled, turn } = putOff(0)
    let most = 0
    for (let round = 0, item = 0; round < 200; round++) {
      for (const end = item + 64; item < end; item++) batch.add(item)
      turn(0)
      most = Math.max(most, item - handled.length)
    }
    expect(most).toBeLessThan(64 * 8)
  })

  test('is all handled where somebody reads what comes of it', () => {
    const { batch, handled, turn, works } = putOff(9)
    batch.flush()
    expect(handled).toHaveLength(9)
    expect([turn(9), works.length]).toEqual([9, 0])
  })
})

test('work comes behind what this turn of the event loop still brings', async () => {
  const order: string[] = []
  await new Promise<void>(resolve => {
    whenIdle(() => {
      order.push('work')
      resolve()
    })
    setImmediate(() => order.push('sent in the same turn'))
  })
  expect(order).toEqual(['sent in the same turn', 'work'])
})

test('the time that it has comes to an end', async () => {
  const spentMs = await new Promise<number>(resolve => {
    whenIdle(hasTime => {
      const startedMs = performance.now()
      while (hasTime());
      resolve(performance.now() - startedMs)
    })
  })
  expect(spentMs).toBeGreaterThan(0)
})
