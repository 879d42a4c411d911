import { describe, expect, test } from 'vitest'
import type { Contract } from '../../../src/contract/contract.ts'
import { documentedContract } from '../../../src/contract/documented.ts'
import { probeOf } from '../../../src/contract/probes.ts'
import { createProofLog } from '../../../src/judge/proof.ts'
import { unjudgedProbes } from '../../../src/judge/undecided.ts'
import type { Observation } from '../../../src/observation/observation.ts'
import type { Plan } from '../../../src/plan/plan.ts'
import { virtualRun } from '../../support/virtual-run.ts'
import { observed, responseOf } from './checks/observed.ts'
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
