import { expect, test } from 'vitest'
import { memoizeByObject, memoizeLast } from '../../../src/lib/memoize.ts'

test('memoizeLast reuses the value of the last call', () => {
  let made = 0
  const wordsOf = memoizeLast((text: string) => {
    made++
    return text.split(' ')
  })
  expect(wordsOf('a b')).toBe(wordsOf('a b'))
  expect(made).toBe(1)
})

test('memoizeLast computes a new value for another key or context', () => {
  const sum = memoizeLast((a: number, b: number) => a + b)
  expect([sum(1, 2), sum(1, 3), sum(2, 3), sum(1, 2)]).toEqual([3, 4, 5, 3])
})

test('memoizeLast caches null', () => {
  let made = 0
  const nothing = memoizeLast((_: object) => {
    made++
    return null
  })
  const key = {}
  expect([nothing(key), nothing(key), made]).toEqual([null, null, 1])
})

test('memoizeByObject computes the value of each object once, in any order', () => {
  let made = 0
  const reversed = memoizeByObject((list: readonly string[]) => {
    made++
    return list.toReversed()
  })
  const [one, two] = [['a'], ['a', 'b']]
  expect([one, two, one, two].map(reversed)).toEqual([['a'], ['b', 'a'], ['a'], ['b', 'a']])
  expect(made).toBe(2)
})
