import { describe, expect, test } from 'vitest'
import type { ClauseId } from '../../../src/contract/clauses.ts'
import { createFindingLog } from '../../../src/judge/findings/findings.ts'
import type { ThresholdResult } from '../../../src/judge/results.ts'
import type { LocalFault, Observation } from '../../../src/observation/observation.ts'
import type { Plan, Threshold } from '../../../src/plan/plan.ts'
import { aSearch } from '../report/capacity-results.ts'
import { aBilling, failingReport, passingReport } from '../report/fixtures.ts'
import { refused, singleDescriptor } from './checks/observed.ts'
import { findingLogOf, judgedRunOf } from './judged-run.ts'
import { anObservation, aPlan, aThreshold, dropped, failed, respondedWith } from './metrics/fixtures.ts'

const result = (verdict: ThresholdResult['verdict']): ThresholdResult => {
  const [first] = passingReport.thresholds
  if (first === undefined) throw new Error('the fixture has a threshold')
  return { ...first, verdict, message: 'p(95) was 1 ms' }
}
const planWith = (...thresholds: Threshold[]): Plan => aPlan({ thresholds })
const times = (count: number, observation: Observation) => Array.from({ length: count }, () => observation)
const thresholdOn = (kind: 'failed' | 'dropped', changes: Partial<Threshold> = {}) =>
  aThreshold({ measure: { kind: 'ratio', count: { kind } }, ...changes })

describe('verdict: fail', () => {
  const { tallies, findings } = findingLogOf(2)
  test('if a clause was violated', () => {
    const report = judgedRunOf([anObservation()], { clauses: tallies(), findings: findings() })
    expect(report.verdict).toBe('fail')
    expect(report.reasons).toEqual([
      "2 violations of rpc.credits.amount (§4.3): Credits are the chain's base credits times the multiplier of the method's tier, summed over a batch.",
    ])
  })
  test('and the reason names what the violation masks, at most three clauses, but none that was violated itself', () => {
    const maskedBy = (count: number, verdict: 'not-exercised' | 'fail' = 'not-exercised') => {
      const because = { kind: 'not-judged', text: 'no amount', clause: 'rpc.credits.amount' } as const
      const others = tallies().filter(({ id }) => id.startsWith('chat.'))
      const masked = others.slice(0, count).map(tally => ({ ...tally, verdict, because }))
      const clauses = tallies().map(tally => masked.find(({ id }) => id === tally.id) ?? tally)
      const [reason = ''] = judgedRunOf([anObservation()], { clauses, findings: findings() }).reasons
      return { ids: masked.map(({ id }) => id), reason }
    }
    const [two, five] = [maskedBy(2), maskedBy(5)]
    expect(two.reason).toMatch(new RegExp(` It masks ${two.ids.join(', ')}\\.$`))
    expect(five.reason).toMatch(new RegExp(` It masks ${five.ids.slice(0, 3).join(', ')}, and 2 more\\.$`))
    expect(maskedBy(2, 'fail').reason).not.toContain('masks')
  })
  test('if there is a discrepancy, but not if its count is 0', () => {
    const [discrepancy] = failingReport.billing.discrepancies
    if (discrepancy === undefined) throw new Error('the fixture has a discrepancy')
    const withCount = (count: number) =>
      judgedRunOf([anObservation()], {
        billing: { ...aBilling, discrepancies: [{ ...discrepancy, count }] },
      })
    expect(withCount(2)).toMatchObject({
      verdict: 'fail',
      reasons: ['2 billing discrepancies "billed-twice", $0.0000125 in total.'],
    })
    expect(withCount(0).verdict).toBe('pass')
  })
  test('if a threshold was crossed', () => {
    expect(judgedRunOf([anObservation()], { thresholds: [result('fail')] })).toMatchObject({
      verdict: 'fail',
      reasons: ['Threshold crossed: p(95) latency of batch < 400ms: p(95) was 1 ms.'],
    })
  })
  test('outranks inconclusive; the inconclusive reasons follow the failures', () => {
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
      'Threshold inconc',
      '1 request failed',
    ])
  })
})

const aWorker = {
  worker: 1,
  callers: 6,
  sent: 60,
  lost: false,
  startedMs: 0,
  eventLoopDelayMs: null,
  machine: null,
  health: null,
  records: null,
}

