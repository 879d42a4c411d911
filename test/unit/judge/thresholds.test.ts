import { describe, expect, test } from 'vitest'
import { createMetrics } from '../../../src/judge/metrics/request-stats.ts'
import type { CapacityResult, TrialResult, Verdict } from '../../../src/judge/results.ts'
import { evaluateThresholds } from '../../../src/judge/thresholds.ts'
import type { Observation } from '../../../src/observation/observation.ts'
import type { Measure, Threshold } from '../../../src/plan/plan.ts'
import { parseThreshold } from '../../../src/scenario/threshold.ts'
import { aSearch, aTrial } from '../report/capacity-results.ts'
import { count, judged, p, times, totalsWith } from './judged-threshold.ts'
import { anObservation, aPlan, aThreshold, dropped, failed, respondedWith, streamed } from './metrics/fixtures.ts'

describe('a threshold on a time', () => {
  const under = (bound: number, measure = p(95, 'latency')) => aThreshold({ measure, operator: '<', bound })
  test('passes if it is met, and states the value, the bound and n', () => {
    expect(judged(under(101), times(59, anObservation()))).toEqual({
      expression: 'as written',
      basis: null,
      why: 'because it matters',
      value: 100,
      lowest: 99,
      highest: 100,
      whole: null,
      operator: '<',
      bound: 101,
      unit: 'ms',
      verdict: 'pass',
      message: 'p(95) latency was 100 ms, < 101 ms (n = 59)',
    })
  })
  test('fails if it is crossed', () => {
    const result = judged(under(100), times(59, anObservation({ sentMs: 0 })))
    expect(result).toMatchObject({ verdict: 'fail', message: 'p(95) latency was 100 ms, not < 100 ms (n = 59)' })
  })
  test('is inconclusive without a value', () => {
    expect(judged(under(100), [])).toMatchObject({ verdict: 'inconclusive', value: null })
    expect(judged(under(100, p(95, 'ttft')), times(99, anObservation()))).toMatchObject({ verdict: 'inconclusive' })
  })
  test.each([101, 1])('is inconclusive with too few samples, whether it is met or not (%i ms)', bound => {
    const result = judged(under(bound), times(58, anObservation()))
    expect(result).toMatchObject({ verdict: 'inconclusive', value: null })
    expect(result.message).toBe(
      `p(95) latency cannot be bounded: it needs 59 values, the largest was 100 ms (required < ${bound} ms; n = 58)`,
    )
  })
  test('ignores the times of error responses', () => {
    const fast = times(941, respondedWith(429, { endMs: 2 }))
    expect(judged(under(99), [...fast, ...times(59, anObservation({ sentMs: 0 }))]).verdict).toBe('fail')
  })
  test('covers only its call and its stage', () => {
    const slow = times(100, anObservation({ call: 'rpc', endMs: 9000 }))
    const own = times(100, anObservation({ stage: '(opening)', endMs: 9000 }))
    const observations = [...slow, ...own, ...times(59, anObservation())]
    expect(judged({ ...under(101), call: 'chat' }, observations).verdict).toBe('pass')
    expect(judged({ ...under(101), stage: '(opening)' }, observations).verdict).toBe('fail')
  })
})

