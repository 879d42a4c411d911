import { expect, test } from 'vitest'
import { inBatches } from '../../../src/lib/in-batches.ts'

test('items are handled so many at a time, each once and in order', () => {
  const handled: number[] = []
  const batch = inBatches<number>(3, item => handled.push(item))
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
  const batch = inBatches<string>(2, item => {
    handled.push(item)
    if (item === 'a') batch.add('c')
  })
  batch.add('a')
  batch.add('b')
  batch.flush()
  expect(handled).toEqual(['a', 'b', 'c'])
})
