import { describe, expect, test } from 'vitest'
import { createFindingLog } from '../../../src/judge/checks/findings.ts'
import type { ThresholdResult } from '../../../src/judge/thresholds.ts'
import type { Plan, Threshold } from '../../../src/plan/plan.ts'
import { failingReport, passingReport } from '../report/fixtures.ts'
import { findingLogOf, judgedRunOf } from './judged-run.ts'
import { anObservation, aPlan, aThreshold, dropped, failed, respondedWith } from './metrics/fixtures.ts'

const result = (verdict: ThresholdResult['verdict']): ThresholdResult => {
  const [first] = passingReport.thresholds
  if (first === undefined) throw new Error('the fixture has a threshold')
  return { ...first, verdict, message: 'p(95) was 1 ms' }
}
const planWith = (...thresholds: Threshold[]): Plan => aPlan({ thresholds })
const on = (kind: 'failed' | 'dropped', changes: Partial<Threshold> = {}) =>
  aThreshold({ measure: { kind: 'ratio', count: { kind } }, ...changes })

describe('verdict: fail', () => {
  const { tallies, findings } = findingLogOf(2)
  test('when a clause was violated', () => {
    const report = judgedRunOf([anObservation()], { clauses: tallies(), findings: findings() })
    expect(report.verdict).toBe('fail')
    expect(report.reasons).toEqual([
      "2 violations of rpc.credits.amount (§4.3): Credits are the chain's base credits times the multiplier of the method's tier, summed over a batch.",
    ])
  })
  test('when there is a discrepancy, but not when it was found zero times', () => {
    const [discrepancy] = failingReport.billing.discrepancies
    if (discrepancy === undefined) throw new Error('the fixture has a discrepancy')
    const withCount = (count: number) =>
      judgedRunOf([anObservation()], {
        billing: { ...passingReport.billing, discrepancies: [{ ...discrepancy, count }] },
      })
    expect(withCount(2)).toMatchObject({
      verdict: 'fail',
      reasons: ['2 billing discrepancies "billed-twice", $0.0000125 in all.'],
    })
    expect(withCount(0).verdict).toBe('pass')
  })
  test('when a threshold was crossed', () => {
    expect(judgedRunOf([anObservation()], { thresholds: [result('fail')] })).toMatchObject({
      verdict: 'fail',
      reasons: ['Threshold crossed: p(95) latency of batch < 400ms: p(95) was 1 ms.'],
    })
  })
  test('outranks what is in doubt, which is listed behind it', () => {
    const report = judgedRunOf([failed()], {
      findings: findings(),
      ended: 'interrupted',
      thresholds: [result('inconclusive'), result('fail')],
    })
    expect(report.verdict).toBe('fail')
    expect(report.reasons.map(reason => reason.slice(0, 16))).toEqual([
      '2 violations of ',
      'Threshold crosse',
      'The run was inte',
      'None of 1 reques',
      'Threshold not es',
      '1 request failed',
    ])
  })
})

describe('verdict: inconclusive', () => {
  test.each([
    ['interrupted', 'The run was interrupted after 10 s.'],
    ['target-unreachable', 'No answer came from the target http://127.0.0.1:8080/api/v1.'],
    ['budget-reached', 'The budget was reached after 10 s, and the run ended early.'],
    ['truncated', 'The record of the run ends after 10 s without an end, as after a kill.'],
  ] as const)('when the run ended as %s', (ended, reason) => {
    expect(judgedRunOf([anObservation()], { ended })).toMatchObject({
      verdict: 'inconclusive',
      reasons: [reason],
    })
  })
  test('when nothing was sent', () => {
    expect(judgedRunOf([])).toMatchObject({ verdict: 'inconclusive', reasons: ['Nothing was sent.'] })
  })
  test('when nothing was answered, even where failures are allowed', () => {
    expect(
      judgedRunOf([failed(), failed()], { plan: planWith(on('failed')), thresholds: [result('pass')] }),
    ).toMatchObject({
      verdict: 'inconclusive',
      reasons: ['None of 2 requests was answered.'],
    })
  })
  test('when a threshold is', () => {
    expect(judgedRunOf([anObservation()], { thresholds: [result('inconclusive')] }).verdict).toBe('inconclusive')
  })
  test('when requests failed or arrivals were dropped, and no threshold says how many may', () => {
    expect(judgedRunOf([anObservation(), failed(), dropped()])).toMatchObject({
      verdict: 'inconclusive',
      reasons: [
        '1 request failed (connection-lost 1), and no threshold says how many may.',
        '1 arrival was dropped and never sent, and no threshold says how many may be.',
      ],
    })
  })
  test('when the threshold is about other calls, or other stages, than those that failed', () => {
    const observations = [anObservation(), failed({ call: 'chat' }), failed({ call: 'rpc' })]
    for (const changes of [{ call: 'chat' }, { call: 'chat', stage: 'steady' }])
      expect(
        judgedRunOf(observations, { plan: planWith(on('failed', changes)), thresholds: [result('pass')] }),
      ).toMatchObject({
        verdict: 'inconclusive',
        reasons: ['1 request failed (connection-lost 2), and no threshold says how many may.'],
      })
  })
  test('when nothing was judged', () => {
    expect(judgedRunOf([anObservation()], { clauses: createFindingLog().tallies() })).toMatchObject({
      verdict: 'inconclusive',
      reasons: ['Nothing was judged: no clause was exercised and the plan has no threshold.'],
    })
  })
})

describe('verdict: pass', () => {
  test('when all that was judged was kept, and it says how much that is', () => {
    expect(judgedRunOf([anObservation()], { thresholds: [result('pass')] })).toMatchObject({
      verdict: 'pass',
      reasons: ['1 answer judged: 1 clause kept, 1 threshold held, no discrepancy.'],
    })
  })
  test('when thresholds say how many may fail and be dropped', () => {
    const plan = planWith(on('failed'), on('dropped', { stage: 'steady' }))
    const observations = [anObservation(), failed(), failed({ stage: '(opening)' }), dropped()]
    expect(judgedRunOf(observations, { plan, thresholds: [result('pass')] }).verdict).toBe('pass')
  })
  test('answers that are no success are answers', () => {
    expect(judgedRunOf([respondedWith(429), respondedWith(500)]).verdict).toBe('pass')
  })
})
