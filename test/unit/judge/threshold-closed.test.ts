import { describe, expect, test } from 'vitest'
import { createMetrics } from '../../../src/judge/metrics/request-stats.ts'
import { evaluateThresholds } from '../../../src/judge/thresholds.ts'
import type { Threshold } from '../../../src/plan/plan.ts'
import { count, judged, times, totals } from './judged-threshold.ts'
import { anObservation, aPlan, aStage, aThreshold } from './metrics/fixtures.ts'

const load = { model: 'closed', users: 10, thinkMs: 0, mix: [['chat', 1]] } as const
const plan = aPlan({ stages: [aStage('steady', 10_000, { load })] })

/** 1,000 responses in 10 s, of 100 ms each, in all of which the event loop stalled for this long. */
const responses = (stallMs: number) =>
  times(
    1_000,
    anObservation({
      sentMs: 0,
      endMs: 100,
      ...(stallMs > 0 ? { stalls: { count: 1, longestMs: stallMs } } : {}),
    }),
  )
const atLeast = (bound: number, kind: 'count' | 'per-second' = 'per-second'): Threshold =>
  aThreshold({ measure: count(kind, 'answered'), operator: '>=', bound })

function inClosed(threshold: Threshold, stallMs: number) {
  const metrics = createMetrics(plan)
  for (const each of responses(stallMs)) metrics.add(each)
  return evaluateThresholds([threshold], metrics, totals)[0]
}

describe('a rate of a closed stage in which Turnpike stalled', () => {
  test('is met if it is high enough as measured', () => {
    expect(inClosed(atLeast(100), 20)).toMatchObject({ verdict: 'pass', value: 100, lowest: 100, highest: 125 })
  })

  test('is inconclusive if it is lower by less than the stalls took, and says so', () => {
    const result = inClosed(atLeast(120), 20)
    expect(result).toMatchObject({ verdict: 'inconclusive', value: 100 })
    expect(result?.message).toContain(
      'Turnpike stalled in up to 20 % of the time in which users waited for a response. Run it on a machine',
    )
  })

  test('is too low if the stalls cannot explain it', () => {
    expect(inClosed(atLeast(126), 20)?.verdict).toBe('fail')
    expect(inClosed(atLeast(101), 0)?.verdict).toBe('fail')
  })

  test('has the same range as a whole number of responses', () => {
    expect(inClosed(atLeast(1_001, 'count'), 0.05)?.verdict).toBe('fail')
    expect(inClosed(atLeast(1_001, 'count'), 0.2)?.verdict).toBe('inconclusive')
  })

  test('is unknown upward if the stalls took all of the time', () => {
    expect(inClosed(atLeast(1e6), 100)?.verdict).toBe('inconclusive')
  })

  test('is exact in an open stage, where requests do not wait for responses', () => {
    expect(judged(atLeast(101), responses(20))).toMatchObject({ verdict: 'fail', highest: 100 })
  })
})