describe('verdict: inconclusive', () => {
  test.each([
    ['interrupted', 'The run was interrupted after 10 s.'],
    ['target-unreachable', 'The target http://127.0.0.1:8080/api/v1 never responded.'],
    ['budget-reached', 'The run reached its budget after 10 s and ended early.'],
    ['truncated', 'The recording stops at 10 s; the run was probably killed.'],
  ] as const)('if the run ended as %s', (ended, reason) => {
    expect(judgedRunOf([anObservation()], { ended })).toMatchObject({
      verdict: 'inconclusive',
      reasons: [reason],
    })
  })
  test('if workers crashed, with the number of recovered requests', () => {
    const reasonsWith = (...lost: readonly boolean[]) => {
      const { load } = judgedRunOf([anObservation()])
      const workers = lost.map((isLost, index) => ({
        ...aWorker,
        worker: index + 1,
        lost: isLost,
        latenessMs: load.latenessMs,
      }))
      return judgedRunOf([anObservation()], { ended: 'worker-lost', load: { ...load, workers } }).reasons
    }
    expect(reasonsWith(false, true)).toEqual([
      'Worker 2 of 2 crashed. 60 requests of its 6 callers were recovered. The run ended early, after 10 s.',
    ])
    expect(reasonsWith(true, false, true)).toEqual([
      'Workers 1, 3 of 3 crashed. 120 requests of their 12 callers were recovered. The run ended early, after 10 s.',
    ])
    expect(reasonsWith(false, false)).toEqual([
      'A worker was paused or unreachable for too long. The run ended early, after 10 s.',
    ])
  })
  test('if no worker left a result, without a claim that nothing was sent', () => {
    const { load } = judgedRunOf([])
    const reasonsWith = (...lost: readonly boolean[]) => {
      const workers = lost.map((isLost, index) => ({ ...aWorker, worker: index + 1, sent: 0, lost: isLost }))
      const all = workers.map(worker => ({ ...worker, latenessMs: load.latenessMs }))
      return judgedRunOf([], { ended: 'truncated', load: { ...load, workers: all } }).reasons
    }
    expect(reasonsWith(true, true)).toEqual([
      'None of 2 workers left a result, so it is unknown what was sent.',
      'No request was recorded.',
    ])
    expect(reasonsWith(true)).toEqual([
      'The worker left no result, so it is unknown what was sent.',
      'No request was recorded.',
    ])
  })
  test('if responses came from the abuse block', () => {
    const { load } = judgedRunOf([anObservation()])
    expect(judgedRunOf([anObservation()], { load: { ...load, blocked: 12 } })).toMatchObject({
      verdict: 'inconclusive',
      reasons: ['12 responses came from the abuse block, so these results describe the block and not the service.'],
    })
  })
  test('if no request was sent', () => {
    expect(judgedRunOf([])).toMatchObject({ verdict: 'inconclusive', reasons: ['No request was sent.'] })
  })
  test('if no request was answered, even if failures are allowed', () => {
    expect(
      judgedRunOf([failed(), failed()], { plan: planWith(thresholdOn('failed')), thresholds: [result('pass')] }),
    ).toMatchObject({
      verdict: 'inconclusive',
      reasons: ['None of 2 requests got a complete response.'],
    })
  })
  test('if a threshold is inconclusive', () => {
    expect(judgedRunOf([anObservation()], { thresholds: [result('inconclusive')] }).verdict).toBe('inconclusive')
  })
  test('if requests failed or arrivals were dropped, and no threshold covers them', () => {
    expect(judgedRunOf([anObservation(), failed(), dropped()])).toMatchObject({
      verdict: 'inconclusive',
      reasons: [
        '1 request failed (connection-lost 1), and the scenario has no threshold for failures.',
        '1 arrival was dropped and never sent, and the scenario has no threshold for drops.',
      ],
    })
  })
  test('if this machine could not open connections, with the remedy and without blame for the target', () => {
    const without = (reason: LocalFault, changes = {}) => dropped({ outcome: { kind: 'dropped', reason }, ...changes })
    const { verdict, reasons } = judgedRunOf([
      anObservation(),
      without('no-file-descriptors'),
      without('no-file-descriptors', { id: 1 }),
      without('no-local-ports', { id: 2 }),
    ])
    expect(verdict).toBe('inconclusive')
    expect(reasons).toEqual([
      'Turnpike could not send 2 requests because of its own machine, not of the target: it has no free file descriptor. Raise "ulimit -n", or lower bounds: max-in-flight.',
      'Turnpike could not send 1 request because of its own machine, not of the target: it has no free local address or port. Open fewer connections at a time, or widen net.ipv4.ip_local_port_range.',
    ])
  })
  test('if the threshold covers other calls or stages than the failures', () => {
    const observations = [anObservation(), failed({ call: 'chat' }), failed({ call: 'rpc' })]
    for (const changes of [{ call: 'chat' }, { call: 'chat', stage: 'steady' }])
      expect(
        judgedRunOf(observations, { plan: planWith(thresholdOn('failed', changes)), thresholds: [result('pass')] }),
      ).toMatchObject({
        verdict: 'inconclusive',
        reasons: [
          '1 request failed (connection-lost 2), and the scenario has no threshold for failures.',
          'None of 1 request of rpc in steady succeeded: 1 ended with connection-lost.',
        ],
      })
  })
  test('if nothing was judged', () => {
    expect(judgedRunOf([anObservation()], { clauses: createFindingLog().tallies() })).toMatchObject({
      verdict: 'inconclusive',
      reasons: ['Nothing was judged: no clause was exercised, and the scenario has no threshold.'],
    })
  })
})

