import { describe, expect, test } from 'vitest'
import { createMetrics } from '../../../src/judge/metrics/request-stats.ts'
import { evaluateThresholds } from '../../../src/judge/thresholds.ts'
import type { Observation } from '../../../src/observation/observation.ts'
import type { Measure, Threshold, Timing } from '../../../src/plan/plan.ts'
import { count, judged, p, times, totals } from './judged-threshold.ts'
import { anObservation, aPlan, aThreshold, dropped, failed, respondedWith, streamed } from './metrics/fixtures.ts'

const ofTime = (bound: number, measure: Measure = p(95, 'latency'), operator: Threshold['operator'] = '<') =>
  aThreshold({ measure, operator, bound })
const maxLatency = { kind: 'timing', timing: 'latency', of: { kind: 'max' } } as const
const meanLatency = { kind: 'timing', timing: 'latency', of: { kind: 'mean' } } as const

describe('lateness of Turnpike counts only if it could change the outcome', () => {
  const late = (ms: number, n = 300) => times(n, anObservation({ dueMs: 0, sentMs: ms, endMs: ms + 50 }))
  test.each([
    ['41 ms late, the bound far above', late(41), 400, 'pass'],
    ['500 ms late, the bound above what that makes of it', late(500), 600, 'pass'],
    ['41 ms late, the bound between 50 and 91 ms', late(41), 60, 'inconclusive'],
    ['41 ms late, the bound below both', late(41), 49, 'fail'],
    ['1 ms late, and crossed by less', late(1), 50.5, 'inconclusive'],
    ['2 of 1,000 are late by 900 ms, the others exact', [...late(900, 2), ...late(0, 998)], 49, 'fail'],
  ] as const)('%s', (_, observations, bound, verdict) =>
    expect(judged(ofTime(bound), observations).verdict).toBe(verdict),
  )
  test('the message states both ends, the cause, and what to do', () => {
    expect(judged(ofTime(60), late(41)).message).toBe(
      'p(95) latency was 91 ms (50 ms to 91 ms), not < 60 ms (n = 300), but the measurement is not exact enough: Turnpike sent up to 41 ms late (p95 41 ms). Run it on a machine with more free CPU',
    )
    expect(judged(ofTime(60), late(41))).toMatchObject({ value: 91, lowest: 50, highest: 91 })
  })
  test('a service that is truly slow fails although requests were late', () => {
    const slow = times(300, anObservation({ sentMs: 300, endMs: 2300 }))
    expect(judged(ofTime(400), slow).verdict).toBe('fail')
  })
  test('late requests delay others that were on time, so these do not prove that the service is slow', () => {
    // Every second, ten requests are sent 100 ms late at once, and ten more wait behind them: 20 % are slow.
    const bunch = Array.from({ length: 10 }, (_, k) =>
      anObservation({ dueMs: 10 * k, sentMs: 100, endMs: 105 + 5 * k }),
    )
    const behind = Array.from({ length: 10 }, (_, k) =>
      anObservation({ dueMs: 100 + 10 * k, sentMs: 100 + 10 * k, endMs: 155 + 5 * k }),
    )
    const alone = times(80, anObservation({ sentMs: 0, endMs: 5 }))
    const second = [...bunch, ...behind, ...alone]
    const observations = [...second, ...second, ...second]
    for (const timing of ['latency', 'service-time'] as const)
      expect(judged(ofTime(20, p(95, timing)), observations).verdict).toBe('inconclusive')
  })
  test('a time since the send could be higher by the lateness, had the request been on time', () => {
    const streams = times(300, streamed({}, { dueMs: -99 }))
    expect(judged(ofTime(119, p(95, 'ttft')), streams)).toMatchObject({
      verdict: 'inconclusive',
      value: 20,
      highest: 120,
    })
    expect(judged(ofTime(121, p(95, 'ttft')), streams).verdict).toBe('pass')
  })
  test('the lateness of another call in the same stage counts, that of another stage does not', () => {
    const own = times(300, anObservation({ sentMs: 0 }))
    const other = (stage: string) => times(300, anObservation({ call: 'rpc', stage, sentMs: 90 }))
    const crossed = { ...ofTime(99), call: 'chat' }
    expect(judged(crossed, [...own, ...other('steady')]).verdict).toBe('inconclusive')
    expect(judged(crossed, [...own, ...other('elsewhere')]).verdict).toBe('fail')
  })
  test('one late request of 100 makes a maximum uncertain, and no p95', () => {
    const observations = [...times(99, anObservation({ sentMs: 0 })), anObservation({ sentMs: 90 })]
    expect(judged(ofTime(99, p(50, 'latency')), observations).verdict).toBe('fail')
    expect(judged(ofTime(99, maxLatency), observations).verdict).toBe('inconclusive')
    expect(judged(ofTime(101, maxLatency), observations).verdict).toBe('pass')
  })
  test('a mean is off by at most the mean error', () => {
    expect(judged(ofTime(60, meanLatency), late(21)).verdict).toBe('inconclusive')
    expect(judged(ofTime(49, meanLatency), late(21)).verdict).toBe('fail')
    expect(judged(ofTime(72, meanLatency), late(21)).verdict).toBe('pass')
  })
  test('a lower bound on a time is judged by the other end', () => {
    expect(judged(ofTime(45, p(50, 'latency'), '>'), late(41)).verdict).toBe('pass')
    expect(judged(ofTime(60, p(50, 'latency'), '>'), late(41)).verdict).toBe('inconclusive')
    expect(judged(ofTime(95, p(50, 'latency'), '>'), late(41)).verdict).toBe('fail')
  })
  test('a threshold on lateness itself is exact, including system stages', () => {
    const own = times(99, anObservation({ stage: '(opening)', sentMs: 50, endMs: 60 }))
    expect(judged(ofTime(20, p(95, 'lateness')), own).verdict).toBe('fail')
    expect(judged(ofTime(60, p(95, 'lateness')), own).verdict).toBe('pass')
  })
  test('a count of failures is exact', () => {
    const none = aThreshold({ measure: count('count', 'failed'), operator: '==', bound: 0 })
    expect(judged(none, late(500)).verdict).toBe('pass')
    expect(judged(none, [...late(500), failed()]).verdict).toBe('fail')
  })
})

