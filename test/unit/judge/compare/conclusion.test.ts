import { describe, expect, test } from 'vitest'
import type { ComparedRow } from '../../../../src/judge/compare/comparison.ts'
import { headlineOf, obstaclesOf } from '../../../../src/judge/compare/conclusion.ts'

const aRow = (verdict: ComparedRow['verdict'], changes: Partial<ComparedRow> = {}): ComparedRow => ({
  call: 'chat',
  stage: 'steady',
  measure: 'latency p50',
  unit: 'ms',
  better: 'lower',
  verdict,
  base: 101.04,
  run: 113.72,
  effect: { kind: 'relative', value: 0.126, low: 0.08, high: 0.174 },
  confidence: null,
  reason: '',
  ...changes,
})
const rows = (count: number, verdict: ComparedRow['verdict'], changes: Partial<ComparedRow> = {}) =>
  Array.from({ length: count }, () => aRow(verdict, changes))
const open = (count: number, reason: string) => rows(count, 'cannot-tell', { reason })

describe('the result of a comparison leads with', () => {
  test('the regressed numbers, the largest change first', () => {
    const failures = { measure: 'failures', unit: 'ratio', base: 0, run: 0.04 } as const
    const effect = { kind: 'difference', value: 0.04, low: 0.02, high: 0.06 } as const
    expect(
      headlineOf([aRow('regressed', { ...failures, effect }), aRow('regressed'), ...rows(27, 'unchanged')], null),
    ).toBe(
      'Regressed: latency p50 of chat in steady +12.6 % (101 → 113.7 ms), failures of chat in steady +4 points (0 → 4 %); 27 unchanged.',
    )
  })

  test('one time of each call and stage, at most three numbers, and the count of the others', () => {
    const calls = ['chat', 'rpc', 'batch', 'list'].flatMap((call, index) => {
      const effect = { kind: 'relative', value: 0.1 + index / 100, low: 0, high: 1 } as const
      return ['latency p50', 'service time p50'].map(measure => aRow('regressed', { call, measure, effect }))
    })
    const all = [...calls, ...rows(2, 'improved'), ...open(4, 'it varies too much')]
    expect(headlineOf(all, null)).toBe(
      'Regressed: latency p50 of list in steady +13 % (101 → 113.7 ms), ' +
        'latency p50 of batch in steady +12 % (101 → 113.7 ms), latency p50 of rpc in steady +11 % (101 → 113.7 ms) ' +
        'and 5 more; 2 improved; 4 could not be compared (too much variation).',
    )
  })

  test('a price that was free, without a size of the change', () => {
    const price = { measure: 'cost per call', unit: 'usd', base: 0, run: 0.00011, effect: null } as const
    expect(headlineOf([aRow('regressed', price)], null)).toBe(
      'Regressed: cost per call of chat in steady ($0 → $0.00011).',
    )
  })

  test('no regression, and how many numbers are unchanged or could not be compared, and why', () => {
    const few = open(60, 'too few values: 12 of 100')
    expect(headlineOf([...rows(28, 'unchanged'), ...few], null)).toBe(
      'No regression. 28 numbers unchanged; 60 could not be compared (too few values).',
    )
    expect(headlineOf([...rows(1, 'unchanged'), ...few, ...open(8, 'it varies too much')], null)).toBe(
      'No regression. 1 number unchanged; 68 could not be compared (60 too few values, 8 too much variation).',
    )
    expect(headlineOf(rows(3, 'unchanged'), null)).toBe('No regression. 3 numbers unchanged.')
  })

  test('no regression, and what improved', () => {
    expect(headlineOf([aRow('improved', { base: 101, run: 80.8, effect: null }), ...rows(2, 'unchanged')], null)).toBe(
      'No regression. Improved: latency p50 of chat in steady (101 → 80.8 ms); 2 unchanged.',
    )
  })

  test('that it cannot tell, and why', () => {
    expect(headlineOf([], 'there is nothing to compare')).toBe('Cannot tell: there is nothing to compare.')
  })
})

test('each reason of the comparison has a group with a remedy, most frequent first', () => {
  const reasons = [
    'too few values: 12 of 299',
    'values too close in time: all 200',
    'it varies too much',
    'the run did not end by itself',
    'its baseline did not end by itself',
    'the run is inconclusive',
    'its baseline is inconclusive',
    'arrivals of its stage were dropped',
    'arrivals of its stage were dropped in a baseline',
    'Turnpike was late: lateness p50 30 ms, limit 20 ms',
    'the lateness of Turnpike changed: p50 15 ms, baseline 200 µs',
  ]
  const groups = obstaclesOf([...reasons.flatMap(reason => open(1, reason)), ...open(2, 'it varies too much')])
  expect(groups[0]).toMatchObject({ words: 'too much variation', count: 3 })
  expect(groups.filter(({ remedy }) => remedy === null)).toEqual([])
  expect(groups.reduce((sum, { count }) => sum + count, 0)).toBe(13)
  // A comparison of an earlier version.
  expect(obstaclesOf(open(1, 'too few values, or too close in time: 12'))[0]?.words).toBe('too few values')
  expect(obstaclesOf(open(1, 'another reason'))).toEqual([{ words: 'another reason', count: 1, remedy: null }])
})