describe('thresholds on counts, ratios and rates', () => {
  const mixed = [
    ...times(6, anObservation()),
    ...times(2, respondedWith(429)),
    ...times(2, failed()),
    ...times(10, dropped()),
  ]
  const exactly = (measure: Measure, bound: number) => aThreshold({ measure, operator: '==', bound })
  const status429 = (kind: 'count' | 'ratio'): Measure => ({ kind, count: { kind: 'status', status: 429 } })
  test.each([
    ['sent', count('count', 'sent'), 10],
    ['answered', count('count', 'answered'), 8],
    ['good', count('count', 'good'), 6],
    ['failed', count('count', 'failed'), 2],
    ['dropped', count('count', 'dropped'), 10],
    ['status(429)', status429('count'), 2],
    ['failed, of those sent', count('ratio', 'failed'), 0.2],
    ['answered, of those sent', count('ratio', 'answered'), 0.8],
    ['status(429), of those sent', status429('ratio'), 0.2],
    ['good, of those due', count('ratio', 'good'), 0.3],
    ['dropped, of those due', count('ratio', 'dropped'), 0.5],
    ['sent, of those due', count('ratio', 'sent'), 0.5],
    ['answered per second', count('per-second', 'answered'), 0.8],
  ])('%s', (_, measure, value) => {
    expect(judged(exactly(measure, value), mixed)).toMatchObject({ value, verdict: 'pass' })
    expect(judged(exactly(measure, value + 1), mixed)).toMatchObject({ value, verdict: 'fail' })
  })
  test('are inconclusive if no request was sent, even if zero would meet them', () => {
    for (const kind of ['count', 'ratio', 'per-second'] as const)
      expect(judged(exactly(count(kind, 'failed'), 0), []).verdict).toBe('inconclusive')
    expect(judged(exactly(count('ratio', 'good'), 0), [dropped()]).verdict).toBe('inconclusive')
  })
  test('count drops even if all arrivals were dropped', () => {
    expect(judged(aThreshold({ measure: count('ratio', 'dropped'), bound: 0.01 }), [dropped()]).verdict).toBe('fail')
  })
  test('on a rate need a stage with a duration', () => {
    const threshold = { ...exactly(count('per-second', 'sent'), 1), stage: 'elsewhere' }
    expect(judged(threshold, [anObservation({ stage: 'elsewhere' })]).verdict).toBe('inconclusive')
  })
})

test('blocked responses are counted by stage, whatever their status', () => {
  const blocked = (stage: string | null, bound: number) => ({
    ...aThreshold({ measure: { kind: 'count', count: { kind: 'blocked' } }, operator: '==', bound }),
    stage,
  })
  expect(judged(blocked(null, 4), [streamed()])).toMatchObject({ value: 4, verdict: 'pass' })
  const inStage = anObservation({ stage: 'steady' })
  expect(judged(blocked('steady', 3), [inStage], { blocks: { steady: 3, after: 1 } })).toMatchObject({
    verdict: 'pass',
  })
  expect(judged(blocked('steady', 3), [inStage], { blocks: { after: 3 } })).toMatchObject({ value: 0, verdict: 'fail' })
})

describe('thresholds on a run that ended early', () => {
  const short = { complete: false, elapsedMs: 5000 }
  const status: Measure = { kind: 'count', count: { kind: 'status', status: 500 } }
  const cases: readonly (readonly [string, Threshold, readonly Observation[], Verdict])[] = [
    [
      'too few requests were sent because the run ended',
      aThreshold({ measure: count('count', 'sent'), operator: '>=', bound: 9 }),
      [streamed()],
      'inconclusive',
    ],
    [
      'requests failed because the run cancelled them',
      aThreshold({ measure: count('count', 'failed'), operator: '==', bound: 0 }),
      [failed()],
      'inconclusive',
    ],
    [
      'a low rate is inconclusive too',
      aThreshold({ measure: count('per-second', 'good'), operator: '>', bound: 5 }),
      [streamed()],
      'inconclusive',
    ],
    [
      'a status that occurred remains',
      aThreshold({ measure: status, operator: '==', bound: 0 }),
      [respondedWith(500)],
      'fail',
    ],
    [
      'a status that did not occur may still occur',
      aThreshold({ measure: status, operator: '==', bound: 0 }),
      [streamed()],
      'inconclusive',
    ],
    [
      'a reached minimum remains reached',
      aThreshold({ measure: status, operator: '>=', bound: 1 }),
      [respondedWith(500)],
      'pass',
    ],
    ['a time is judged as usual', aThreshold({ measure: p(50, 'latency'), bound: 9 }), times(9, streamed()), 'fail'],
  ]
  test.each(cases)('%s', (_, threshold, observations, verdict) => {
    expect(judged(threshold, observations, short).verdict).toBe(verdict)
  })
})