describe('stalls of the event loop count only if they could change the outcome', () => {
  const stalled = (longestMs: number, n = 300) => times(n, streamed({}, { dueMs: 1, stalls: { count: 1, longestMs } }))
  const quiet = (n: number) => times(n, streamed({}, { dueMs: 1 }))
  test.each([
    ['a stall makes a response later, never earlier: a met bound stays met', p(95, 'latency'), 100, 'pass'],
    ['the bound between both ends', p(95, 'latency'), 90, 'inconclusive'],
    ['the bound below both ends', p(95, 'latency'), 71, 'fail'],
    ['a first token', p(95, 'ttft'), 21, 'pass'],
    ['TPOT spreads the stall over four gaps', p(95, 'tpot'), 17, 'pass'],
    ['and is inconclusive below that', p(95, 'tpot'), 16, 'inconclusive'],
    ['and fails beyond doubt', p(95, 'tpot'), 3, 'fail'],
    ['a gap is longer or shorter', p(95, 'icl'), 37, 'pass'],
    ['a gap near the bound', p(95, 'icl'), 36, 'inconclusive'],
  ] as const)('%s', (_, measure, bound, verdict) =>
    expect(judged(ofTime(bound, measure, '<='), stalled(27)).verdict).toBe(verdict),
  )
  test('a stall that few responses met moves a percentile by few ranks', () => {
    const observations = [...stalled(5000, 3), ...quiet(297)]
    expect(judged(ofTime(90), observations).verdict).toBe('fail')
    expect(judged(ofTime(90, maxLatency), observations).verdict).toBe('inconclusive')
  })
  test('a service that is truly slow fails on a machine that stalls', () => {
    const slow = times(300, anObservation({ dueMs: 1, endMs: 2000, stalls: { count: 9, longestMs: 300 } }))
    expect(judged(ofTime(400), slow).verdict).toBe('fail')
  })
  test('a run that does not state the stalls of each response is judged by its longest stall', () => {
    expect(judged(ofTime(90), quiet(300), { unrecordedStallMs: 5 }).verdict).toBe('fail')
    expect(judged(ofTime(90), quiet(300), { unrecordedStallMs: 20 }).verdict).toBe('inconclusive')
    expect(judged(ofTime(99), quiet(300), { unrecordedStallMs: 20 }).verdict).toBe('inconclusive')
    expect(judged(ofTime(100), quiet(300), { unrecordedStallMs: 900 }).verdict).toBe('pass')
  })
})