describe('verdict: pass', () => {
  test('if all clauses passed and all thresholds are met, with their numbers', () => {
    expect(judgedRunOf([anObservation()], { thresholds: [result('pass')] })).toMatchObject({
      verdict: 'pass',
      reasons: ['1 response checked: 1 clause passed, 1 threshold met.'],
    })
  })
  test('with the word on billing discrepancies only if charges were compared with a balance', () => {
    const judgedBy = (id: ClauseId) =>
      findingLogOf(0)
        .tallies()
        .map(tally => (tally.id === id ? { ...tally, judged: 1, verdict: 'pass' as const } : tally))
    const reasons = (id: ClauseId) => judgedRunOf([anObservation()], { clauses: judgedBy(id) }).reasons
    expect(reasons('billing.conservation')).toEqual([expect.stringContaining(', no billing discrepancy.')])
    expect(reasons('rpc.refused.free')).not.toEqual([expect.stringContaining('discrepancy')])
  })
  test('with the sentence of each search', () => {
    const { reasons } = judgedRunOf([anObservation()], { capacity: [aSearch()] })
    expect(reasons.slice(1)).toEqual([`Capacity in search: ${aSearch().reason}`])
  })
  test('if thresholds cover the failures and drops', () => {
    const plan = planWith(thresholdOn('failed'), thresholdOn('dropped', { stage: 'steady' }))
    const observations = [anObservation(), failed(), failed({ stage: '(opening)' }), dropped()]
    expect(judgedRunOf(observations, { plan, thresholds: [result('pass')] }).verdict).toBe('pass')
  })
  test('if one of several responses is not a success', () => {
    expect(judgedRunOf([respondedWith(503), respondedWith(200)]).verdict).toBe('pass')
  })
  test('not if a response is a refusal that nothing in the run speaks about', () => {
    const full = respondedWith(503)
    const { response } = refused(singleDescriptor, 503)
    const deferred = { ...full, response: response && { ...response, headers: { 'retry-after': '1' } } }
    const refusals = [respondedWith(402), respondedWith(429), deferred]
    expect(refusals.map(refusal => judgedRunOf([refusal, respondedWith(200)]))).toMatchObject([
      { verdict: 'inconclusive', reasons: [expect.stringMatching(/^1 of 2 responses was 402 .chat in steady., and/)] },
      { verdict: 'inconclusive', reasons: [expect.stringMatching(/^1 of 2 responses was 429 .chat in steady., and/)] },
      { verdict: 'inconclusive', reasons: [expect.stringMatching(/^1 of 2 responses was 503 .chat in steady., and/)] },
    ])
  })
  test('not if many responses are errors, unless a threshold says how many are right', () => {
    const observations = [...times(3, respondedWith(500)), ...times(7, respondedWith(200))]
    const many = judgedRunOf(observations)
    expect(many.reasons).toEqual([
      '3 of 10 responses were 500 (chat in steady), and nothing in this run says how many are right. Add a threshold such as "status(500) of chat <= 1%".',
    ])
    const few = (errors: number) =>
      judgedRunOf([...times(errors, respondedWith(500)), ...times(26, respondedWith(200))])
    expect([few(4).verdict, few(2).verdict]).toEqual(['inconclusive', 'pass'])
    const status = { kind: 'status', status: 500 } as const
    const speaking = planWith(aThreshold({ measure: { kind: 'ratio', count: status }, operator: '<=', bound: 0.5 }))
    expect(judgedRunOf(observations, { plan: speaking, thresholds: [result('pass')] }).verdict).toBe('pass')
    const idle = planWith(aThreshold({ measure: { kind: 'count', count: status }, operator: '<=', bound: 10 }))
    expect(judgedRunOf(observations, { plan: idle, thresholds: [result('pass')] }).verdict).toBe('inconclusive')
  })
  test('not if the threshold about failures or drops cannot fail', () => {
    const idle = aThreshold({ measure: { kind: 'ratio', count: { kind: 'dropped' } }, operator: '<=', bound: 1 })
    const run = judgedRunOf([anObservation(), dropped()], { plan: planWith(idle), thresholds: [result('pass')] })
    expect(run).toMatchObject({
      verdict: 'inconclusive',
      reasons: ['1 arrival was dropped and never sent, and the scenario has no threshold for drops.'],
    })
  })
})
