import { describe, expect, test } from 'vitest'
import type { UsageError } from '../../../src/lib/usage-error.ts'
import { dataSource } from '../../../src/scenario/data-source.ts'

const kind = { name: 'scenario', secretHint: 'set TURNPIKE_KEYS' }
const sourceOf = (data: unknown) => dataSource(data, 'scenario first', kind)

function mistakesOf(data: unknown): readonly unknown[] {
  try {
    return sourceOf(data).locate([])
  } catch (cause) {
    return (cause as UsageError).mistakes
  }
}

describe('the data of a program as a source', () => {
  test('is a copy, without members that are undefined', () => {
    const data = { a: [1, { b: 'two', c: undefined }], d: null, e: true }
    const { value } = sourceOf(data)
    expect(value).toEqual({ a: [1, { b: 'two' }], d: null, e: true })
    expect(Object.keys((value as { a: readonly [number, object] }).a[1])).toEqual(['b'])
    data.a[0] = 2
    expect(value).toMatchObject({ a: [1, {}] })
  })

  test('may be of another realm, or have no prototype', () => {
    const bare = Object.assign(Object.create(null), { a: 1 })
    const foreign = Object.create(Object.create(null), { a: { value: 1, enumerable: true } })
    expect(sourceOf(bare).value).toEqual({ a: 1 })
    expect(sourceOf(foreign).value).toEqual({ a: 1 })
  })

  test('places a mistake by its path', () => {
    const at = (path: readonly (string | number)[]) =>
      sourceOf({}).locate([{ path, at: 'value', got: 'x', expected: 'y' }])[0]?.where
    expect(at([])).toBe('scenario first')
    expect(at(['stages', 0, 'mix', 'chat'])).toBe('scenario first: stages[0].mix.chat')
    expect(at(['calls', 'a b'])).toBe('scenario first: calls."a b"')
  })

  test.each<readonly [name: string, part: unknown, got: string]>([
    ['a function', () => 1, 'a function'],
    ['a symbol', Symbol('x'), 'a symbol'],
    ['a bigint', 1n, 'a bigint'],
    ['a date', new Date(0), 'a Date'],
    ['a map', new Map(), 'a Map'],
    ['a hole in a list', [undefined], 'nothing'],
    ['no number', Number.NaN, 'NaN'],
  ])('refuses %s', (_, part, got) => {
    const place = Array.isArray(part) ? 'a.b[0]' : 'a.b'
    expect(mistakesOf({ a: { b: part } })).toEqual([
      { where: `scenario first: ${place}`, got, expected: 'plain data, as in a YAML file' },
    ])
  })

  test('refuses data that contains itself', () => {
    const cycle: Record<string, unknown> = {}
    cycle.a = cycle
    expect(mistakesOf(cycle)).toMatchObject([{ got: 'data that is nested too deeply, or contains itself' }])
  })

  test('refuses keys that no file may have, and does not show what they hold', () => {
    const mistakes = mistakesOf({ callers: { 'api-key': 'hush-hush', ...JSON.parse('{"__proto__": 1}') } })
    expect(mistakes).toMatchObject([
      { where: 'scenario first: callers.api-key', got: 'the key "api-key"', hint: 'set TURNPIKE_KEYS' },
      { where: 'scenario first: callers.__proto__' },
    ])
    expect(JSON.stringify(mistakes)).not.toContain('hush')
  })
})
