import { expect, test } from 'vitest'
import { memoizeLast } from '../../../src/lib/memoize-last.ts'

test('what is asked for again at once is not made again', () => {
  let made = 0
  const wordsOf = memoizeLast((text: string) => {
    made++
    return text.split(' ')
  })
  expect(wordsOf('a b')).toBe(wordsOf('a b'))
  expect(made).toBe(1)
})

test('another key, or the same one in another context, gets what is its own', () => {
  const sum = memoizeLast((a: number, b: number) => a + b)
  expect([sum(1, 2), sum(1, 3), sum(2, 3), sum(1, 2)]).toEqual([3, 4, 5, 3])
})

test('a value that is null is remembered as well', () => {
  let made = 0
  const nothing = memoizeLast((_: object) => {
    made++
    return null
  })
  const key = {}
  expect([nothing(key), nothing(key), made]).toEqual([null, null, 1])
})
