import { describe, expect, test } from 'vitest'
import { boundJson, isJson, isObject, parseJson, parseObject, toObject } from '../../../src/lib/json.ts'

describe('an object', () => {
  test.each([[[]], [null], ['{}'], [3], [undefined]])('is not %j', value => {
    expect(isObject(value)).toBe(false)
    expect(toObject(value)).toBeNull()
  })

  test('is null for a text that is not a JSON object', () => {
    expect(parseObject('{"a":[1]}')).toEqual({ a: [1] })
    expect(['[1]', 'null', '{"a":', ''].map(parseObject)).toEqual([null, null, null, null])
  })
})

test('parseJson distinguishes malformed text from null', () => {
  expect([parseJson('null'), parseJson(Buffer.from('"a"')), parseJson('nul')]).toEqual([null, 'a', undefined])
})

test('boundJson truncates long, wide and deep values', () => {
  expect(boundJson('a'.repeat(300))).toBe('a'.repeat(256))
  expect(boundJson(Array.from({ length: 40 }, (_, index) => index))).toHaveLength(32)
  const wide = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`${index}`.padEnd(300, 'k'), index]))
  expect(Object.keys(boundJson(wide) as object)).toHaveLength(32)
  expect(Object.keys(boundJson(wide) as object)[0]).toHaveLength(256)
  expect(boundJson([[[[[[['deep']]]]]]])).toEqual([[[[[[null]]]]]])
  expect(boundJson({ a: [1, null, true] })).toEqual({ a: [1, null, true] })
})

test.each([
  ['application/json', true],
  ['Application/JSON; charset=utf-8', true],
  ['application/json-seq', false],
  ['text/plain', false],
  [undefined, false],
])('%s names JSON: %s', (type, expected) => {
  expect(isJson(type)).toBe(expected)
})
