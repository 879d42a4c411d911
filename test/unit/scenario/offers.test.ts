import { describe, expect, test } from 'vitest'
import type { Contract, Model } from '../../../src/contract/contract.ts'
import { documentedContract } from '../../../src/contract/documented.ts'
import { UsageError } from '../../../src/lib/usage-error.ts'
import { parseScenario } from '../../../src/scenario/load-scenario.ts'

const scenario = (call: string, more = '') => `name: offers
${more}
callers: { count: 1 }
calls: { it: { ${call} } }
stages: [{ name: only, duration: 1s, shape: sequence, calls: [it] }]
`
const chat = (choice: string) => scenario(`kind: chat, ${choice} prompt-tokens: 5, max-completion-tokens: 5`)
const rpc = (choice: string) => scenario(`kind: rpc, ${choice} methods: { eth_blockNumber: 1 }`)

const untiered = (id: string, output: string | null): Model => ({
  id,
  name: id,
  tier: null,
  payingOnly: false,
  maxCompletionTokens: null,
  logprobs: null,
  lifecycle: null,
  usdPerMillion: output === null ? null : { input: '0', output, cacheInput: null, cacheWrite: null },
})
const offering = (models: Model[], networks: readonly string[] = ['base-mainnet', 'gnosis-mainnet']): Contract => ({
  ...documentedContract,
  models,
  rpc: {
    ...documentedContract.rpc,
    networks: Object.fromEntries(networks.map(slug => [slug, { baseCredits: null, family: 'evm' as const }])),
  },
  sources: { models: 'target', 'rpc.networks': 'target' },
})
const callIn = (text: string, contract: Contract, isTentative = false) =>
  parseScenario(text, 's.yaml', contract, () => isTentative).calls.it

describe('a chat call', () => {
  const contract = offering([untiered('dear', '9'), untiered('cheap', '1'), untiered('middle', '3')])

  test('without a model gets the first one that is offered', () => {
    expect(callIn(chat(''), contract)).toMatchObject({ model: 'dear', modelTier: null })
  })

  test.each([
    ['XS', 'cheap'],
    ['S', 'middle'],
    ['L', 'dear'],
  ])('of tier %s gets a model by its price, if no model has a tier', (tier, model) => {
    expect(callIn(chat(`model-tier: ${tier},`), contract)).toMatchObject({ model, modelTier: tier })
  })

  test('that names a model which the target does not offer is a mistake', () => {
    expect(() => callIn(chat('model: cheep,'), contract)).toThrow(
      's.yaml:4:35: got "cheep", expected a model that the target offers: dear, cheap or middle; did you mean "cheap"?',
    )
    expect(() => callIn(chat(''), offering([]))).toThrow('got no model, expected one that the target offers')
  })

  test('may name any model before the target was asked', () => {
    expect(callIn(chat('model: unheard-of,'), contract, true)).toMatchObject({ model: 'unheard-of' })
    expect(callIn(chat('model-tier: M,'), offering([]), true)).toMatchObject({ modelTier: 'M' })
  })
})

describe('an RPC call', () => {
  const contract = offering([])

  test.each([
    ['', 'base-mainnet'],
    ['network-family: evm,', 'base-mainnet'],
    ['network: gnosis-mainnet,', 'gnosis-mainnet'],
    ['network: gnosis-mainnet, network-family: evm,', 'gnosis-mainnet'],
    ['network: zksync-mainnet, network-family: evm,', 'base-mainnet'],
  ])('with "%s" goes to %s', (choice, network) => {
    expect(callIn(rpc(choice), contract)).toMatchObject({ network })
  })

  test('that names a network which the target does not offer is a mistake', () => {
    expect(() => callIn(rpc('network: ethereum-mainnet,'), contract)).toThrow(
      'got "ethereum-mainnet", expected a network that the target offers: base-mainnet or gnosis-mainnet',
    )
    const none = { ...contract, rpc: { ...contract.rpc, networks: {} } }
    expect(() => callIn(rpc('network-family: evm,'), none)).toThrow(
      'got no network of the family evm, expected one that the target offers',
    )
    expect(callIn(rpc('network: ethereum-mainnet,'), contract, true)).toMatchObject({ network: 'ethereum-mainnet' })
  })
})

