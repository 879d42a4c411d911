import { expect, test } from 'vitest'
import { type ParsedThreshold, parseThreshold } from '../../../src/scenario/threshold.ts'

const parse = (expression: string) => parseThreshold(expression, ['chat', 'rpc'], ['steady'])
const timing = (of: object, name: string) => ({ kind: 'timing', timing: name, of })
const whole = { call: null, stage: null }

test.each([
  [
    'p(95) ttft of chat < 400ms',
    timing({ kind: 'percentile', percent: 95 }, 'ttft'),
    { call: 'chat', stage: null },
    '<',
    400,
  ],
  ['p(99.9) latency <= 1m30s', timing({ kind: 'percentile', percent: 99.9 }, 'latency'), whole, '<=', 90_000],
  [
    'mean service-time in steady > 1ms',
    timing({ kind: 'mean' }, 'service-time'),
    { call: null, stage: 'steady' },
    '>',
    1,
  ],
  [
    'max lateness of rpc in steady < 5ms',
    timing({ kind: 'max' }, 'lateness'),
    { call: 'rpc', stage: 'steady' },
    '<',
    5,
  ],
  ['violations == 0', { kind: 'count', count: { kind: 'violations' } }, whole, '==', 0],
  ['failed of chat < 1%', { kind: 'ratio', count: { kind: 'failed' } }, { call: 'chat', stage: null }, '<', 0.01],
  ['good in steady >= 5/s', { kind: 'per-second', count: { kind: 'good' } }, { call: null, stage: 'steady' }, '>=', 5],
  ['good >= 30/m', { kind: 'per-second', count: { kind: 'good' } }, whole, '>=', 0.5],
  [
    'status(429) of rpc != 0',
    { kind: 'count', count: { kind: 'status', status: 429 } },
    { call: 'rpc', stage: null },
    '!=',
    0,
  ],
  ['unexpected-429 == 0', { kind: 'count', count: { kind: 'unexpected-429' } }, whole, '==', 0],
  ['blocked in steady > 10', { kind: 'count', count: { kind: 'blocked' } }, { call: null, stage: 'steady' }, '>', 10],
  ['credits <= 5000', { kind: 'credits' }, whole, '<=', 5_000],
  ['spend < $0.25', { kind: 'spend' }, whole, '<', 0.25],
])('%s', (expression, measure, selection, operator, bound) => {
  expect(parse(expression)).toEqual({ measure, ...selection, operator, bound })
})

test.each([
  ['p95 latency < 1s', 'p(95)'],
  ['P99.9 ttft of chat < 1s', 'p(99.9)'],
  ['avg latency < 1s', 'mean'],
  ['median latency < 1s', 'p(50)'],
  ['errors == 0', 'failed'],
  ['http_req_failed < 1%', 'failed'],
  ['ttft < 1s', 'p(95) ttft'],
  ['cost < $1', 'spend'],
  ['violations = 0', '=='],
  ['p(95) latency => 1s', '>='],
  ['p(95) latency < 250', '250ms'],
  ['p(95) latency < 2', '2s'],
])('a hint for %s is %s', (expression, hint) => {
  expect(parse(expression)).toMatchObject([{ hint: `did you mean "${hint}"?` }])
})

test('a ratio above 100% is a mistake, since it would always hold or never', () => {
  expect(parse('failed < 100%')).toMatchObject({ bound: 1 })
  expect(parse('failed < 100.1%')).toMatchObject([{ at: 9, got: '"100.1%"', expected: 'at most 100%' }])
})

test('spaces around operators do not matter', () => {
  const spaced = parse('  p(95)   ttft of chat  <   400ms ') as ParsedThreshold
  expect(parse('p(95) ttft of chat<400ms')).toEqual(spaced)
})

test('a mistake has the index of the wrong word, even after several spaces', () => {
  expect(parse('failed    of  caht == 0')).toMatchObject([{ at: 14, got: '"caht"' }])
  expect(parse('failed == ')).toMatchObject([{ at: 9, got: 'the end of the expression' }])
})

test('blocked responses are known by stage only', () => {
  expect(parse('blocked of chat in steady == 0')).toMatchObject([{ at: 8, got: '"of"' }])
})

test('every truncated expression has a mistake, at most at its end', () => {
  const whole = 'p(99.9) service-time of chat in steady <= 1m30s'
  const words = whole.split(' ')
  for (let count = 0; count < words.length; count++) {
    const cut = words.slice(0, count).join(' ')
    const problems = parse(cut)
    if (!Array.isArray(problems)) throw new Error(`${cut} was read`)
    expect(problems).toHaveLength(1)
    expect(problems[0].at).toBeLessThanOrEqual(cut.length)
  }
})
