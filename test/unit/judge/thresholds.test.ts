import { describe, expect, test } from 'vitest'
import type { CapacityResult } from '../../../src/judge/capacity/result.ts'
import { createMetrics } from '../../../src/judge/metrics/request-stats.ts'
import { evaluateThresholds, type RunTotals, type Verdict } from '../../../src/judge/thresholds.ts'
import type { Observation } from '../../../src/observation/observation.ts'
import type { Measure, Threshold, Timing } from '../../../src/plan/plan.ts'
import { parseThreshold } from '../../../src/scenario/threshold.ts'
import { aSearch } from '../report/capacity-results.ts'
import {
  anObservation,
  aPlan,
  aStage,
  aThreshold,
  dropped,
  failed,
  respondedWith,
  streamed,
} from './metrics/fixtures.ts'

const totals: RunTotals = {
  violations: 0,
  discrepancies: 0,
  unexpected429: 0,
  blocks: { block: 3, after: 1 },
  credits: 0n,
  picoUsd: 0n,
  capacity: [],
  eventLoopDelayMs: null,
  complete: true,
  elapsedMs: 10_000,
}

const judged = (threshold: Threshold, observations: readonly Observation[], changes: Partial<RunTotals> = {}) => {
  const metrics = createMetrics(aPlan({ stages: [aStage('steady', 10_000), aStage('(opening)', 1000)] }))
  for (const observation of observations) metrics.add(observation)
  const [result] = evaluateThresholds([threshold], metrics, { ...totals, ...changes })
  if (result === undefined) throw new Error('a threshold without a result')
  return result
}

const times = (n: number, o: Observation) => Array.from({ length: n }, () => o)
const p = (percent: number, timing: Timing): Measure => ({
  kind: 'timing',
  timing,
  of: { kind: 'percentile', percent },
})
const count = (
  kind: 'count' | 'ratio' | 'per-second',
  of: 'sent' | 'answered' | 'good' | 'failed' | 'dropped',
): Measure => ({
  kind,
  count: { kind: of },
})

describe('a threshold on a time', () => {
  const under = (bound: number, measure = p(95, 'latency')) => aThreshold({ measure, operator: '<', bound })
  test('passes if it is met, and states the value, the bound and n', () => {
    expect(judged(under(101), times(59, anObservation()))).toEqual({
      expression: 'as written',
      why: 'because it matters',
      value: 100,
      whole: null,
      operator: '<',
      bound: 101,
      unit: 'ms',
      verdict: 'pass',
      message: 'p(95) latency was 100 ms, < 101 ms (n = 59)',
    })
  })
  test('fails if it is crossed', () => {
    const result = judged(under(100), times(59, anObservation()))
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
    expect(judged(under(100), [...fast, ...times(59, anObservation())]).verdict).toBe('fail')
  })
  test('covers only its call and its stage', () => {
    const slow = times(100, anObservation({ call: 'rpc', endMs: 9000 }))
    const own = times(100, anObservation({ stage: '(opening)', endMs: 9000 }))
    const observations = [...slow, ...own, ...times(59, anObservation())]
    expect(judged({ ...under(101), call: 'chat' }, observations).verdict).toBe('pass')
    expect(judged({ ...under(101), stage: '(opening)' }, observations).verdict).toBe('fail')
  })
})

