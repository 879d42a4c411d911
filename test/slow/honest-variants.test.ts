import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type Contract, contractSchema } from '../../src/contract/contract.ts'
import { documented } from '../../src/contract/documented.ts'
import { randomStream } from '../../src/lib/random.ts'
import { isConcurrencyRejection } from '../../src/observation/response.ts'
import { type VirtualRun, virtualRun } from '../support/virtual-run.ts'

/** Whether the load fits the budget is another question. */
const smoke = readFileSync('scenarios/smoke.yaml', 'utf8').replace(/^budget:.*$/m, '')
const seeds = [1, 2, 3, 4, 5]

/** 0 to 80 ms each way, drawn anew for each request and each answer, so that they overtake one another. */
const jittered = (seed: number) => {
  const random = randomStream(seed, 'network')
  return { delayMs: () => random.next() * 80 }
}

const withLimits = (limits: Partial<Contract['limits']>): Contract =>
  contractSchema.parse({ ...documented, limits: { ...documented.limits, ...limits } })

const withChat = (chat: Partial<Contract['chat']>): Contract =>
  contractSchema.parse({ ...documented, chat: { ...documented.chat, ...chat } })

const unknownModels: Contract = contractSchema.parse({
  ...withChat({ unknownMembers: null, compression: 'optional' }),
  models: documented.models.map(({ usdPerMillion, ...model }) => ({
    ...model,
    logprobs: null,
    usdPerMillion: usdPerMillion && { input: usdPerMillion.input, output: usdPerMillion.output },
  })),
})

const oneAtATime: Contract = contractSchema.parse({
  ...documented,
  rpc: { ...documented.rpc, oneAtATime: { waitMs: 5, message: 'Another request is under way' } },
  idempotency: { ...documented.idempotency, concurrent: 'best-effort' },
})

/** Everything that a run holds against the service. */
async function accusationsIn(run: Partial<VirtualRun>) {
  const { report, observations } = await virtualRun({ scenario: smoke, ...run })
  const { findings, billing, limits } = report
  return {
    ended: report.run.ended,
    failed: observations.filter(({ outcome }) => outcome.kind === 'failed').length,
    findings: findings.map(({ clause, message }) => `${clause}: ${message}`),
    discrepancies: billing.discrepancies.map(({ kind, examples }) => `${kind}: ${examples[0]?.message}`),
    unexpected429: limits.reduce((sum, limit) => sum + limit.unexpected429 + limit.missing429, 0),
    report,
    observations,
  }
}

const nothing = { ended: 'complete', failed: 0, findings: [], discrepancies: [], unexpected429: 0 }

describe('nothing is held against the honest service', () => {
  const circumstances: Readonly<Record<string, (seed: number) => Partial<VirtualRun>>> = {
    'when all is as usual': () => ({}),
    'when answers overtake one another': seed => ({ network: jittered(seed) }),
    'when its clock is three seconds ahead': seed => ({ network: jittered(seed), skewMs: 3000 }),
    'when its clock is three seconds behind': seed => ({ network: jittered(seed), skewMs: -3000 }),
    'when its callers run out of money': seed => ({ network: jittered(seed), openingBalanceUsd: '0.002' }),
    'when its callers are partners': seed => ({
      network: jittered(seed),
      scenario: smoke.replace('tier: default', 'tier: partner'),
    }),
    'when it answers the RPC requests of a caller one at a time': seed => ({
      network: jittered(seed),
      contract: oneAtATime,
    }),
    'when windows are five seconds': seed => ({ network: jittered(seed), contract: withLimits({ windowMs: 5000 }) }),
    'when windows are five seconds, and resets in milliseconds': seed => ({
      network: jittered(seed),
      contract: withLimits({ windowMs: 5000, requestsReset: 'unix-milliseconds', tokensReset: 'unix-milliseconds' }),
      skewMs: seed * 1000 - 3000,
    }),
  }
  const conformance = 'scenarios/conformance.yaml'
  const rules: typeof circumstances = {
    'when every rule is asked for': seed => ({ network: jittered(seed), skewMs: seed * 1000 - 3000 }),
    'when it refuses members that it does not know': () => ({ contract: withChat({ unknownMembers: 'refused' }) }),
    'when it is not known what its models can do and cost': () => ({ contract: unknownModels }),
  }
  for (const [when, circumstance] of Object.entries(rules)) {
    test.each(seeds.slice(0, 2))(`${when}, seed %i`, async seed => {
      const { findings, discrepancies } = await accusationsIn({ seed, scenario: conformance, ...circumstance(seed) })
      expect({ findings, discrepancies }).toEqual({ findings: [], discrepancies: [] })
    })
  }
  for (const [when, circumstance] of Object.entries(circumstances)) {
    test.each(seeds)(`${when}, seed %i`, async seed => {
      const { report: _, observations: __, ...held } = await accusationsIn({ seed, ...circumstance(seed) })
      expect(held).toEqual(nothing)
    })
  }
})

describe('the circumstances are what they are meant to be', () => {
  test('answers overtake one another', async () => {
    const { observations } = await accusationsIn({ network: jittered(1) })
    const inOrder = observations.toSorted((a, b) => (a.sentMs ?? 0) - (b.sentMs ?? 0))
    expect(observations.map(({ id }) => id)).not.toEqual(inOrder.map(({ id }) => id))
  })

  test('callers are told that they have no money left', async () => {
    const { observations } = await accusationsIn({ openingBalanceUsd: '0.002' })
    expect(observations.filter(({ response }) => response?.status === 402).length).toBeGreaterThan(10)
  })

  test('requests are turned away because another is under way', async () => {
    const { observations } = await accusationsIn({ contract: oneAtATime })
    expect(
      observations.filter(({ response }) => response !== null && isConcurrencyRejection(response, oneAtATime)).length,
    ).toBeGreaterThan(5)
  })

  test('windows are crossed', async () => {
    const { report } = await accusationsIn({ contract: withLimits({ windowMs: 5000 }) })
    expect(Math.max(...report.limits.map(({ windows }) => windows))).toBeGreaterThan(3)
  })
})

test('whatever an honest run exercises is found to be kept', async () => {
  const { report } = await accusationsIn({ network: jittered(1) })
  expect(report.clauses.filter(({ verdict }) => verdict === 'fail')).toEqual([])
})
