import { expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { usualEvmMethods } from '../../../src/contract/rpc-methods.ts'
import { parseScenario } from '../../../src/scenario/load-scenario.ts'
import { validScenario } from './valid-scenario.ts'

const load = (text: string, contract = documentedContract) => parseScenario(text, 's.yaml', contract)
const callOf = (name: string, text = validScenario, contract = documentedContract) => load(text, contract).calls[name]

test('loading converts units to numbers and resolves names', () => {
  const text = `name: whole
question: Is all of it read?
target: http://127.0.0.1:8402/api/v1/
service: { concurrency: 4, service-time: 50ms, queue-length: 40 }
seed: 7
callers: { count: 3, tier: partner, keys-file: keys.txt, shared: true, limits-from: profile }
calls:
  again: { kind: replay, of: one, concurrent: true, conflict-ratio: 0.1 }
  one: { kind: rpc, network: solana-mainnet, methods: { getSlot: 2, getSupply: 0.5 }, failure-ratio: 0.25 }
stages:
  - { name: up, duration: 1m30s, shape: ramp, to: 50% of tier, callers: 2, mix: { again: 1 } }
  - { name: hit, duration: 2s, shape: burst, size: 4, every: 500ms, exceed-tier: true, mix: { one: 1, again: 2 } }
slo: { one: { latency: 100ms, lateness: 5ms } }
budget: { usd: $0.50 }
bounds: { max-in-flight: 10, max-body: 2MiB, drain: 0s, timeouts: { rpc: { total: 2s } } }
record: findings
thresholds: [{ expect: mean latency of one in hit < 1s, why: A reason. }]
`
  const one = { kind: 'rpc', network: 'solana-mainnet', batchSize: null, failing: 0.25 }
  const methods = [
    ['getSlot', 2],
    ['getSupply', 0.5],
  ]
  const unset = { connectMs: null, headersMs: null, idleMs: null, totalMs: null }
  expect(load(text)).toEqual({
    name: 'whole',
    question: 'Is all of it read?',
    target: 'http://127.0.0.1:8402/api/v1',
    service: { concurrency: 4, serviceTimeMs: 50, distribution: 'constant', queueLength: 40 },
    seed: 7,
    callers: {
      ...{
        count: 3,
        keys: 1,
        accountTier: 'partner',
        shared: true,
        separate: false,
        keysFile: 'keys.txt',
        limitsFrom: 'profile',
      },
      ...{ wallets: 0, chains: [], walletKeysFile: null, topUpUsd: null },
    },
    calls: {
      again: {
        kind: 'replay',
        of: { ...one, methods },
        duplicates: 1,
        concurrent: true,
        conflictRatio: 0.1,
        otherCallerRatio: 0,
        repeatAfterMs: null,
        otherKeyRatio: 0,
      },
      one: { ...one, methods },
    },
    stages: [
      {
        name: 'up',
        durationMs: 90_000,
        callers: 2,
        firstCaller: 0,
        beyondFailures: false,
        beyondTier: false,
        shape: 'ramp',
        from: { kind: 'absolute', perSecond: 0 },
        to: { kind: 'of-tier', share: 0.5 },
        mix: [['again', 1]],
      },
      {
        name: 'hit',
        durationMs: 2_000,
        callers: 3,
        firstCaller: 0,
        beyondFailures: false,
        beyondTier: true,
        shape: 'burst',
        size: { kind: 'absolute', arrivals: 4 },
        everyMs: 500,
        mix: [
          ['one', 1],
          ['again', 2],
        ],
      },
    ],
    slo: { one: { latency: 100, lateness: 5 } },
    budgetUsd: '0.5',
    bounds: {
      maxInFlight: 10,
      maxBodyBytes: 2_097_152,
      drainMs: 0,
      timeouts: { chat: unset, rpc: { ...unset, totalMs: 2_000 }, control: unset },
    },
    record: 'findings',
    notOffered: [],
    mustJudge: [],
    thresholds: [
      {
        expression: 'mean latency of one in hit < 1s',
        why: 'A reason.',
        measure: { kind: 'timing', timing: 'latency', of: { kind: 'mean' } },
        call: 'one',
        stage: 'hit',
        operator: '<',
        bound: 1_000,
      },
    ],
  })
})

test('a chat call uses its model, or the first model of its tier', () => {
  expect(callOf('chat')).toMatchObject({ model: 'ref-small-24b', modelTier: 'S', stream: true })
  const named = validScenario.replace('model-tier: S', 'model: ref-large-235b')
  expect(callOf('chat', named)).toMatchObject({ model: 'ref-large-235b', modelTier: 'L' })
})

test('an EVM call without methods gets the default ones on the allow-list', () => {
  expect(callOf('single')).toMatchObject({ methods: usualEvmMethods })
  const { eth_call: _, ...evm } = documentedContract.rpc.methods.evm
  const contract = {
    ...documentedContract,
    rpc: { ...documentedContract.rpc, methods: { ...documentedContract.rpc.methods, evm } },
  }
  const text = validScenario.replace('eth_call: 3', 'eth_chainId: 3')
  expect(callOf('single', text, contract)).toMatchObject({ methods: usualEvmMethods.slice(1) })
})

test('no default method writes to a chain', () => {
  expect(usualEvmMethods.filter(([method]) => /send|sign/i.test(method))).toEqual([])
})

test('only rates above 100% of tier need permission', () => {
  const at = (rate: string) => load(validScenario.replace('rate: 80% of tier', `rate: ${rate}`))
  expect(() => at('100% of tier')).not.toThrow()
  expect(() => at('100.01% of tier')).toThrow('exceed-tier')
  expect(() => at('100.01% of tier, exceed-tier: true')).not.toThrow()
})

test('an absolute rate may equal the limits', () => {
  // A partner may send 150 S-chats per minute, so two callers may send 5 per second.
  const at = (rate: string) =>
    load(
      validScenario
        .replace('tier: default', 'tier: partner')
        .replace('rate: 80% of tier, mix: { chat: 3, rpc: 5, replay: 1 }', `rate: ${rate}, mix: { chat: 1 }`),
    )
  expect(() => at('5/s')).not.toThrow()
  expect(() => at('300/m')).not.toThrow()
  expect(() => at('301/m')).toThrow('expected at most 5/s, which is 100% of tier')
})

test('anchors and aliases work', () => {
  const text = validScenario
    .replace('mix: { chat', 'mix: &usual { chat')
    .replace(
      '  - { name: probes',
      '  - { name: more, duration: 1s, shape: closed, users: 1, mix: *usual }\n  - { name: probes',
    )
  const [steady, more] = load(text).stages
  expect(more).toMatchObject({ shape: 'closed', mix: steady !== undefined && 'mix' in steady ? steady.mix : null })
})

test('the profile bounds the size of a batch', () => {
  const contract = { ...documentedContract, rpc: { ...documentedContract.rpc, batchLimit: 5 } }
  expect(() => callOf('rpc', validScenario, contract)).toThrow('got 10, expected a whole number from 1 to 5')
})

test('a merge key copies the fields of another call, which the call may override', () => {
  const calls = `calls:
  one: &one { kind: chat, stream: false, model-tier: XS, prompt-tokens: 5, max-completion-tokens: 8 }
  two: { <<: *one, prompt-tokens: 6, body: { n: 2 } }
`
  const rest = `name: merged
question: Is it merged?
callers: { count: 1 }
stages: [{ name: once, duration: 1s, shape: sequence, calls: [one, two] }]
budget: { usd: 1 }
`
  const { one, two } = load(`${rest}${calls}`).calls
  expect(two).toEqual({ ...one, promptTokens: 6, options: expect.objectContaining({ body: { n: 2 } }) })
})
