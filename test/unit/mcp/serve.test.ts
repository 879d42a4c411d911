import { expect, test } from 'vitest'
import { excerpt, excerptOf, maxResultChars } from '../../../src/mcp/serve.ts'

test('a text that fits stays as it is', () => {
  expect(excerpt('abc', 'Read on.', 3)).toBe('abc')
})

test('a longer text ends with where the rest is, and is no longer than allowed', () => {
  const text = excerpt('a'.repeat(100_000), 'Read on.')
  expect(text).toHaveLength(maxResultChars)
  expect(text).toMatch(/^a+\n… 60000 more characters\. Read on\.$/)
})

test('data that fit stay as they are', () => {
  const data = { verdict: 'pass', list: [1, 2, 3], text: 'a'.repeat(5_000) }
  expect(excerptOf(data)).toBe(data)
})

test('larger data lose the ends of lists and texts, at every depth, and say so', () => {
  const finding = { message: 'm'.repeat(3_000), requests: Array.from({ length: 500 }, (_, id) => ({ id })) }
  const data = { verdict: 'fail', findings: Array.from({ length: 300 }, () => finding) }
  const { verdict, truncated, findings } = excerptOf(data) as typeof data & { truncated: boolean }
  expect([verdict, truncated]).toEqual(['fail', true])
  expect(findings.length).toBeGreaterThan(0)
  expect(findings[0]?.requests[0]).toEqual({ id: 0 })
  expect(findings[0]?.message).toMatch(/^m+\n… \d+ more characters/)
})

test.each([
  ['many members', Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`key-${at}`, at]))],
  ['deep lists', { list: Array.from({ length: 400 }, () => Array.from({ length: 400 }, () => 'x'.repeat(100))) }],
  ['one long text', { text: 'x'.repeat(1_000_000) }],
])('%s are never longer than allowed', (_, data) => {
  const shorter = excerptOf(data)
  expect(JSON.stringify(shorter).length).toBeLessThanOrEqual(maxResultChars)
  expect(shorter.truncated).toBe(true)
})
