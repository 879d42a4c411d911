import { describe, expect, test } from 'vitest'
import { createFindingLog } from '../../../src/checks/findings.ts'
import type { ThresholdResult } from '../../../src/metrics/thresholds.ts'
import type { Plan, Threshold } from '../../../src/plan/plan.ts'
import type { Evidence } from '../../../src/report/report.ts'
import {
  anObservation,
  answeredWith,
  aPlan,
  aStage,
  aThreshold,
  dropped,
  failed,
  streamed,
} from '../metrics/fixtures.ts'
import { failingReport, passingReport } from './fixtures.ts'
import { docketOf, reportOf, runFacts } from './report-of.ts'

const result = (verdict: ThresholdResult['verdict']): ThresholdResult => {
  const [first] = passingReport.thresholds
  if (first === undefined) throw new Error('the fixture has a threshold')
  return { ...first, verdict, because: 'p(95) was 1 ms' }
}
const planWith = (...thresholds: Threshold[]): Plan => aPlan({ thresholds })
const on = (kind: 'failed' | 'dropped', changes: Partial<Threshold> = {}) =>
  aThreshold({ measure: { kind: 'ratio', count: { kind } }, ...changes })

describe('verdict: fail', () => {
  const { tallies, findings } = docketOf(2)
  test('when a clause was violated', () => {
    const report = reportOf([anObservation()], { tallies: tallies(), findings: findings() })
    expect(report.verdict).toBe('fail')
    expect(report.because).toEqual([
      "2 violations of rpc.credits.amount (§4.3): Credits are the chain's base credits times the multiplier of the method's tier, summed over a batch.",
    ])
  })
  test('when there is a discrepancy, but not when it was found zero times', () => {
    const [discrepancy] = failingReport.billing.discrepancies
    if (discrepancy === undefined) throw new Error('the fixture has a discrepancy')
    const withCount = (count: number) =>
      reportOf([anObservation()], { billing: { ...passingReport.billing, discrepancies: [{ ...discrepancy, count }] } })
    expect(withCount(2)).toMatchObject({
      verdict: 'fail',
      because: ['2 billing discrepancies "billed-twice", $0.0000125 in all.'],
    })
    expect(withCount(0).verdict).toBe('pass')
  })
  test('when a threshold was crossed', () => {
    expect(reportOf([anObservation()], { thresholds: [result('fail')] })).toMatchObject({
      verdict: 'fail',
      because: ['Threshold crossed: p(95) latency of batch < 400ms: p(95) was 1 ms.'],
    })
  })
  test('outranks what is in doubt, which is listed behind it', () => {
    const report = reportOf([failed()], {
      findings: findings(),
      run: { ...runFacts, ended: 'interrupted' },
      thresholds: [result('inconclusive'), result('fail')],
    })
    expect(report.verdict).toBe('fail')
    expect(report.because.map(reason => reason.slice(0, 16))).toEqual([
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
    ['cut-short', 'The record of the run ends after 10 s without an end, as after a kill.'],
  ] as const)('when the run ended as %s', (ended, because) => {
    expect(reportOf([anObservation()], { run: { ...runFacts, ended } })).toMatchObject({
      verdict: 'inconclusive',
      because: [because],
    })
  })
  test('when nothing was sent', () => {
    expect(reportOf([])).toMatchObject({ verdict: 'inconclusive', because: ['Nothing was sent.'] })
  })
  test('when nothing was answered, even where failures are allowed', () => {
    expect(
      reportOf([failed(), failed()], { plan: planWith(on('failed')), thresholds: [result('pass')] }),
    ).toMatchObject({
      verdict: 'inconclusive',
      because: ['None of 2 requests was answered.'],
    })
  })
  test('when a threshold is', () => {
    expect(reportOf([anObservation()], { thresholds: [result('inconclusive')] }).verdict).toBe('inconclusive')
  })
  test('when requests failed or arrivals were dropped, and no threshold says how many may', () => {
    expect(reportOf([anObservation(), failed(), dropped()])).toMatchObject({
      verdict: 'inconclusive',
      because: [
        '1 request failed (connection-lost 1), and no threshold says how many may.',
        '1 arrival was dropped and never sent, and no threshold says how many may be.',
      ],
    })
  })
  test('when the threshold is about other calls, or other stages, than those that failed', () => {
    const observations = [anObservation(), failed({ call: 'chat' }), failed({ call: 'rpc' })]
    for (const changes of [{ call: 'chat' }, { call: 'chat', stage: 'steady' }])
      expect(
        reportOf(observations, { plan: planWith(on('failed', changes)), thresholds: [result('pass')] }),
      ).toMatchObject({
        verdict: 'inconclusive',
        because: ['1 request failed (connection-lost 2), and no threshold says how many may.'],
      })
  })
  test('when nothing was judged', () => {
    expect(reportOf([anObservation()], { tallies: createFindingLog().tallies() })).toMatchObject({
      verdict: 'inconclusive',
      because: ['Nothing was judged: no clause was exercised and the plan has no threshold.'],
    })
  })
})

describe('verdict: pass', () => {
  test('when all that was judged was kept, and it says how much that is', () => {
    expect(reportOf([anObservation()], { thresholds: [result('pass')] })).toMatchObject({
      verdict: 'pass',
      because: ['1 answer judged: 1 clause kept, 1 threshold held, no discrepancy.'],
    })
  })
  test('when thresholds say how many may fail and be dropped', () => {
    const plan = planWith(on('failed'), on('dropped', { stage: 'steady' }))
    const observations = [anObservation(), failed(), failed({ stage: '(opening)' }), dropped()]
    expect(reportOf(observations, { plan, thresholds: [result('pass')] }).verdict).toBe('pass')
  })
  test('answers that are no success are answers', () => {
    expect(reportOf([answeredWith(429), answeredWith(500)]).verdict).toBe('pass')
  })
})

describe('report: its figures', () => {
  const plan = aPlan({ stages: [aStage('ramp', 2000), aStage('steady', 8000)], slo: { chat: { latency: 100 } } })
  const report = reportOf(
    [
      streamed({}, { stage: 'steady' }),
      streamed({}, { stage: 'ramp' }),
      streamed({}, { stage: 'ramp', endMs: 101 }),
      answeredWith(429, { stage: 'ramp' }),
      failed({ stage: 'ramp' }),
      dropped({ stage: 'ramp' }),
      anObservation({ stage: '(opening)', call: 'rate-limits' }),
    ],
    { plan },
  )
  test('a call comes over all stages first, then by stage in the order of the plan; not the program’s own', () => {
    expect(report.calls.map(({ call, stage }) => [call, stage])).toEqual([
      ['chat', null],
      ['chat', 'ramp'],
      ['chat', 'steady'],
    ])
  })
  test('counts and rates of a stage', () => {
    expect(report.calls[1]).toMatchObject({
      count: 4,
      statuses: { '200': 2, '429': 1 },
      failed: 1,
      dropped: 1,
      outputTokens: 10,
      outputTokensPerSecond: 5,
      achievedPerSecond: 1.5,
      goodputPerSecond: 0.5,
      goodRatio: 0.2,
    })
  })
  test('rates over all stages are over all of their time', () => {
    expect(report.calls[0]).toMatchObject({ outputTokens: 15, outputTokensPerSecond: 1.5, goodputPerSecond: 0.2 })
  })
  test('a call that says no tokens has no rate of them', () => {
    expect(reportOf([anObservation()]).calls[0]).toMatchObject({ outputTokens: 0, outputTokensPerSecond: null })
  })
  test('a probe is to be refused, so that no share of its answers is good', () => {
    const calls = { ...aPlan().calls, chat: { kind: 'probe', probe: 'bad-key' } } as const
    expect(reportOf([answeredWith(401)], { plan: aPlan({ calls }) }).calls[0]).toMatchObject({
      achievedPerSecond: 0.1,
      goodputPerSecond: null,
      goodRatio: null,
    })
  })
  test('the load is everything, the program’s own requests included', () => {
    expect(report.load).toMatchObject({ planned: 100, sent: 6, answered: 5, failed: 1, dropped: 1 })
    expect(report.load.failures).toEqual({ 'connection-lost': 1 })
    expect(report.load.latenessMs).toMatchObject({ count: 6, mean: 1 })
  })
  test('rates of a run that was cut short are over the time that it had', () => {
    const short = reportOf([streamed()], { run: { ...runFacts, ended: 'interrupted', durationMs: 2000 } })
    expect(short.calls[0]).toMatchObject({ achievedPerSecond: 0.5 })
  })
})

test('report: findings and discrepancies bring the evidence that was kept, and findings say what the clause says', () => {
  const evidence: Evidence = {
    seq: 0,
    caller: 'c0',
    stage: 'steady',
    call: 'rpc',
    request: null,
    outcome: '200',
    headers: {},
    body: '',
    dueMs: 0,
    sentMs: 0,
    headersMs: 1,
    endMs: 2,
  }
  const examples = [{ because: 'charged twice', seqs: [0, 9] }]
  const report = reportOf([anObservation()], {
    findings: docketOf(2).findings(),
    billing: {
      ...passingReport.billing,
      discrepancies: [{ kind: 'billed-twice', count: 1, amountUsd: '1', examples }],
    },
    evidence: new Map([[0, evidence]]),
  })
  expect(report.billing.discrepancies[0]?.examples).toEqual([
    { because: 'charged twice', seqs: [0, 9], evidence: [evidence] },
  ])
  expect(report.findings).toMatchObject([
    {
      clause: 'rpc.credits.amount',
      check: 'rpc-credits',
      count: 2,
      because: 'got 1, expected 2',
      examples: [
        { seqs: [0], evidence: [evidence] },
        { seqs: [1], evidence: [] },
      ],
    },
  ])
  expect(report.findings[0]?.says).toContain('base credits')
})