describe('a share of good responses', () => {
  const ofGood = (bound: number, kind: 'ratio' | 'count' = 'ratio') =>
    aThreshold({ measure: count(kind, 'good'), operator: '>=', bound })
  const judgedBy = (
    threshold: Threshold,
    slo: Partial<Record<Timing, number>>,
    observations: readonly Observation[],
  ) => {
    const metrics = createMetrics(aPlan({ slo: { chat: slo } }))
    for (const observation of observations) metrics.add(observation)
    return evaluateThresholds([threshold], metrics, totals)[0]
  }
  const noUsage = streamed({ usage: null })
  test('is inconclusive if the SLO cannot be measured, with the reason', () => {
    const result = judgedBy(ofGood(0.9), { tpot: 1000 }, times(100, noUsage))
    expect(result?.verdict).toBe('inconclusive')
    expect(result?.message).toContain('tpot of 100 responses cannot be measured: no usage in the streams')
  })
  test('is decided if the unmeasured ones cannot change it', () => {
    const missed = streamed({ usage: { completion_tokens: 2 } })
    expect(judgedBy(ofGood(0.9), { tpot: 10 }, [...times(20, missed), ...times(80, noUsage)])?.verdict).toBe('fail')
    expect(judgedBy(ofGood(0.9), { tpot: 10 }, [...times(95, streamed()), ...times(5, noUsage)])?.verdict).toBe('pass')
    expect(judgedBy(ofGood(0.9), { tpot: 10 }, [...times(85, streamed()), ...times(15, noUsage)])?.verdict).toBe(
      'inconclusive',
    )
  })
  test('a response that missed an SLO is bad, whatever else cannot be measured', () => {
    expect(judgedBy(ofGood(0.9), { tpot: 10, latency: 50 }, times(100, noUsage))?.verdict).toBe('fail')
  })
  test('is inconclusive if the lateness of Turnpike decides, and only then', () => {
    const late = times(100, anObservation({ sentMs: 19, endMs: 110 }))
    expect(judgedBy(ofGood(0.9), { latency: 100 }, late)?.verdict).toBe('inconclusive')
    expect(judgedBy(ofGood(0.9), { latency: 90 }, late)?.verdict).toBe('fail')
    expect(judgedBy(ofGood(0.9), { latency: 110 }, late)?.verdict).toBe('pass')
  })
  test('a refusal is no matter of time', () => {
    const late = times(100, respondedWith(500, { sentMs: 900, endMs: 950 }))
    expect(judgedBy(ofGood(0.9), { latency: 100 }, late)?.verdict).toBe('fail')
  })
})

describe('a timing that the responses do not show', () => {
  test.each([
    ['tpot', streamed({ usage: null }), 'no usage in the streams'],
    ['itl', streamed({ usage: null }), 'no usage in the streams'],
    ['itl', streamed({ usage: { completion_tokens: 9 } }), 'no usage, or several tokens in a chunk'],
    ['ttft', streamed({ firstTokenMs: null }), 'no token in the streams'],
  ] as const)('%s is inconclusive, and the message says why', (timing, o, why) => {
    expect(judged(ofTime(100, p(95, timing)), times(99, o))).toMatchObject({
      verdict: 'inconclusive',
      message: `p(95) ${timing} cannot be measured: ${why} (required < 100 ms; n = 0)`,
    })
  })
})

describe('if this machine could not open every connection', () => {
  const unsent = dropped({ outcome: { kind: 'dropped', reason: 'no-file-descriptors' } })
  const verdictOn = (
    of: 'sent' | 'good' | 'failed' | 'dropped' | 'answered',
    bound: number,
    observations: readonly Observation[],
  ) => judged(aThreshold({ measure: count('count', of), operator: '==', bound }), observations).verdict
  test.each([
    ['sent', 2],
    ['answered', 2],
    ['good', 1],
    ['dropped', 0],
  ] as const)('a threshold on %s is inconclusive where the unsent request decides', (of, bound) => {
    expect(verdictOn(of, bound, [anObservation(), unsent])).toBe('inconclusive')
    expect(verdictOn(of, 7, [anObservation(), unsent])).toBe('fail')
  })
  test('the target has not failed', () => expect(verdictOn('failed', 0, [anObservation(), unsent])).toBe('pass'))
  test('a failure of the target is still one', () => expect(verdictOn('failed', 0, [failed(), unsent])).toBe('fail'))
  test('an arrival that was dropped for another reason still counts', () =>
    expect(verdictOn('dropped', 0, [anObservation(), dropped()])).toBe('fail'))
})
