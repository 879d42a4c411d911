import { describe, test } from 'vitest'
import { documentedContract } from '../../../../../src/contract/documented.ts'
import { createRateLimitAudit } from '../../../../../src/judge/audits/rate-limits/rate-limits.ts'
import { createSendOrder } from '../../../../../src/judge/audits/send-order.ts'
import { createFindingLog } from '../../../../../src/judge/findings/findings.ts'
import { callsOneNetwork } from '../../../../../src/judge/judge.ts'
import { knownLie } from '../../../../../src/service/lies/lies.ts'
import { virtualRun } from '../../../../support/virtual-run.ts'
import { planOf } from '../../../plan/plan-of.ts'

const scenario = `
name: one-network
callers: { count: 2 }
calls:
  one: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } }
  again: { kind: replay, of: one, duplicates: 1, concurrent: false }
stages: [{ name: load, duration: 130s, shape: constant, rate: 2/s, mix: { one: 9, again: 1 }, exceed-tier: true, exceed-failure-limit: true }]
`
/** This run shows these lies, whatever the algorithm. */
const shown = ['one-request-too-few', 'sudden-429', 'remaining-never-falls', 'reset-behind']
const others = [
  'one-request-too-many',
  'no-limits-on-rpc',
  'window-cut-short',
  'window-that-slides',
  'refuses-past-the-reset',
]
const algorithms = [{ algorithm: null }, { algorithm: 'fixed-window' }] as const

describe('with one network, one reading of the scope reports what two do', () => {
  for (const name of [null, ...shown, ...others])
    test.for(algorithms)(`${name ?? 'honest'}, $algorithm`, async ({ algorithm }, { expect }) => {
      const contract = {
        ...documentedContract,
        rpc: { ...documentedContract.rpc, requestsPerMinute: 40 },
        limits: { ...documentedContract.limits, algorithm },
      }
      const run = await virtualRun({ scenario, contract, lies: name === null ? [] : [knownLie(name)] })
      const judged = [true, false].map(isOne => {
        const findingLog = createFindingLog()
        const context = {
          contract: run.contract,
          shared: false,
          startedAtMs: run.head.startedAtMs,
          callsOneNetwork: isOne,
        }
        const audit = createRateLimitAudit(context, findingLog.reporterFor('rate-limits'))
        const order = createSendOrder(audit.add)
        for (const observation of run.observations) order.add(observation)
        order.flush()
        audit.finish(true)
        return { findings: findingLog.findings(), tallies: findingLog.tallies(), limits: audit.limits() }
      })
      expect(judged[0]).toEqual(judged[1])
      if (name === null)
        expect(judged[0]).toMatchObject({
          findings: [],
          limits: expect.arrayContaining([expect.objectContaining({ scope: 'rpc', unexpected429: 0, missing429: 0 })]),
        })
      if (name !== null && shown.includes(name)) expect(judged[0]?.findings).not.toEqual([])
    })
})

describe('a plan calls one network', () => {
  const calls = {
    one: 'kind: rpc, network: ethereum-mainnet, methods: { eth_call: 1 }',
    same: 'kind: rpc-batch, network: ethereum-mainnet, methods: { eth_call: 1 }, size: 5',
    other: 'kind: rpc, network: base-mainnet, methods: { eth_call: 1 }',
    replay: 'kind: replay, of: other, duplicates: 1',
    chat: 'kind: chat, model-tier: S, prompt-tokens: 200, max-completion-tokens: 120',
    probe: 'kind: probe, probe: unlisted-method',
  } as const
  type Case = { readonly names: readonly (keyof typeof calls)[]; readonly is: boolean }
  const cases: readonly Case[] = [
    { names: ['one'], is: true },
    { names: ['one', 'same', 'chat'], is: true },
    { names: ['other', 'replay'], is: true },
    { names: ['one', 'other', 'replay'], is: false },
    { names: ['one', 'probe'], is: false },
    { names: ['chat'], is: false },
  ]
  test.for(cases)('$names: $is', ({ names, is }, { expect }) => {
    const mix = names.map(name => `${name}: 1`).join(', ')
    const plan = planOf(
      { only: `duration: 60s, shape: constant, rate: 1/s, mix: { ${mix} }` },
      { calls: `\n${names.map(name => `  ${name}: { ${calls[name]} }\n`).join('')}` },
    )
    expect(callsOneNetwork(plan)).toBe(is)
  })
})
