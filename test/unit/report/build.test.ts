import { describe, expect, test } from 'vitest'
import type { Evidence } from '../../../src/report/document.ts'

import { findingLogOf } from '../judge/judged-run.ts'
import { anObservation, aPlan, aStage, dropped, failed, respondedWith, streamed } from '../judge/metrics/fixtures.ts'
import { aBilling } from './fixtures.ts'
import { reportOf } from './report-of.ts'

describe('the figures of a report', () => {
  const plan = aPlan({ stages: [aStage('ramp', 2000), aStage('steady', 8000)], slo: { chat: { latency: 100 } } })
  const report = reportOf(
    [
      streamed({}, { stage: 'steady' }),
      streamed({}, { stage: 'ramp' }),
      streamed({}, { stage: 'ramp', endMs: 101 }),
      respondedWith(429, { stage: 'ramp' }),
      failed({ stage: 'ramp' }),
      dropped({ stage: 'ramp' }),
      anObservation({ stage: '(opening)', call: 'rate-limits' }),
    ],
    { plan },
  )
  test('a call comes over all stages first, then by stage in plan order; system calls are left out', () => {
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
  test('rates over all stages use the time of all stages', () => {
    expect(report.calls[0]).toMatchObject({ outputTokens: 15, outputTokensPerSecond: 1.5, goodputPerSecond: 0.2 })
  })
  test('a call whose responses state no tokens has no token rate', () => {
    expect(reportOf([anObservation()]).calls[0]).toMatchObject({ outputTokens: 0, outputTokensPerSecond: null })
  })
  test('a probe has no goodput', () => {
    const calls = { ...aPlan().calls, chat: { kind: 'probe', probe: 'bad-key' } } as const
    expect(reportOf([respondedWith(401)], { plan: aPlan({ calls }) }).calls[0]).toMatchObject({
      achievedPerSecond: 0.1,
      goodputPerSecond: null,
      goodRatio: null,
    })
  })
  test('the load includes the system calls', () => {
    expect(report.load).toMatchObject({ planned: 100, sent: 6, answered: 5, failed: 1, dropped: 1 })
    expect(report.load.failures).toEqual({ 'connection-lost': 1 })
    expect(report.load.latenessMs).toMatchObject({ count: 6, mean: 1 })
  })
  test('rates of an interrupted run use the time until the interruption', () => {
    const short = reportOf([streamed()], { ended: 'interrupted', durationMs: 2000 })
    expect(short.calls[0]).toMatchObject({ achievedPerSecond: 0.5 })
  })
})

test('findings and discrepancies have their evidence, and findings have the text of the clause', () => {
  const evidence: Evidence = {
    id: 0,
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
    position: null,
    sentAt: null,
    traceId: null,
  }
  const examples = [{ message: 'charged twice', requestIds: [0, 9], decidedBy: [9], omitted: 0, count: 1 }]
  const report = reportOf(
    [anObservation()],
    {
      findings: findingLogOf(2).findings(),
      billing: {
        ...aBilling,
        discrepancies: [{ kind: 'billed-twice', count: 1, amountUsd: '1', examples }],
      },
    },
    new Map([[0, evidence]]),
  )
  expect(report.billing.discrepancies[0]?.examples).toEqual([
    { message: 'charged twice', requestIds: [0, 9], decidedBy: [9], omitted: 0, count: 1, evidence: [evidence] },
  ])
  expect(report.findings).toMatchObject([
    {
      clause: 'rpc.credits.amount',
      judge: 'rpc-credits',
      count: 2,
      message: 'got 1, expected 2',
      examples: [{ requestIds: [0], decidedBy: [0], count: 2, evidence: [evidence] }],
    },
  ])
  expect(report.findings[0]?.text).toContain('base credits')
})
