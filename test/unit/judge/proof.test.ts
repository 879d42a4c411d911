import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { createInventedKeys } from '../../../src/judge/answers.ts'
import { createFindingLog } from '../../../src/judge/findings/findings.ts'
import { createProofLog, unprovenBlocks, unprovenLimits, unprovenReasons } from '../../../src/judge/proof.ts'
import type { LimitResult } from '../../../src/judge/results.ts'
import type { Observation } from '../../../src/observation/observation.ts'
import type { Plan, Threshold } from '../../../src/plan/plan.ts'
import { replayPlan } from '../produce/calls/request-context.ts'
import { batchDescriptor, observed, refused, responseOf, result, singleDescriptor } from './checks/observed.ts'
import { anObservation, aPlan, aStage, aThreshold, dropped, respondedWith } from './metrics/fixtures.ts'

type Load = { readonly plan?: Partial<Plan>; readonly judged?: boolean; readonly thresholds?: readonly Threshold[] }

function reasonsFor(
  observations: readonly Observation[],
  { plan: changes, judged = true, thresholds = [] }: Load = {},
) {
  const plan = aPlan({ thresholds, ...changes })
  const parts = [0, 1].map(() => createProofLog(plan, documentedContract))
  for (const [index, observation] of observations.entries()) parts[index % 2]?.add(observation, judged)
  const all = createProofLog(plan, documentedContract)
  for (const part of parts) all.merge(part.proofs())
  const sent = observations.filter(({ outcome }) => outcome.kind !== 'dropped').length
  return unprovenReasons(plan, all.proofs(), { sent, dropped: observations.length - sent, skipped: 0 })
}

const times = (count: number, observation: Observation) => Array.from({ length: count }, () => observation)
const rpc = (changes: Partial<Observation> = {}) =>
  observed(singleDescriptor, responseOf(200, result(1)), { call: 'rpc', ...changes })

describe('a run proves nothing', () => {
  test('if nothing was due, or everything was dropped', () => {
    expect(reasonsFor([])).toEqual(['No request of the load was due.'])
    expect(reasonsFor([dropped(), dropped()])).toEqual(['No request of the load was sent: 2 arrivals were dropped.'])
  })
  test.each([500, 503, 999, 402, 403, 404, 301])('if every request got a %i', status => {
    expect(reasonsFor(times(4, respondedWith(status)))).toEqual([`No request of the load succeeded: 4 got ${status}.`])
  })
  test('about a call that only failed, or was only dropped', () => {
    expect(
      reasonsFor([
        respondedWith(200),
        ...times(2, refused(singleDescriptor, 500)).map(each => ({ ...each, call: 'rpc' })),
      ]),
    ).toEqual(['None of 2 requests of rpc in steady succeeded: 2 got 500 ("No").'])
    expect(reasonsFor([respondedWith(200), dropped({ call: 'rpc' })])).toEqual([
      'No request of rpc in steady was sent: 1 was dropped.',
    ])
  })
  test('about a stage in which a call no longer worked', () => {
    const stages = [aStage('steady', 1_000), aStage('later', 1_000)]
    expect(reasonsFor([respondedWith(200), respondedWith(500, { stage: 'later' })], { plan: { stages } })).toEqual([
      'None of 1 request of chat in later succeeded: 1 got 500.',
    ])
  })
  test('about a top-up without how to pay; with it, the call did what it should', () => {
    const asking = { kind: 'top-up', step: 'offer', chain: 'base', address: '0x1', payment: null } as const
    const asked = (status: number) => observed(asking, responseOf(status, { error: 'No' }), { call: 'ask' })
    expect(reasonsFor([respondedWith(200), asked(402)])).toEqual([])
    expect(reasonsFor([respondedWith(200), asked(404)])).toEqual([
      'None of 1 request of ask in steady succeeded: 1 got 404 ("No").',
    ])
  })
  test('about a batch of which every item got an error', () => {
    const errors = [1, 2, 'r-3'].map(id => ({ jsonrpc: '2.0', id, error: { code: -32000, message: 'down' } }))
    expect(
      reasonsFor([respondedWith(200), observed(batchDescriptor, responseOf(200, errors), { call: 'rpc' })]),
    ).toEqual(['None of 1 request of rpc in steady succeeded: 1 got a JSON-RPC error for every item ("down").'])
  })
  test.each([
    ['the method eth_getLogs does not exist/is not available', 'evm: { eth_getLogs: null }'],
    ['Method getSlot is not supported', 'solana: { getSlot: null }'],
    ['Method not found', '<family>: { <method>: null }'],
  ])('about a method that the target does not have, with the line of a profile: %s', (message, line) => {
    const errors = [1, 2, 'r-3'].map(id => ({ jsonrpc: '2.0', id, error: { code: -32601, message } }))
    expect(
      reasonsFor([respondedWith(200), observed(batchDescriptor, responseOf(200, errors), { call: 'rpc' })]),
    ).toEqual([
      `None of 1 request of rpc in steady succeeded: 1 got a JSON-RPC error for every item ("${message}"); if it does not have the method, the profile can say so: rpc: { methods: { ${line} } }.`,
    ])
  })
  test('about RPC calls whose responses are no JSON-RPC', () => {
    const empty = observed(batchDescriptor, responseOf(200, ''), { call: 'rpc' })
    expect(reasonsFor([respondedWith(200), empty])).toEqual([
      'None of 1 request of rpc in steady succeeded: 1 got no JSON-RPC response.',
    ])
  })
  test('about probes that got no documented response, whatever they got', () => {
    const accepted = observed({ kind: 'probe', probe: 'unlisted-method' }, responseOf(200, {}), { call: 'probe' })
    expect(reasonsFor([respondedWith(200), accepted])).toEqual([
      'None of 1 request of the probes in steady got a documented response: 1 got 200.',
    ])
  })
  test('about a call that was never due, unless chance may draw none', () => {
    const calls = { ...aPlan().calls, repeat: { ...replayPlan, duplicates: 2 } }
    const expecting = (requests: number, isAtMost = false) => {
      const row = { call: 'repeat', stage: 'steady', requests, samples: requests, isAtMost, provablePercentile: null }
      return reasonsFor([respondedWith(200)], { plan: { calls, forecast: { ...aPlan().forecast, calls: [row] } } })
    }
    expect(expecting(30)).toEqual(['No request of repeat was due.'])
    expect(expecting(29)).toEqual([])
    expect(expecting(30, true)).toEqual([])
  })
  test('if most requests did not succeed', () => {
    expect(reasonsFor([...times(2, respondedWith(200)), ...times(3, respondedWith(500))])).toEqual([
      'Most requests of chat in steady did not succeed: 3 got 500.',
    ])
  })
  test('if nothing judged the successes', () => {
    const nothing =
      'Responses to chat in steady were not checked. Add a threshold, or promise a clause that covers their content.'
    expect(reasonsFor([respondedWith(200)], { judged: false })).toEqual([nothing])
    const cannotFail = aThreshold({ measure: { kind: 'ratio', count: { kind: 'failed' } }, operator: '<=', bound: 1 })
    const ofOther = aThreshold({ measure: { kind: 'count', count: { kind: 'failed' } }, call: 'rpc' })
    const ofUs = aThreshold({ measure: { kind: 'count', count: { kind: 'dropped' } } })
    expect(reasonsFor([respondedWith(200)], { judged: false, thresholds: [cannotFail, ofOther, ofUs] })).toEqual([
      nothing,
    ])
  })
})

