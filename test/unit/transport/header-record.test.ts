import { describe, expect, test } from 'vitest'
import { headerRecord } from '../../../src/transport/header-record.ts'

const sources = [
  { of: 'bytes', raw: (...texts: readonly string[]) => texts.map(text => Buffer.from(text, 'latin1')) },
  { of: 'strings', raw: (...texts: readonly string[]) => texts },
]

describe.each(sources)('headers of $of', ({ raw }) => {
  const plain = (...texts: readonly string[]) => ({ ...headerRecord(raw(...texts)) })

  test('have names in lower case, and values as they came', () => {
    expect(plain('X-Id', 'Ab', 'DATE', 'ä')).toEqual({ 'x-id': 'Ab', date: 'ä' })
  })

  test('that are repeated are joined with a comma and a space', () => {
    expect(plain('via', 'a', 'age', '1', 'Via', 'b', 'via', 'c')).toEqual({ via: 'a, b, c', age: '1' })
  })

  test('are cut at 512 characters, also when they were joined', () => {
    expect(plain('a', 'x'.repeat(513), 'b', 'y'.repeat(300), 'b', 'z'.repeat(300))).toEqual({
      a: 'x'.repeat(512),
      b: `${'y'.repeat(300)}, ${'z'.repeat(210)}`,
    })
  })

  test('are kept up to 128 names', () => {
    const many = Array.from({ length: 200 }, (_, i) => [`x-${i}`, `${i}`]).flat()
    expect(Object.keys(plain(...many))).toEqual(Array.from({ length: 128 }, (_, i) => `x-${i}`))
  })

  test('are absent where they were not sent, whatever their names', () => {
    expect(headerRecord([]).constructor).toBeUndefined()
  })

  test('may be called __proto__', () => {
    expect(Object.entries(headerRecord(raw('__proto__', 'x')))).toEqual([['__proto__', 'x']])
  })
})