describe('a threshold on a time is inconclusive if Turnpike was late', () => {
  const late = (ms: number) => times(300, anObservation({ dueMs: 0, sentMs: ms, endMs: ms + 50 }))
  const under = (bound: number, measure = p(95, 'latency')) => aThreshold({ measure, operator: '<', bound })
  test.each([
    ['20 ms late, a bound of 60 ms', 20, 60, 'fail'],
    ['21 ms late, a bound of 60 ms', 21, 60, 'inconclusive'],
    ['40 ms late, a bound of 400 ms', 40, 400, 'pass'],
    ['41 ms late, a bound of 400 ms', 41, 400, 'inconclusive'],
  ] as const)('%s: %s', (_, ms, bound, verdict) => expect(judged(under(bound), late(ms)).verdict).toBe(verdict))
  test('states the lateness and its limit', () => {
    expect(judged(under(400), late(41)).message).toBe(
      'p(95) latency was 91 ms, < 400 ms (n = 300), but Turnpike was late: lateness p95 41 ms, limit 40 ms',
    )
  })
  test('one late request of 100 invalidates a threshold on the maximum, and none on the p95', () => {
    const observations = [...times(99, anObservation()), anObservation({ sentMs: 90 })]
    expect(judged(under(200), observations).verdict).toBe('pass')
    const max = { kind: 'timing', timing: 'latency', of: { kind: 'max' } } as const
    expect(judged(under(200, max), observations).verdict).toBe('inconclusive')
  })
  test('a late mean invalidates a threshold on the mean', () => {
    const mean = { kind: 'timing', timing: 'latency', of: { kind: 'mean' } } as const
    expect(judged(under(200, mean), late(21)).verdict).toBe('inconclusive')
    expect(judged(under(200, mean), late(20)).verdict).toBe('pass')
  })
  test('a threshold on lateness is judged anyway, including system stages', () => {
    const own = times(99, anObservation({ stage: '(opening)', sentMs: 50, endMs: 60 }))
    expect(judged(under(20, p(95, 'lateness')), own).verdict).toBe('fail')
    expect(judged(under(60, p(95, 'lateness')), own).verdict).toBe('pass')
  })
  test.each([
    ['stalls of 20 ms, a bound of 200 ms', p(95, 'latency'), { p99: 20, max: 90 }, 200, 'pass'],
    ['stalls of 21 ms, a bound of 200 ms', p(95, 'latency'), { p99: 21, max: 90 }, 200, 'inconclusive'],
    ['stalls of 21 ms, a bound of 210 ms', p(95, 'latency'), { p99: 21, max: 90 }, 210, 'pass'],
    ['stalls of 21 ms, a bound that is crossed', p(95, 'latency'), { p99: 21, max: 90 }, 60, 'inconclusive'],
    ['one stall of 90 ms, a p95', p(95, 'latency'), { p99: 1, max: 90 }, 200, 'pass'],
    ['a bound on lateness', p(95, 'lateness'), { p99: 900, max: 900 }, 200, 'pass'],
  ] as const)('%s: %s', (_, measure, eventLoopDelayMs, bound, verdict) =>
    expect(judged(under(bound, measure), times(300, anObservation()), { eventLoopDelayMs }).verdict).toBe(verdict),
  )
  test('one long stall invalidates a threshold on the maximum, with the reason', () => {
    const max = { kind: 'timing', timing: 'latency', of: { kind: 'max' } } as const
    const result = judged(under(200, max), times(9, anObservation()), { eventLoopDelayMs: { p99: 1, max: 90 } })
    expect(result.message).toBe(
      'max latency was 100 ms, < 200 ms (n = 9), but Turnpike stalled: event-loop delay max 90 ms, limit 20 ms',
    )
  })
  test('a threshold on a count is unaffected', () => {
    expect(judged(aThreshold({ measure: count('count', 'failed'), operator: '==', bound: 0 }), late(500)).verdict).toBe(
      'pass',
    )
  })
})

describe('if this machine could not open every connection', () => {
  const unsent = dropped({ outcome: { kind: 'dropped', reason: 'no-file-descriptors' } })
  const verdictOn = (of: 'sent' | 'good' | 'failed' | 'dropped' | 'answered', observations: readonly Observation[]) =>
    judged(aThreshold({ measure: count('count', of), operator: '==', bound: 0 }), observations).verdict
  test.each(['sent', 'good', 'dropped'] as const)('a threshold on %s is inconclusive', of => {
    expect(verdictOn(of, [anObservation(), unsent])).toBe('inconclusive')
  })
  test('the target has not failed', () => expect(verdictOn('failed', [anObservation(), unsent])).toBe('pass'))
  test('a failure of the target is still one', () => expect(verdictOn('failed', [failed(), unsent])).toBe('fail'))
  test('an arrival that was dropped for another reason still counts', () =>
    expect(verdictOn('dropped', [anObservation(), dropped()])).toBe('fail'))
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
  test('have no value if the limits could not be judged', () => {
    const hidden = judged(none('unexpected-429'), [streamed()], { unexpected429: null })
    expect(hidden).toMatchObject({ value: null, verdict: 'inconclusive' })
    expect(hidden.message).toMatch(/^unexpected-429 could not be judged: the clauses about limits say why/)
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
  const totals = {
    violations: 0,
    discrepancies: 0,
    unexpected429: 0,
    blocks: {},
    credits: 0n,
    picoUsd: 0n,
    eventLoopDelayMs: null,
  }
  const [judged] = evaluateThresholds([{ expression, why: '', ...parsed }], createMetrics(aPlan()), {
    ...totals,
    capacity: [aSearch(result)],
    complete: true,
    elapsedMs: 60_000,
  })
  return judged
}

const judge = (...given: Parameters<typeof judgedOn>) => {
  const judged = judgedOn(...given)
  return [judged?.verdict, judged?.value]
}

const found = { status: 'found', ratePerSecond: 80 } as const
const aboveRange = { status: 'above-range', ratePerSecond: 180 } as const
const belowRange = { status: 'below-range', ratePerSecond: null, fromPerSecond: 40 } as const

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

  test('of the only call of a search is no share', () => {
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
    expect(judge('capacity in search >= 40/s', belowRange)).toEqual(['fail', 0])
    expect(judge('capacity of chat in search >= 30/s', belowRange)).toEqual(['fail', 0])
    expect(judge('capacity in search >= 39/s', belowRange)).toEqual(['inconclusive', 0])
  })

  test.each(['limited-by-tier', 'harness-limited', 'inconclusive'] as const)(
    'is inconclusive after a search that was %s',
    status => {
      expect(judge('capacity in search >= 1/s', { status, ratePerSecond: null })).toEqual(['inconclusive', null])
    },
  )
})