describe('what the document has and the target does not', () => {
  const scenario = (mix: string) => `name: parts
callers: { count: 2 }
calls:
  head: { kind: rpc, methods: { eth_blockNumber: 1 } }
  slot: { kind: rpc, network-family: solana, methods: { getSlot: 1 } }
  block: { kind: rpc, network: starknet-mainnet, methods: { starknet_blockNumber: 1 } }
  again: { kind: replay, of: slot }
  list: { kind: resource, resource: characters }
  embedding: { kind: resource, resource: embeddings }
  ids: { kind: probe, probe: token-ids }
stages:
  - { name: first, duration: 2s, shape: constant, rate: 1/s, mix: { ${mix} } }
  - { name: second, duration: 1s, shape: sequence, calls: [embedding, slot, token-ids] }
  - { name: third, duration: 1s, shape: sequence, calls: [head, block, list] }
slo: { slot: { latency: 1s } }
thresholds:
  - { expect: 'failed of slot == 0', why: w }
  - { expect: 'failed in second == 0', why: w }
  - { expect: failed == 0, why: w }
`
  const { embeddings: _, ...resources } = documentedContract.resources
  const { 'base-mainnet': base } = documentedContract.rpc.networks
  if (base === undefined) throw new Error('no base-mainnet')
  const part = {
    ...documentedContract,
    resources,
    rpc: { ...documentedContract.rpc, networks: { 'base-mainnet': base } },
  }
  const load = (mix: string, offered: Contract) => parseScenario(scenario(mix), 's.yaml', offered)

  test('is left out, and all else begins as before', () => {
    const { notOffered, calls, stages, slo, thresholds } = load('head: 1, slot: 2, again: 1, ids: 1', part)
    expect(notOffered).toEqual(['slot', 'block', 'again', 'embedding', 'ids', 'token-ids'])
    expect(Object.keys(calls)).toEqual(['head', 'list'])
    expect(stages).toMatchObject([
      { name: 'first', durationMs: 2_000, mix: [['head', 1]] },
      { name: 'second', durationMs: 1_000, shape: 'pause' },
      { name: 'third', durationMs: 1_000, calls: ['head', 'list'] },
    ])
    expect([slo, thresholds.map(({ expression }) => expression)]).toEqual([{}, ['failed == 0']])
  })

  test('is a method that the profile removes, too', () => {
    const evm = { eth_blockNumber: 'standard' } as const
    const few = {
      ...documentedContract,
      rpc: { ...documentedContract.rpc, methods: { ...documentedContract.rpc.methods, evm } },
    }
    const written = (methods: string) =>
      scenario('head: 1').replace('methods: { eth_blockNumber: 1 }', `methods: { ${methods} }`)
    const { calls } = parseScenario(written('eth_call: 3, eth_blockNumber: 1'), 's.yaml', few)
    expect(calls.head).toMatchObject({ methods: [['eth_blockNumber', 1]] })
    expect(parseScenario(written('eth_call: 1'), 's.yaml', few).notOffered).toEqual(['head'])
    expect(() => parseScenario(written('eth_calls: 1'), 's.yaml', few)).toThrow('got "eth_calls"')
  })

  test('is sent where the target offers it', () => {
    const { notOffered, stages } = load('head: 1, slot: 2', documentedContract)
    expect([notOffered, stages[1]]).toMatchObject([[], { shape: 'sequence' }])
  })

  test('may not be all that a scenario has', () => {
    const only = scenario('slot: 1').replace('calls: [head, block, list]', 'calls: [block]')
    expect(() => parseScenario(only, 's.yaml', part)).toThrow(
      's.yaml: got only calls of what the target does not offer: slot, block, again, embedding, ids, token-ids',
    )
  })
})

test('a rate is compared with the limits of the target, and not before they are known', () => {
  const text = `name: fast
callers: { count: 1 }
calls: { it: { kind: chat, model-tier: S, prompt-tokens: 5, max-completion-tokens: 5 } }
stages: [{ name: only, duration: 1s, shape: constant, rate: 2/s, mix: { it: 1 } }]
`
  const published = { ...documentedContract.limits, published: { 'chat:ref-small-24b': 600 } }
  expect(() => parseScenario(text, 's.yaml', documentedContract)).toThrow(UsageError)
  expect(() => parseScenario(text, 's.yaml', documentedContract, () => true)).not.toThrow()
  expect(() => parseScenario(text, 's.yaml', { ...documentedContract, limits: published })).not.toThrow()
})

describe('a call to a target of which nobody lists the models', () => {
  const contract = { ...offering([]), sources: {} }

  test('may name any model', () => {
    expect(callIn(chat('model: own,'), contract)).toMatchObject({ model: 'own', modelTier: null })
  })

  test('must name one', () => {
    expect(() => callIn(chat(''), contract)).toThrow('got no model, expected "model: <id>", since neither the target')
  })
})

describe('the methods of a call', () => {
  const odd = scenario('kind: rpc, methods: { anvil_mine: 1 }')

  test('are those of the allow-list', () => {
    expect(() => callIn(odd, documentedContract)).toThrow('got "anvil_mine", expected a method on the allow-list')
  })

  test('may be any, if the target promises no allow-list', () => {
    const contract = { ...documentedContract, promises: { only: ['rpc.id'], except: [] } }
    expect(callIn(odd, contract)).toMatchObject({ methods: [['anvil_mine', 1]] })
  })
})
