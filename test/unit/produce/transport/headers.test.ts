import { describe, expect, test } from 'vitest'
import { areCut, headerRecord } from '../../../../src/produce/transport/headers.ts'

const sources = [
  { of: 'bytes', raw: (...texts: readonly string[]) => texts.map(text => Buffer.from(text, 'latin1')) },
  { of: 'strings', raw: (...texts: readonly string[]) => texts },
]

describe.each(sources)('headers of $of', ({ raw }) => {
  const plain = (...texts: readonly string[]) => ({ ...headerRecord(raw(...texts)) })

  test('have names in lower case, and unchanged values', () => {
    expect(plain('X-Id', 'Ab', 'DATE', 'ä')).toEqual({ 'x-id': 'Ab', date: 'ä' })
  })

  test('that are repeated are joined with a comma and a space', () => {
    expect(plain('via', 'a', 'age', '1', 'Via', 'b', 'via', 'c')).toEqual({ via: 'a, b, c', age: '1' })
  })

  test('are cut at 512 characters, even after joining', () => {
    expect(plain('a', 'x'.repeat(513), 'b', 'y'.repeat(300), 'b', 'z'.repeat(300))).toEqual({
      a: 'x'.repeat(512),
      b: `${'y'.repeat(300)}, ${'z'.repeat(210)}`,
    })
  })

  test('of a 402 may say at length how to pay', () => {
    const { offer = '' } = headerRecord(raw('offer', 'x'.repeat(9_000)), 402)
    expect(offer).toHaveLength(8_192)
  })

  test('are kept up to 256 names', () => {
    const many = Array.from({ length: 300 }, (_, i) => [`x-${i}`, `${i}`]).flat()
    expect(Object.keys(plain(...many))).toEqual(Array.from({ length: 256 }, (_, i) => `x-${i}`))
  })

  test('are known to be cut only if one of them is missing', () => {
    const names = (count: number) => Array.from({ length: count }, (_, i) => [`x-${i}`, '']).flat()
    const isCut = (...texts: readonly string[]) => areCut(headerRecord(raw(...texts)), raw(...texts))
    expect(isCut(...names(256))).toBe(false)
    expect(isCut(...names(257))).toBe(true)
    expect(isCut(...Array.from({ length: 300 }, () => ['via', 'a']).flat())).toBe(false)
  })

  test('lose the spaces and tabs around their values, and no others', () => {
    expect(plain('a', ' \t5 ', 'b', 'x  y', 'c', '   ', 'd', '', 'e', '\xa0z\xa0')).toEqual({
      a: '5',
      b: 'x  y',
      c: '',
      d: '',
      e: '\xa0z\xa0',
    })
  })

  test('are absent if they were not sent, for any name', () => {
    expect(headerRecord([]).constructor).toBeUndefined()
  })

  test('may be called __proto__', () => {
    expect(Object.entries(headerRecord(raw('__proto__', 'x')))).toEqual([['__proto__', 'x']])
  })
})

describe('the name of a header', () => {
  const nameIn = (bytes: Buffer) => Object.keys(headerRecord([bytes, Buffer.from('x')]))[0]
  const nameOf = (text: string) => nameIn(Buffer.from(text, 'latin1'))

  test('a name is in lower case, the first time and again', () => {
    for (let time = 0; time < 3; time++) expect(nameOf('X-Service-Balance-USD')).toBe('x-service-balance-usd')
  })

  test('names in the same cache slot are distinguished', () => {
    // The same length, and the same bytes at both ends and in the middle.
    const twins = ['x-abc-m-abc-z', 'x-cba-m-cba-z']
    for (const name of [...twins, ...twins]) expect(nameOf(name)).toBe(name)
  })

  test('names are correct for any number of names', () => {
    const names = Array.from({ length: 2_000 }, (_, index) => `x-${index.toString(36)}-${'n'.repeat(index % 90)}`)
    for (const name of [...names, ...names]) expect(nameOf(name)).toBe(name)
  })

  test('a cached name does not change with its input buffer', () => {
    const bytes = Buffer.from('x-first')
    expect(nameIn(bytes)).toBe('x-first')
    bytes.write('x-other')
    expect(nameOf('x-first')).toBe('x-first')
    expect(nameIn(bytes)).toBe('x-other')
  })

  test('a name may be empty', () => {
    expect(nameOf('')).toBe('')
  })
})
