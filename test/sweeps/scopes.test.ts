import { describe, expect, test } from 'vitest'
import { type Contract, contractSchema, limiterAlgorithms } from '../../src/contract/contract.ts'
import { documentedContract } from '../../src/contract/documented.ts'
import { randomStream } from '../../src/lib/random.ts'
import { type Lie, lie } from '../../src/service/lies/lie.ts'
import { lieByName } from '../../src/service/lies/lies.ts'
import { todays } from '../support/nightly.ts'
import { virtualRun } from '../support/virtual-run.ts'

/** The document has one model of tier L, and one resource of each type. */
const [large, image] = [documentedContract.models.find(({ tier }) => tier === 'L'), documentedContract.resources.image]

/** A run against a target with these limits. By default, nothing states their scopes. */
const withLimits = (limits: Partial<Contract['limits']>): Contract =>
  contractSchema.parse({
    ...documentedContract,
    models: [...documentedContract.models, { ...large, id: 'ref-large-2', name: 'Reference Large 2' }],
    resources: { ...documentedContract.resources, 'image-2': { ...image, path: '/image/2' } },
    limits: { ...documentedContract.limits, ...limits },
  })

/** More than one counter of all parts allows, and less than a counter of each part allows. Then more than each allows. */
const scenario = `name: scopes
callers: { count: 5 }
calls:
  first: { kind: chat, stream: false, model: ref-large-235b, prompt-tokens: 5, max-completion-tokens: 4 }
  second: { kind: chat, stream: false, model: ref-large-2, prompt-tokens: 5, max-completion-tokens: 4 }
  small: { kind: chat, stream: false, model-tier: XS, prompt-tokens: 5, max-completion-tokens: 4 }
  ethereum: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } }
  zksync: { kind: rpc, network: zksync-mainnet, methods: { eth_blockNumber: 1 } }
  image: { kind: resource, resource: image }
  image-2: { kind: resource, resource: image-2 }
stages:
  - { name: models, duration: 5s, shape: sequence, callers: 1, calls: [15 x first, 10 x second, 3 x small] }
  - { name: a-model, duration: 5s, shape: sequence, first-caller: 1, callers: 1, calls: [25 x second, 3 x first] }
  - { name: networks, duration: 12s, shape: sequence, first-caller: 2, callers: 1, calls: [60 x ethereum, 55 x zksync] }
  - { name: a-network, duration: 12s, shape: sequence, first-caller: 3, callers: 1, calls: [105 x zksync, 3 x ethereum] }
  - { name: resources, duration: 5s, shape: sequence, callers: 1, calls: [13 x image, 13 x image-2] }
  - { name: tiers, duration: 5s, shape: sequence, first-caller: 4, callers: 1, calls: [12 x small, 12 x first] }
thresholds:
  - { expect: violations == 0, why: An honest service violates nothing. }
  - { expect: unexpected-429 == 0, why: An honest service rejects nobody early. }`

type Scopes = Pick<Contract['limits'], 'chatScope' | 'rpcScope' | 'resourceScope'>

const smallest: Scopes = { chatScope: 'model', rpcScope: 'network', resourceScope: 'resource' }
const largest: Scopes = { chatScope: 'tier', rpcScope: 'all', resourceScope: 'type' }
const allScopes: readonly Scopes[] = [
  smallest,
  largest,
  { ...smallest, chatScope: 'tier' },
  { ...largest, chatScope: 'model' },
]
const cases = allScopes.flatMap(scopes => limiterAlgorithms.map(algorithm => ({ ...scopes, algorithm })))

async function judged(
  service: Partial<Contract['limits']>,
  lies: readonly Lie[] = [],
  known: Partial<Contract['limits']> = {},
) {
  const random = randomStream(1, 'network')
  const { report } = await virtualRun({
    scenario,
    contract: withLimits(known),
    serviceContract: withLimits(service),
    lies,
    network: { delayMs: () => random.next() * 40 },
  })
  return {
    report,
    findings: report.findings.map(({ clause, message }) => `${clause}: ${message}`),
    clauses: report.findings.map(({ clause }) => clause),
  }
}

const named = (name: string): Lie => {
  const found = lieByName(name)
  if (found === undefined) throw new Error(`unknown lie: ${name}`)
  return found
}

