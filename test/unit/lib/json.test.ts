import { describe, expect, test } from 'vitest'
import { boundJson, isJson, isObject, parseJson, parseObject, parseUncut, toObject } from '../../../src/lib/json.ts'

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

describe('a text that is nested deeply', () => {
  const lists = (depth: number, inside = '1') => '['.repeat(depth) + inside + ']'.repeat(depth)
  const objects = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`

  test('is read whole up to 128 levels', () => {
    for (const text of [lists(128), objects(128)]) {
      expect(JSON.stringify(parseJson(text))).toBe(text)
      expect(parseUncut(text)).toEqual(parseJson(text))
    }
  })

  test.each([129, 2_000, 100_000, 2_000_000])('of %d levels has null in place of what is deeper', depth => {
    expect(JSON.stringify(parseJson(lists(depth)))).toBe(lists(128, 'null'))
    expect(JSON.stringify(parseJson(objects(depth)))).toBe(objects(128).replace('1', 'null'))
    expect(parseUncut(lists(depth))).toBeUndefined()
  })

  test('keeps what stands beside a value that is too deep', () => {
    const text = `{"a":"[[[[\\"]","deep":[${lists(200)},2,${objects(300)}],"b":{"c":[3]}}`
    const value = { a: '[[[["]', deep: [expect.anything(), 2, expect.anything()], b: { c: [3] } }
    expect(parseJson(text)).toEqual(value)
  })

  test('has a bound that its reader may choose', () => {
    const text = `{"a":[[1]],"b":[2]}${' '.repeat(20)}`
    expect(parseJson(text, 2)).toEqual({ a: [null], b: [2] })
  })

  test.each(['['.repeat(1_000), `${'['.repeat(1_000)}1${']'.repeat(999)}`, `${lists(500)}]`, `{"a":${lists(500)}`])(
    'is malformed if its brackets do not match',
    text => expect(parseJson(text)).toBeUndefined(),
  )
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
