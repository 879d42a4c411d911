import { expect, test } from 'vitest'
import { expandSequence, namesInSequence } from '../../../src/scenario/stage-schema.ts'

test('expandSequence repeats names with a count', () => {
  expect(expandSequence(['a', '3 x b', '2 × c', '2x d'])).toEqual(['a', 'b', 'b', 'b', 'c', 'c', 'd', 'd'])
})

test.each(['0 x a', '-1 x a', '10000 x a', '3 x', '3 a', 'x a', '1.5 x a'])('%s is a plain name', entry => {
  expect(expandSequence([entry])).toEqual([entry])
})

test('namesInSequence ignores values that are not text', () => {
  expect(namesInSequence(['a', 3, null, '2 x b'])).toEqual(['a', 'b'])
  expect(namesInSequence({ a: 1 })).toEqual([])
})
