import { describe, expect, test } from 'vitest'
import { describeMistake, describeValue, nearest, oneOf, UsageError } from '../../../src/lib/usage-error.ts'

const mistake = { where: 'a.yaml:3:5', got: '"rpcc"', expected: 'chat, rpc or replay' }

describe('describeMistake', () => {
  test.each(['/tmp/x/Qm7eJ2kR9vT4bN8sW3yL6uC1/run', 'C:\\Temp\\Qm7eJ2kR9vT4bN8sW3yL6uC1\\run'])(
    'names the path %s as it is, also if a folder looks like a key',
    where => {
      expect(describeMistake({ where, got: 'a file', expected: 'a directory' })).toContain(where)
    },
  )

  test('is one line: where, got and expected', () => {
    expect(describeMistake(mistake)).toBe('a.yaml:3:5: got "rpcc", expected chat, rpc or replay')
  })

  test('ends with the hint, if any', () => {
    const line = describeMistake({ ...mistake, hint: 'did you mean "rpc"?' })
    expect(line).toBe('a.yaml:3:5: got "rpcc", expected chat, rpc or replay; did you mean "rpc"?')
  })
})

describe('UsageError', () => {
  test('has one line per mistake', () => {
    const error = new UsageError([mistake, { ...mistake, where: '--seed' }])
    expect(error.message.split('\n')).toEqual([
      'a.yaml:3:5: got "rpcc", expected chat, rpc or replay',
      '--seed: got "rpcc", expected chat, rpc or replay',
    ])
    expect(error.mistakes).toHaveLength(2)
  })

  test('has its own class and name, unlike a crash', () => {
    const error: unknown = new UsageError(mistake)
    expect(error).toBeInstanceOf(UsageError)
    expect(error).toMatchObject({ name: 'UsageError', mistakes: [mistake] })
  })
})

describe('nearest', () => {
  const words = ['chat', 'rpc', 'rpc-batch', 'replay', 'rate-limits']

  test.each([
    ['rpcc', 'rpc'],
    ['chta', 'chat'],
    ['rpc_batch', 'rpc-batch'],
    ['rate-limit', 'rate-limits'],
    ['RPC', 'rpc'],
    ['rep', 'replay'],
    ['rat', 'rate-limits'],
  ])('guesses that %s was meant to be %s', (word, meant) => {
    expect(nearest(word, words)).toEqual({ hint: `did you mean "${meant}"?` })
  })

  test.each(['embeddings', 'zzzzz'])('has no hint for %s', word => {
    expect(nearest(word, words)).toEqual({})
  })

  test('does not choose among several words that begin with it', () => {
    expect(nearest('conf', ['conformance', 'configuration'])).toEqual({})
  })

  test('has no hint without words', () => {
    expect(nearest('chat', [])).toEqual({})
  })
})

test.each([
  [[], ''],
  [['chat'], 'chat'],
  [['chat', 'rpc'], 'chat or rpc'],
  [['chat', 'rpc', 'replay'], 'chat, rpc or replay'],
])('oneOf lists %j as "%s"', (words, expected) => {
  expect(oneOf(words)).toBe(expected)
})

test('a message about something of any length is short, and found at once', () => {
  const long = 'ab'.repeat(500_000)
  expect(nearest(long, ['abab'])).toEqual({})
  expect(new UsageError({ where: long, got: long, expected: long, hint: long }).message.length).toBeLessThan(20_000)
})

test.each([
  [Number.POSITIVE_INFINITY, 'a number that is too large'],
  [Number.NaN, 'a value that is not a number'],
])('a message about %s has words for it', (value, words) => {
  expect(describeValue(value)).toBe(words)
})