describe('where the document leaves open which requests share a counter', () => {
  test.each(todays(cases, 3))(
    'no honest service is accused: $chatScope, $rpcScope, $resourceScope, $algorithm',
    async service => {
      const { findings, report } = await judged(service)
      expect(findings).toEqual([])
      expect(report.thresholds.filter(({ verdict }) => verdict === 'fail')).toEqual([])
      expect(report.limits.reduce((sum, { rejected }) => sum + rejected, 0)).toBeGreaterThan(3)
    },
  )

  test.each(allScopes)(
    'a profile may state it, and it is judged: $chatScope, $rpcScope, $resourceScope',
    async scopes => {
      const service = { ...scopes, algorithm: 'fixed-window' } as const
      expect((await judged(service, [], service)).findings).toEqual([])
      const stated = scopes.chatScope === 'tier' ? ({ chatScope: 'model' } as const) : ({ chatScope: 'tier' } as const)
      const other = await judged(service, [], { ...service, ...stated })
      expect(other.clauses.filter(clause => clause.startsWith('limit.requests.'))).not.toEqual([])
    },
  )

  test.each(allScopes)('lies are found: $chatScope, $rpcScope, $resourceScope', async scopes => {
    const service = { ...scopes, algorithm: 'fixed-window' } as const
    for (const [name, clause] of [
      ['a-tenth-too-many', 'limit.requests.enforced'],
      ['sudden-429', 'limit.requests.not-early'],
      ['remaining-one-too-few', 'limit.requests.remaining'],
      ['remaining-never-falls', 'limit.requests.remaining'],
    ] as const)
      expect({ name, clauses: (await judged(service, [named(name)], { algorithm: 'fixed-window' })).clauses }).toEqual({
        name,
        clauses: expect.arrayContaining([clause]),
      })
  })

  const ofAllTiers = lie('one-counter-of-all-tiers', 'All models share one counter.', () => ({
    scope: (scope, { route }) => (route.kind === 'chat' ? 'chat' : scope),
  }))
  const paced = `name: paced
callers: { count: 2 }
calls:
  first: { kind: chat, stream: false, model: ref-large-235b, prompt-tokens: 5, max-completion-tokens: 4 }
  second: { kind: chat, stream: false, model: ref-large-2, prompt-tokens: 5, max-completion-tokens: 4 }
stages:
  - { name: steady, duration: 3m, shape: constant, rate: 80% of tier, mix: { first: 1, second: 1 } }
thresholds:
  - { expect: violations == 0, why: An honest service violates nothing. }`

  test.each([
    ['which is open', {}, 96, 0],
    ['which the profile states', { chatScope: 'model' }, 192, 70],
  ] as const)(
    '80 %% of tier stays within one counter of all models of a tier, %s',
    async (_, known, requests, least) => {
      const serviceContract = withLimits({ chatScope: 'tier', algorithm: 'fixed-window' })
      const { report, observations } = await virtualRun({
        scenario: paced,
        contract: withLimits(known),
        serviceContract,
      })
      const rejected = report.limits.reduce((sum, limit) => sum + limit.rejected, 0)
      expect(observations.filter(({ stage }) => stage === 'steady')).toHaveLength(requests)
      expect(rejected).toBeGreaterThanOrEqual(least)
      expect(rejected).toBeLessThanOrEqual(least === 0 ? 0 : requests)
    },
  )

  // Then the run knows that nothing from before it counts.
  const shortWindows = { windowMs: 10_000 }
  const ofHalves = lie(
    'two-counters-of-a-network',
    'Every other request of a network has a counter of its own.',
    () => {
      let request = 0
      return { scope: (scope, { route }) => (route.kind === 'rpc' ? `${scope} ${++request % 2}` : scope) }
    },
  )
  test.each([
    ['one counter for all tiers', ofAllTiers],
    ['two counters for a network', ofHalves],
  ])('a scope that no reading of the document allows is a violation: %s', async (_, liar) => {
    for (const algorithm of todays(limiterAlgorithms, 3))
      for (const scopes of [smallest, largest]) {
        const { clauses } = await judged({ ...scopes, ...shortWindows, algorithm }, [liar], shortWindows)
        expect({ algorithm, clauses: clauses.filter(clause => clause.startsWith('limit.')).length > 0 }).toEqual({
          algorithm,
          clauses: true,
        })
      }
  })
})
