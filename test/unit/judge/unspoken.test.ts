import { describe, expect, test } from 'vitest'
import type { Contract } from '../../../src/contract/contract.ts'
import { documentedContract } from '../../../src/contract/documented.ts'
import { probeOf } from '../../../src/contract/probes.ts'
import { createFindingLog } from '../../../src/judge/findings/findings.ts'
import { createMetrics } from '../../../src/judge/metrics/request-stats.ts'
import { createProofLog } from '../../../src/judge/proof.ts'
import type { LimitResult } from '../../../src/judge/results.ts'
import { unjudgedProbes, unspokenRefusals } from '../../../src/judge/undecided.ts'
import type { Observation } from '../../../src/observation/observation.ts'
import type { Plan } from '../../../src/plan/plan.ts'
import { parseScenario } from '../../../src/scenario/load-scenario.ts'
import { virtualRun } from '../../support/virtual-run.ts'
import { chatDescriptor, failure, observed, responseOf, result, singleDescriptor } from './checks/observed.ts'
import { aPlan } from './metrics/fixtures.ts'

const scenario = (thresholds: readonly string[]) => `
name: refusals
callers: { count: 1 }
calls:
  chat: { kind: chat, stream: false, prompt-tokens: 5, max-completion-tokens: 4, model-tier: L }
stages:
  - { name: steady, duration: 20s, shape: constant, rate: 1.5/s, exceed-tier: true, mix: { chat: 1 } }
budget: { usd: 1 }
thresholds: [${thresholds.map(each => `{ expect: "${each}", why: it matters }`).join(', ')}]
`

/** Judged only by the form of completions. */
const chatOnly = { ...documentedContract, name: 'chat-only', promises: { only: ['chat.*'], except: [] } }

/** A service that enforces the documented limit of 20 requests per minute: it rejects 10 of 30. */
const limited = (thresholds: readonly string[]) =>
  virtualRun({ scenario: scenario(thresholds), contract: chatOnly, serviceContract: documentedContract })

describe('a run with 429s of a limit that its profile does not promise', () => {
  const all = ['failed == 0', 'unexpected-429 == 0', 'violations == 0', 'dropped <= 100%']
  test('is inconclusive, and says of each number whether something judged it', async () => {
    const { report } = await limited(all)
    expect(report.verdict).toBe('inconclusive')
    expect(report.thresholds.map(({ verdict }) => verdict)).toEqual(['pass', 'inconclusive', 'pass', 'pass'])
    expect(report.thresholds[0]?.message).toBe('failed was 0, == 0 (n = 30, of which 10 got 429)')
    expect(report.thresholds[1]).toMatchObject({ value: null })
    expect(report.thresholds[1]?.message).toMatch(
      /^unexpected-429 was not judged: 10 responses were 429, and the profile "chat-only" does not promise limit\.requests\.not-early/,
    )
    expect(report.reasons.join('\n')).toContain(
      '10 of 30 responses were 429 (chat in steady), and nothing in this run says how many are right',
    )
  })
  test('passes if a threshold says how many are right, and fails if they are more', async () => {
    expect((await limited(['failed == 0', 'status(429) <= 40%'])).report.verdict).toBe('pass')
    expect((await limited(['failed == 0', 'status(429) <= 20%'])).report.verdict).toBe('fail')
    expect((await limited(['failed == 0', 'good >= 60%'])).report.verdict).toBe('pass')
    expect((await limited(['failed == 0', 'status(429) <= 100%'])).report.verdict).toBe('inconclusive')
    expect((await limited(['failed == 0', 'good >= 0'])).report.verdict).toBe('inconclusive')
    expect((await limited(['failed == 0', 'status(429) <= 30'])).report.verdict).toBe('inconclusive')
  })
  test('without any 429, unexpected-429 is met: there is nothing to judge', async () => {
    const slow = scenario(['unexpected-429 == 0']).replace('1.5/s', '0.5/s')
    const { report } = await virtualRun({ scenario: slow, contract: chatOnly, serviceContract: documentedContract })
    expect(report).toMatchObject({ verdict: 'pass', thresholds: [{ verdict: 'pass', value: 0 }] })
  })
})