describe('a run proves enough', () => {
  test('if each call succeeded in each stage, and a clause or a threshold judged it', () => {
    const covering = aThreshold({ measure: { kind: 'count', count: { kind: 'failed' } }, operator: '==', bound: 0 })
    expect(reasonsFor([respondedWith(200), rpc()])).toEqual([])
    expect(reasonsFor([respondedWith(200), rpc()], { judged: false, thresholds: [covering] })).toEqual([])
  })
  test('if a few requests failed', () => {
    expect(reasonsFor([...times(9, respondedWith(200)), ...times(2, respondedWith(503)), dropped()])).toEqual([])
    expect(reasonsFor([respondedWith(200), ...times(2, respondedWith(503))])).toEqual([])
  })
  test('if a threshold demands the refusals', () => {
    const demand = {
      measure: { kind: 'count', count: { kind: 'status', status: 402 } },
      call: 'chat',
      operator: '>',
      bound: 0,
    } as const
    expect(reasonsFor([rpc(), ...times(4, respondedWith(402))], { thresholds: [aThreshold(demand)] })).toEqual([])
    expect(
      reasonsFor([rpc(), ...times(4, respondedWith(402))], { thresholds: [aThreshold({ ...demand, call: null })] }),
    ).toHaveLength(1)
  })
  test('if the plan exceeds a limit, and the call succeeded before', () => {
    const stages = [aStage('steady', 1_000), aStage('over', 1_000)]
    const limits = [{ stage: 'over', scope: 'chat', perMinute: 30, limit: 20 }]
    const observations = [respondedWith(200), ...times(4, respondedWith(429, { stage: 'over' }))]
    const plan = { stages, forecast: { ...aPlan().forecast, limits } }
    expect(reasonsFor(observations, { plan })).toEqual([])
    expect(reasonsFor(observations, { plan: { stages } })).toHaveLength(1)
  })
  test('if only some probes were disturbed, and conflicts were rejected', () => {
    const probe = (status: number) => refused({ kind: 'probe', probe: 'wrong-media-type' }, status)
    expect(reasonsFor([respondedWith(200), probe(503), probe(415)])).toEqual([])
    const replay = { group: 0, role: 'conflict', concurrent: false } as const
    expect(reasonsFor([rpc(), ...times(4, refused({ ...singleDescriptor, replay }, 400))])).toEqual([])
  })
  test('if wallets were told how to pay, and each payment counted once on several connections', () => {
    const top = { kind: 'top-up', step: 'payment', chain: 'base', address: '0x1' } as const
    const paying = (status: number, isAgain: boolean) => {
      const payment = { id: 'w0/1', usd: '5', amount: '5000000', payTo: '0x2', isAgain }
      return observed({ ...top, payment }, responseOf(status, {}), { call: 'race' })
    }
    const offer = observed({ ...top, step: 'offer', payment: null }, responseOf(402, {}), { call: 'offer' })
    const race = [paying(409, false), paying(409, true), paying(409, true), paying(200, true), paying(400, true)]
    expect(reasonsFor([...times(4, offer), ...race])).toEqual([])
    // A first payment that is refused is not a success.
    expect(reasonsFor([...times(4, offer), paying(400, false)])).toEqual([
      'None of 1 request of race in steady succeeded: 1 got 400.',
    ])
  })
})

