import { describe, expect, test } from 'vitest'
import { count, judged, times } from './judged-threshold.ts'
import { aThreshold, respondedWith, streamed } from './metrics/fixtures.ts'

describe('thresholds on totals of the run', () => {
  const none = (kind: 'violations' | 'discrepancies' | 'unexpected-429') =>
    aThreshold({ measure: { kind: 'count', count: { kind } }, operator: '==', bound: 0 })
  test.each([
    ['violations', { violations: 1 }],
    ['discrepancies', { discrepancies: 1 }],
    ['unexpected-429', { unexpected429: 1 }],
  ] as const)('%s are counted', (kind, changes) => {
    expect(judged(none(kind), [streamed()], changes).verdict).toBe('fail')
    expect(judged(none(kind), [streamed()]).verdict).toBe('pass')
    expect(judged(none(kind), []).verdict).toBe('inconclusive')
  })
  test('are not judged if no judge decided, and judged if what is open cannot change the result', () => {
    const undecided = (most: number) => ({ undecided: { 'unexpected-429': { most, why: '3 responses were 429' } } })
    expect(judged(none('unexpected-429'), [streamed()], undecided(3))).toMatchObject({
      value: null,
      verdict: 'inconclusive',
      message: 'unexpected-429 was not judged: 3 responses were 429 (required == 0; n = 1)',
    })
    const atMost = (bound: number) => ({ ...none('unexpected-429'), operator: '<=' as const, bound })
    expect(judged(atMost(3), [streamed()], undecided(3)).verdict).toBe('pass')
    expect(judged(atMost(2), [streamed()], undecided(3)).verdict).toBe('inconclusive')
    expect(judged(atMost(2), [streamed()], { ...undecided(3), unexpected429: 1 })).toMatchObject({
      value: 1,
      verdict: 'inconclusive',
      message: 'unexpected-429 was not judged, and is at least 1: 3 responses were 429 (required <= 2; n = 1)',
    })
    const equal = { ...none('unexpected-429'), bound: 2 }
    expect(judged(equal, [streamed()], undecided(3)).verdict).toBe('inconclusive')
    expect(judged({ ...equal, bound: 4 }, [streamed()], undecided(3)).verdict).toBe('fail')
  })
  test('stay violated if what was counted violates them, whatever else is open', () => {
    const undecided = { violations: { most: Number.POSITIVE_INFINITY, why: 'unknown' } }
    const most = { ...none('violations'), operator: '<=' as const }
    expect(judged(most, [streamed()], { undecided, violations: 1 }).verdict).toBe('fail')
    expect(judged(none('violations'), [streamed()], { undecided, violations: 1 }).verdict).toBe('fail')
    expect(judged(none('violations'), [streamed()], { undecided }).verdict).toBe('inconclusive')
  })
  test('a share of them is open as far as they are', () => {
    const measure = { kind: 'ratio', count: { kind: 'unexpected-429' } } as const
    const share = (bound: number) => aThreshold({ measure, operator: '<=', bound })
    const undecided = { 'unexpected-429': { most: 1, why: '1 response was 429' } }
    expect(judged(share(0.5), times(2, streamed()), { undecided }).verdict).toBe('pass')
    expect(judged(share(0.4), times(2, streamed()), { undecided }).verdict).toBe('inconclusive')
  })
  test('violations say over how many clauses, and failures how many were refused beside', () => {
    expect(judged(none('violations'), [streamed()], { basis: { violations: '61 clauses judged' } }).message).toBe(
      'violations was 0, == 0 (61 clauses judged, n = 1)',
    )
    const observations = [streamed(), ...times(3, respondedWith(429)), respondedWith(503), respondedWith(400)]
    const ofFailed = aThreshold({ measure: count('count', 'failed'), operator: '==', bound: 0 })
    expect(judged(ofFailed, observations).message).toBe(
      'failed was 0, == 0 (n = 6, of which 1 got 400, 3 got 429, 1 got 503)',
    )
  })
  test.each([
    ['spend', 'spend'],
    ['credits', 'credits'],
  ] as const)('%s is open if a response states none, unless it is too much already', (kind, word) => {
    const undecided = { [word]: { most: Number.POSITIVE_INFINITY, why: '1 response states none' } }
    const atMost = aThreshold({ measure: { kind }, operator: '<=', bound: 1 })
    expect(judged(atMost, [streamed()], { undecided }).verdict).toBe('inconclusive')
    expect(judged(atMost, [streamed()], { undecided, credits: 2n, picoUsd: 2_000_000_000_000n }).verdict).toBe('fail')
    expect(
      judged({ ...atMost, operator: '>=' }, [streamed()], { undecided, credits: 2n, picoUsd: 2_000_000_000_000n })
        .verdict,
    ).toBe('pass')
  })
  test('do not exist for one call', () => {
    expect(judged({ ...none('violations'), call: 'chat' }, [streamed()]).verdict).toBe('inconclusive')
  })
  test('compare credits and dollars exactly', () => {
    const credits = aThreshold({ measure: { kind: 'credits' }, operator: '<=', bound: 40 })
    expect(judged(credits, [streamed()], { credits: 40n })).toMatchObject({ value: 40, verdict: 'pass' })
    expect(judged(credits, [streamed()], { credits: 41 })).toMatchObject({ value: 41, verdict: 'fail' })
    const spend = aThreshold({ measure: { kind: 'spend' }, operator: '<=', bound: 0.3 })
    expect(judged(spend, [streamed()], { picoUsd: 300_000_000_000n }).verdict).toBe('pass')
    expect(judged(spend, [streamed()], { picoUsd: 300_000_000_001n })).toMatchObject({
      verdict: 'fail',
      message: 'spend was $0.300000000001, not <= $0.3 (n = 1)',
    })
  })
})