describe('responses that are no success', () => {
  const reasons = (
    statuses: readonly number[],
    expressions: readonly string[] = [],
    limits: readonly LimitResult[] = [],
  ) => {
    const { calls, thresholds } = parseScenario(scenario(expressions), 'x.yaml', documentedContract)
    const plan = { ...aPlan(), calls, thresholds, stages: aPlan().stages.map(each => ({ ...each, name: 'steady' })) }
    const log = createProofLog(plan, documentedContract)
    const metrics = createMetrics(plan)
    for (const status of statuses) {
      const observation = observed(chatDescriptor, responseOf(status, {}), { call: 'chat', stage: 'steady' })
      log.add(observation, true)
      metrics.add(observation)
    }
    const clauses = createFindingLog([]).tallies()
    return unspokenRefusals({ plan, proofs: log.proofs(), limits, clauses, metrics, thresholds: [] })
  }
  const of = (status: number, count: number) => [
    ...Array<number>(20 - count).fill(200),
    ...Array<number>(count).fill(status),
  ]
  test('need something that says how many are right, whatever their status is', () => {
    for (const status of [301, 400, 402, 403, 404, 418, 429])
      expect(reasons(of(status, 1)), `${status}`).toMatchObject([
        expect.stringContaining(`1 of 20 responses was ${status} (chat in steady), and nothing in this run says`),
      ])
  })
  test('need none if chance explains them', () => {
    for (const status of [408, 409, 425, 500, 503, 504]) {
      expect(reasons(of(status, 2)), `${status}`).toEqual([])
      expect(reasons(of(status, 3)), `${status}`).toHaveLength(1)
    }
  })
  test('are those 429s of a limit about which no judge decided', () => {
    const name = `chat:${chatDescriptor.model}`
    const names = { caller: 'c0', scope: name, names: [name], tier: 'default L', windowMs: 60_000, limit: 20 }
    const use = { windows: 1, accepted: 15, rejected: 5, unexpected429: 0, missing429: 0, lasted: null }
    expect(reasons(of(429, 5), [], [{ ...names, ...use, decided429: 5 }])).toEqual([])
    expect(reasons(of(429, 5), [], [{ ...names, ...use, decided429: 3 }])).toMatchObject([
      expect.stringContaining('2 of 20 responses were 429 (chat in steady)'),
    ])
    expect(reasons(of(429, 5), [], [{ ...names, ...use, decided429: 3, unexpected429: null }])).toMatchObject([
      expect.stringContaining('5 of 20 responses were 429 (chat in steady)'),
    ])
  })
  test('have it if a threshold that can fail is about them', () => {
    expect(reasons(of(404, 5), ['status(404) of chat <= 30%'])).toEqual([])
    expect(reasons(of(404, 5), ['status(404) of chat <= 100%'])).toHaveLength(1)
    expect(reasons(of(404, 5), ['status(403) of chat <= 30%'])).toHaveLength(1)
    expect(reasons(of(404, 5), ['status(404) of chat <= 1000/s'])).toHaveLength(1)
    expect(reasons(of(429, 5), ['unexpected-429 <= 20'])).toHaveLength(1)
    expect(reasons(of(404, 5), ['good of chat <= 15'])).toHaveLength(1)
    expect(reasons(of(404, 5), ['good of chat >= 15'])).toEqual([])
  })
})

test('JSON-RPC errors without a result need an explanation too, unless their items fail on purpose', () => {
  const plan = aPlan()
  const reasons = (failed: number, failing: boolean) => {
    const log = createProofLog(plan, documentedContract)
    const request = { ...singleDescriptor, items: singleDescriptor.items.map(item => ({ ...item, failing })) }
    for (let index = 0; index < 20; index++) {
      const body = index < failed ? failure(1) : result(1)
      log.add(observed(request, responseOf(200, body), { call: 'rpc', stage: 'steady' }), true)
    }
    const clauses = createFindingLog([]).tallies()
    const metrics = createMetrics(plan)
    return unspokenRefusals({ plan, proofs: log.proofs(), limits: [], clauses, metrics, thresholds: [] })
  }
  expect(reasons(2, false)).toEqual([])
  expect(reasons(8, true)).toEqual([])
  expect(reasons(8, false)).toMatchObject([
    expect.stringContaining('had JSON-RPC errors and no result (rpc in steady)'),
  ])
})