describe('invented keys', () => {
  const unknown = refused(singleDescriptor, 401)
  test('are unknown to a target that rejects them', () => {
    expect(createInventedKeys(true)(unknown)).toBe(true)
  })
  test('are known once a request with one has succeeded; given keys always are', () => {
    const isUnknown = createInventedKeys(true)
    expect([isUnknown(rpc()), isUnknown(unknown)]).toEqual([false, false])
    expect(createInventedKeys(false)(unknown)).toBe(false)
  })
  test('are not what a probe with another key shows', () => {
    expect(createInventedKeys(true)(refused({ kind: 'probe', probe: 'bad-key' }, 401))).toBe(false)
    expect(createInventedKeys(true)(anObservation())).toBe(false)
  })
})

describe('a stage that should cause a block proves nothing', () => {
  const plan = (beyondFailures: boolean) => aPlan({ stages: [aStage('too-many', 1_000, { beyondFailures })] })
  const unclear = { text: 'it is uncertain which failures counted', clause: null }
  const log = () => {
    const findingLog = createFindingLog()
    const reporter = findingLog.reporterFor('abuse')
    reporter.unjudged('abuse.block', unclear)
    return { reporter, reasons: (beyond = true) => unprovenBlocks(plan(beyond), findingLog.tallies()) }
  }

  test('if something prevented every judgement of blocks', () => {
    expect(log().reasons()).toEqual([
      'too-many should cause a block, and no block was judged: it is uncertain which failures counted.',
    ])
  })

  test('but not if a block was judged, or a violation explains it', () => {
    for (const report of ['pass', 'fail'] as const) {
      const { reporter, reasons } = log()
      reporter[report]('abuse.message', 'no wait', [1])
      expect(reasons()).toEqual([])
    }
    const { reporter, reasons } = log()
    reporter.fail('abuse.not-early', 'early', [1])
    expect(reasons()).toEqual([])
  })

  test('but not if no stage should cause one, or if nothing prevented a judgement', () => {
    expect(log().reasons(false)).toEqual([])
    expect(unprovenBlocks(plan(true), createFindingLog().tallies())).toEqual([])
  })
})

describe('a stage that should exceed a limit', () => {
  const row = (stage: string, perMinute: number) => ({ stage, scope: 'rpc', perMinute, limit: 100 })
  const plan = (...rows: readonly ReturnType<typeof row>[]) => {
    const { forecast } = aPlan()
    return aPlan({ forecast: { ...forecast, limits: [...rows, row('(run)', 300)] } })
  }
  const result = (changes: Partial<LimitResult> = {}): LimitResult => ({
    ...{ caller: 'c1', scope: 'rpc', names: ['rpc'], tier: 'default', windowMs: 60_000, limit: 300 },
    ...{ windows: 1, accepted: 105 },
    ...{ rejected: 0, unexpected429: 0, decided429: 0, missing429: 0, lasted: null },
    ...changes,
  })
  const exceeding = plan(row('usual', 40), row('rpc-limit', 105), row('again', 110))

  test('proves nothing if the target states a higher one', () => {
    expect(unprovenLimits(exceeding, [result(), result({ caller: 'c2', accepted: 0 })])).toEqual([
      'rpc-limit should exceed the limit of rpc, 100 per minute, but the target states 300: write rpc: { requestsPerMinute: 300 } into the profile.',
    ])
  })

  test.each([
    ['is enforced', exceeding, result({ rejected: 5 })],
    ['is not enforced', exceeding, result({ missing429: 5 })],
    ['is the limit of the plan', exceeding, result({ limit: 100 })],
    ['is below the highest rate of the plan', exceeding, result({ limit: 109 })],
    ['is unknown', exceeding, result({ limit: null })],
    ['is another one', exceeding, result({ scope: 'chat:small', names: ['chat:small'] })],
    ['should not be exceeded', plan(row('usual', 100)), result()],
  ])('has no such reason if the limit %s', (_, of, seen) => {
    expect(unprovenLimits(of, [seen])).toEqual([])
  })
})
