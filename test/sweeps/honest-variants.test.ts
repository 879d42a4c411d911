import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type Contract, contractSchema, limiterAlgorithms } from '../../src/contract/contract.ts'
import { documentedContract } from '../../src/contract/documented.ts'
import { loadProfile } from '../../src/contract/profile.ts'
import { randomStream } from '../../src/lib/random.ts'
import { isConcurrencyRejection } from '../../src/observation/response.ts'
import { lieByName } from '../../src/service/lies/lies.ts'
import { todays } from '../support/nightly.ts'
import { type VirtualRun, virtualRun } from '../support/virtual-run.ts'

/** The budget is tested elsewhere. */
const smoke = readFileSync('scenarios/smoke.yaml', 'utf8').replace(/^budget:.*$/m, '')
const seeds = todays([1, 2, 3, 4, 5, 6], 6)

/** 0 to 80 ms each way, random for each request and response, so that responses arrive out of order. */
const jittered = (seed: number) => {
  const random = randomStream(seed, 'network')
  return { delayMs: () => random.next() * 80 }
}

const withLimits = (limits: Partial<Contract['limits']>): Contract =>
  contractSchema.parse({ ...documentedContract, limits: { ...documentedContract.limits, ...limits } })

const withChat = (chat: Partial<Contract['chat']>): Contract =>
  contractSchema.parse({ ...documentedContract, chat: { ...documentedContract.chat, ...chat } })

const unknownModels: Contract = contractSchema.parse({
  ...withChat({ unknownMembers: null, compression: 'optional' }),
  models: documentedContract.models.map(({ usdPerMillion, ...model }) => ({
    ...model,
    logprobs: null,
    usdPerMillion: usdPerMillion && { input: usdPerMillion.input, output: usdPerMillion.output },
  })),
})

const oneAtATime: Contract = contractSchema.parse({
  ...documentedContract,
  rpc: { ...documentedContract.rpc, oneAtATime: { waitMs: 5, message: 'Another request is in flight' } },
  idempotency: { ...documentedContract.idempotency, concurrent: 'best-effort' },
})

const blatantLies = [
  // A bucket that lacks more than it holds is full later than a window away.
  ['no-request-limit', /^limit\.requests\.(enforced|reset)$/],
  ['sudden-429', /^limit\.requests\.not-early$/],
  ['remaining-never-falls', /^limit\.requests\.remaining$/],
  ['reset-behind', /^limit\.requests\.reset$/],
] as const

/** All failures that a run reports. */
async function failuresIn(run: Partial<VirtualRun>) {
  const { report, observations } = await virtualRun({ scenario: smoke, ...run })
  const { findings, billing, limits } = report
  return {
    ended: report.run.ended,
    failed: observations.filter(({ outcome }) => outcome.kind === 'failed').length,
    findings: findings.map(({ clause, message }) => `${clause}: ${message}`),
    discrepancies: billing.discrepancies.map(({ kind, examples }) => `${kind}: ${examples[0]?.message}`),
    unexpected429: limits.reduce((sum, limit) => sum + (limit.unexpected429 ?? 0) + (limit.missing429 ?? 0), 0),
    report,
    observations,
  }
}

const noFailures = { ended: 'complete', failed: 0, findings: [], discrepancies: [], unexpected429: 0 }