test.each([
  ['<', 'pass', 'fail', 'fail'],
  ['<=', 'pass', 'pass', 'fail'],
  ['>', 'fail', 'fail', 'pass'],
  ['>=', 'fail', 'pass', 'pass'],
  ['==', 'fail', 'pass', 'fail'],
  ['!=', 'pass', 'fail', 'pass'],
] as const)('the operator %s below, at and above the bound', (operator, ...verdicts) => {
  const threshold = aThreshold({ measure: count('count', 'sent'), operator, bound: 2 })
  expect([1, 2, 3].map(n => judged(threshold, times(n, streamed())).verdict)).toEqual(verdicts)
})

function judgedOn(expression: string, result: Partial<CapacityResult>) {
  const parsed = parseThreshold(expression, ['chat', 'rpc'], ['search'])
  if (!('measure' in parsed)) throw new Error(JSON.stringify(parsed))
  const totals = totalsWith({ capacity: [aSearch(result)], elapsedMs: 60_000 })
  const [judged] = evaluateThresholds([{ expression, why: '', ...parsed }], createMetrics(aPlan()), totals)
  return judged
}

const judge = (...given: Parameters<typeof judgedOn>) => {
  const judged = judgedOn(...given)
  return [judged?.verdict, judged?.value]
}

const found = { status: 'found', ratePerSecond: 80 } as const
const aboveRange = { status: 'above-range', ratePerSecond: 180 } as const
const belowRange = { status: 'below-range', ratePerSecond: null, fromPerSecond: 40 } as const

describe('a threshold on the capacity of a search that found none', () => {
  const trial = (offeredPerSecond: number, outcome: TrialResult['outcome']) => aTrial({ offeredPerSecond, outcome })
  const search = (...trials: readonly TrialResult[]) =>
    ({ status: 'inconclusive', ratePerSecond: null, trials, reason: 'The stage ended.' }) as const
  const cutOff = search(trial(20, 'sustained'), trial(40, 'slo-missed'), trial(30, 'unfinished'))

  test('is proved from below by a sustained rate, and from above by one that was not', () => {
    expect(judge('capacity in search >= 20/s', cutOff)).toEqual(['pass', 20])
    expect(judge('capacity in search < 40/s', cutOff)).toEqual(['pass', 20])
    expect(judge('capacity in search >= 40/s', cutOff)).toEqual(['fail', 20])
    expect(judge('capacity of chat in search >= 15/s', cutOff)).toEqual(['pass', 15])
    expect(judge('capacity in search >= 5/s', search(trial(20, 'sustained')))).toEqual(['pass', 20])
    expect(judge('capacity in search < 50/s', search(trial(40, 'queue-growing')))).toEqual(['pass', null])
  })

  test('is inconclusive within the range, and names it', () => {
    expect(judge('capacity in search >= 30/s', cutOff)).toEqual(['inconclusive', null])
    expect(judgedOn('capacity in search >= 30/s', cutOff)?.message).toBe(
      'capacity in search is between 20/s and 40/s: The stage ended (required >= 30/s; n = 360)',
    )
    expect(judge('capacity in search < 90/s', search(trial(20, 'sustained')))).toEqual(['inconclusive', null])
  })

  test('takes a rate that failed below one that was sustained for no proof of either', () => {
    const mixed = search(trial(10, 'slo-missed'), trial(20, 'sustained'))
    expect(judge('capacity in search >= 5/s', mixed)[0]).toBe('pass')
    expect(judge('capacity in search < 30/s', mixed)[0]).toBe('pass')
    for (const bound of [10, 15, 20])
      expect(judge(`capacity in search >= ${bound}/s`, mixed)).toEqual(['inconclusive', null])
  })

  test('takes no limit of Turnpike or of the tier for one of the target', () => {
    const limited = search(trial(20, 'sustained'), trial(40, 'harness-late'), trial(30, 'rate-limited'))
    expect(judge('capacity in search < 50/s', limited)).toEqual(['inconclusive', null])
    expect(judge('capacity in search >= 20/s', limited)).toEqual(['pass', 20])
    expect(judge('capacity in search >= 20/s', search(trial(20, 'unmeasured')))).toEqual(['inconclusive', null])
  })
})