test('429s of a promised limit are judged, so an honest service passes', async () => {
  const { report } = await virtualRun({ scenario: scenario(['failed == 0', 'unexpected-429 == 0']) })
  expect(report).toMatchObject({ verdict: 'pass', thresholds: [{ verdict: 'pass' }, { verdict: 'pass', value: 0 }] })
})

describe('429s of calls whose models', () => {
  const large = documentedContract.models.find(({ tier }) => tier === 'L')
  if (large === undefined) throw new Error('the document has no large model')
  const twins = { ...documentedContract, models: [...documentedContract.models, { ...large, id: 'twin' }] }
  const ofTwins = scenario(['failed == 0', 'unexpected-429 == 0'])
    .replace(
      'model-tier: L }',
      `model: ${large.id} }\n  twin: { kind: chat, stream: false, prompt-tokens: 5, max-completion-tokens: 4, model: twin }`,
    )
    .replace('mix: { chat: 1 }', 'mix: { chat: 1, twin: 1 }')
  /** 20 requests per minute for both models together. */
  const sharing: Contract = { ...twins, limits: { ...twins.limits, chatScope: 'tier' } }
  test('share the limit of their tier are judged for both', async () => {
    const { report } = await virtualRun({ scenario: ofTwins, contract: twins, serviceContract: sharing })
    expect(report.limits.find(({ scope }) => scope === 'chat:tier L')).toMatchObject({
      names: expect.arrayContaining([`chat:${large.id}`, 'chat:twin']),
      rejected: 10,
      decided429: 10,
    })
    expect(report.reasons.join('\n')).not.toContain('429')
    expect(report).toMatchObject({ verdict: 'pass', thresholds: [{ verdict: 'pass' }, { verdict: 'pass', value: 0 }] })
  })
  test('have no known tier and no known limit are not judged', async () => {
    const models = twins.models.map(model => ({ ...model, tier: null }))
    const contract = { ...chatOnly, models }
    for (const text of [ofTwins, scenario(['unexpected-429 == 0']).replace('model-tier: L', `model: ${large.id}`)]) {
      const { report } = await virtualRun({ scenario: text, contract, serviceContract: sharing })
      expect(report.verdict).toBe('inconclusive')
      expect(report.thresholds.at(-1)?.message).toMatch(/^unexpected-429 was not judged: \d+ responses were 429/)
    }
  })
})

describe('a probe', () => {
  const plan = aPlan()
  const probe = (name: string, status: number) =>
    observed({ kind: 'probe', probe: name }, responseOf(status, {}), { call: name })
  const reasons = (observations: readonly (readonly [Observation, boolean])[], changes: Partial<Plan> = {}) => {
    const log = createProofLog(plan, documentedContract)
    for (const [observation, isJudged] of observations) log.add(observation, isJudged)
    const merged = createProofLog(plan, documentedContract)
    merged.merge(log.proofs())
    return unjudgedProbes({ plan: { ...plan, ...changes }, proofs: merged.proofs() })
  }
  const { clause } = probeOf('unlisted-method')
  test('is not judged by a response that is neither as documented nor an acceptance', () => {
    expect(reasons([[probe('unlisted-method', 503), false]])).toEqual([
      `The probe unlisted-method did not show whether ${clause} holds: 1 got 503, which is neither the documented response nor an acceptance.`,
    ])
  })
  test('is judged if one of its responses was', () => {
    expect(
      reasons([
        [probe('unlisted-method', 503), false],
        [probe('unlisted-method', 400), true],
      ]),
    ).toEqual([])
    expect(reasons([[probe('unlisted-method', 200), true]])).toEqual([])
  })
  test('needs no judgement if the target does not promise its clause', () => {
    expect(reasons([[probe('unlisted-method', 503), false]], { notPromised: [clause] })).toEqual([])
  })
})