describe('no clause fails for the honest service', () => {
  const circumstances: Readonly<Record<string, (seed: number) => Partial<VirtualRun>>> = {
    'in the default case': () => ({}),
    'when responses arrive out of order': seed => ({ network: jittered(seed) }),
    'when its clock is three seconds fast': seed => ({ network: jittered(seed), skewMs: 3000 }),
    'when its clock is three seconds slow': seed => ({ network: jittered(seed), skewMs: -3000 }),
    'when its callers run out of balance': seed => ({ network: jittered(seed), openingBalanceUsd: '0.002' }),
    'when its callers are partners': seed => ({
      network: jittered(seed),
      scenario: smoke.replace('tier: default', 'tier: partner'),
    }),
    'when it handles the RPC requests of a caller one at a time': seed => ({
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
  describe.each(limiterAlgorithms)('when its limits are those of a %s, which the judges do not know', algorithm => {
    const of = (contract: Contract): Contract => ({ ...contract, limits: { ...contract.limits, algorithm } })
    const shortWindows = loadProfile('scenarios/profiles/short-windows.yaml')
    const isToday = todays(limiterAlgorithms, 3).includes(algorithm)
    test.each(isToday ? todays([1, 2], 2) : [])('and a run exceeds them, seed %i', async seed => {
      for (const contract of [documentedContract, shortWindows]) {
        for (const network of [undefined, jittered(seed)]) {
          const run = { seed, scenario: 'scenarios/rate-limit.yaml', contract, serviceContract: of(contract) }
          const { findings, discrepancies, report } = await failuresIn(
            network === undefined ? run : { ...run, network },
          )
          expect({ findings, discrepancies }).toEqual({ findings: [], discrepancies: [] })
          expect(report.limits.some(({ rejected }) => rejected > 0)).toBe(true)
        }
      }
    })
    test.each(seeds)('and a run stays within them, seed %i', async seed => {
      const contract = withLimits({ windowMs: seed % 2 === 0 ? 5000 : 60_000 })
      const run = { seed, network: jittered(seed), skewMs: seed * 1000 - 3000, contract, serviceContract: of(contract) }
      const { report: _, observations: __, ...failures } = await failuresIn(run)
      expect(failures).toEqual(noFailures)
    })
  })

  test.each(todays(limiterAlgorithms, 3))('but blatant lies are told by a service with a %s too', async algorithm => {
    const serviceContract = { ...documentedContract, limits: { ...documentedContract.limits, algorithm } }
    for (const [name, clause] of blatantLies) {
      const lie = lieByName(name)
      if (lie === undefined) throw new Error(`unknown lie: ${name}`)
      const run = { scenario: 'scenarios/rate-limit.yaml', serviceContract, lies: [lie] }
      const { report } = await failuresIn(run)
      expect({ name, found: report.findings.map(finding => finding.clause) }).toEqual({
        name,
        found: expect.arrayContaining([expect.stringMatching(clause)]),
      })
    }
  })

  const conformance = 'scenarios/conformance.yaml'
  const conformanceRuns: typeof circumstances = {
    'when a run checks every rule': seed => ({ network: jittered(seed), skewMs: seed * 1000 - 3000 }),
    'when it rejects unknown fields': () => ({ contract: withChat({ unknownMembers: 'refused' }) }),
    'when features and prices of its models are unknown': () => ({ contract: unknownModels }),
  }
  for (const [when, circumstance] of Object.entries(conformanceRuns)) {
    test.each(todays([1, 2], 2))(`${when}, seed %i`, async seed => {
      const { findings, discrepancies } = await failuresIn({ seed, scenario: conformance, ...circumstance(seed) })
      expect({ findings, discrepancies }).toEqual({ findings: [], discrepancies: [] })
    })
  }
  for (const [when, circumstance] of Object.entries(circumstances)) {
    test.each(seeds)(`${when}, seed %i`, async seed => {
      const { report: _, observations: __, ...failures } = await failuresIn({ seed, ...circumstance(seed) })
      expect(failures).toEqual(noFailures)
    })
  }
})

describe('the circumstances have their intended effect', () => {
  test('responses arrive out of order', async () => {
    const { observations } = await failuresIn({ network: jittered(1) })
    const inOrder = observations.toSorted((a, b) => (a.sentMs ?? 0) - (b.sentMs ?? 0))
    expect(observations.map(({ id }) => id)).not.toEqual(inOrder.map(({ id }) => id))
  })

  test('requests are rejected for lack of balance', async () => {
    const { observations } = await failuresIn({ openingBalanceUsd: '0.002' })
    expect(observations.filter(({ response }) => response?.status === 402).length).toBeGreaterThan(10)
  })

  test('requests are rejected because another is in flight', async () => {
    const { observations } = await failuresIn({ contract: oneAtATime })
    expect(
      observations.filter(({ response }) => response !== null && isConcurrencyRejection(response, oneAtATime)).length,
    ).toBeGreaterThan(5)
  })

  test('runs span several windows', async () => {
    const { report } = await failuresIn({ contract: withLimits({ windowMs: 5000 }) })
    expect(Math.max(...report.limits.map(({ windows }) => windows ?? 0))).toBeGreaterThan(3)
  })
})

test('every clause passes that an honest run exercises', async () => {
  const { report } = await failuresIn({ network: jittered(1) })
  expect(report.clauses.filter(({ verdict }) => verdict === 'fail')).toEqual([])
})