describe('a threshold on a capacity', () => {
  test('uses the confirmed rate', () => {
    expect(judge('capacity in search >= 80/s', found)).toEqual(['pass', 80])
    expect(judge('capacity in search > 80/s', found)).toEqual(['fail', 80])
  })

  test('of one call uses its share of the mix', () => {
    expect(judge('capacity of chat in search >= 60/s', found)).toEqual(['pass', 60])
    expect(judge('capacity of rpc in search >= 60/s', found)).toEqual(['fail', 20])
  })

  test('says what it is a capacity of; of a share, also the whole', () => {
    const reason = '80/s at chat TTFT ≤ 400 ms for 99 %, confirmed over 800 requests; at 82/s 36 missed chat ttft.'
    const all = judgedOn('capacity in search >= 90/s', { ...found, reason })
    expect(all).toMatchObject({ verdict: 'fail', value: 80, whole: null })
    expect(all?.message).toBe(
      'capacity in search was 80/s, not >= 90/s (80/s at chat TTFT ≤ 400 ms for 99 %, confirmed over 800 requests; at 82/s 36 missed chat ttft)',
    )
    const share = judgedOn('capacity of chat in search >= 60/s', { ...found, reason: '80/s at chat 2xx for 99 %.' })
    expect(share).toMatchObject({ verdict: 'pass', value: 60, whole: 80 })
    expect(share?.message).toBe('capacity in search was 80/s, 60/s of it chat, >= 60/s (80/s at chat 2xx for 99 %)')
  })

  test('of the only call of a search is not a share', () => {
    const only = judgedOn('capacity of chat in search >= 60/s', { ...found, mix: { chat: 1 } })
    expect(only).toMatchObject({ value: 80, whole: null })
    expect(only?.message).toMatch(/^capacity of chat in search was 80\/s, >= 60\/s \(/)
  })

  test('above the range is conclusive if the highest rate decides it', () => {
    expect(judge('capacity in search >= 150/s', aboveRange)).toEqual(['pass', 180])
    expect(judge('capacity in search < 150/s', aboveRange)).toEqual(['fail', 180])
    expect(judge('capacity in search >= 200/s', aboveRange)).toEqual(['inconclusive', 180])
  })

  test('below the range fails if the lowest rate is not above the bound', () => {
    expect(judge('capacity in search >= 40/s', belowRange)).toEqual(['fail', null])
    expect(judge('capacity of chat in search >= 30/s', belowRange)).toEqual(['fail', null])
    expect(judge('capacity in search >= 39/s', belowRange)).toEqual(['inconclusive', null])
  })

  test('of which only a range is known is not a number', () => {
    const reason = 'less than 40/s at chat 2xx for 99 %: at 40/s 20 missed chat latency.'
    const all = judgedOn('capacity in search >= 50/s', { ...belowRange, reason })
    expect(all).toMatchObject({ value: null, lowest: 0, highest: expect.closeTo(40, 6) })
    expect(all?.message).toMatch(/^capacity in search was less than 40\/s, not >= 50\/s \(/)
    expect(judgedOn('capacity of chat in search >= 50/s', { ...belowRange, reason })?.message).toMatch(
      /^capacity in search was less than 40\/s, less than 30\/s of it chat, not >= 50\/s \(/,
    )
    const above = judgedOn('capacity in search >= 150/s', aboveRange)
    expect(above).toMatchObject({ value: 180, lowest: 180, highest: null })
    expect(above?.message).toMatch(/^capacity in search was at least 180\/s, >= 150\/s/)
  })

  test.each(['limited-by-tier', 'harness-limited', 'inconclusive'] as const)(
    'is inconclusive after a search that was %s, if no trial proves anything',
    status => {
      expect(judge('capacity in search >= 1/s', { status, ratePerSecond: null, trials: [] })).toEqual([
        'inconclusive',
        null,
      ])
    },
  )
})
