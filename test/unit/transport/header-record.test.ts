import { expect, test } from 'vitest'
import { headerRecord } from '../../../src/transport/header-record.ts'

const plain = (received: Parameters<typeof headerRecord>[0]) => ({ ...headerRecord(received) })

test('repeated headers are joined with a comma and a space', () => {
  expect(plain({ via: ['a', 'b', 'c'], age: '1' })).toEqual({ via: 'a, b, c', age: '1' })
})

test('a value is cut at 512 characters, also when it was joined', () => {
  expect(plain({ a: 'x'.repeat(513), b: ['y'.repeat(300), 'z'.repeat(300)] })).toEqual({
    a: 'x'.repeat(512),
    b: `${'y'.repeat(300)}, ${'z'.repeat(210)}`,
  })
})

test('the first 128 names are kept', () => {
  const many = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`x-${i}`, `${i}`]))
  expect(Object.keys(plain(many))).toEqual(Array.from({ length: 128 }, (_, i) => `x-${i}`))
})

test('a header that was not sent is absent, whatever its name', () => {
  expect(headerRecord({}).constructor).toBeUndefined()
})

test('a header called __proto__ is a header', () => {
  const received = JSON.parse('{"__proto__":"x"}')
  expect(Object.entries(headerRecord(received))).toEqual([['__proto__', 'x']])
})
