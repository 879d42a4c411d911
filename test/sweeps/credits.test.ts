import { describe, expect, test } from 'vitest'
import { parseProfile } from '../../src/contract/profile.ts'
import { knownLie } from '../../src/service/lies/lies.ts'
import { virtualRun } from '../support/virtual-run.ts'

const scenario = `
name: credits
callers: { count: 2 }
calls:
  chat: { kind: chat, stream: false, model-tier: XS, prompt-tokens: 90, max-completion-tokens: 60 }
  stream: { kind: chat, stream: true, model-tier: XS, prompt-tokens: 90, max-completion-tokens: 60 }
  rpc: { kind: rpc, network-family: evm, methods: { eth_chainId: 1 } }
stages:
  - { name: once, duration: 60s, shape: sequence, calls: [chat, rpc, chat, stream, chat, rpc, chat, rpc] }
budget: { usd: 5 }
`

async function clausesFound(billing: string, lies: readonly string[] = [], service: string = billing) {
  const profile = (terms: string) => parseProfile(`billing: { ${terms} }`, 'p.yaml')
  const { report } = await virtualRun({
    scenario,
    contract: profile(billing),
    serviceContract: profile(service),
    lies: lies.map(knownLie),
  })
  return {
    report,
    messages: report.findings.map(({ clause, message }) => `${clause}: ${message}`),
    clauses: report.findings.map(({ clause }) => clause),
  }
}

const places = {
  'a header after the charge': 'balance: { header: X-Credits-Left }',
  'a header before the charge': 'balance: { header: X-Credits-Left, when: before }',
  'a header that counts up': 'balance: { header: x-key-spend, counts: spent }',
  'an endpoint': 'balance: { path: /credits, pointer: /data/credits~1left }',
  'an endpoint that counts up': 'balance: { path: /credits, pointer: /total_usage, counts: spent }',
  'a header for each key': 'balance: { header: X-Credits-Left, scope: key }',
}

describe.each(Object.entries(places))('credits in %s', (_, place) => {
  test.each([
    ['beside the cost in the body', place],
    ['beside the cost in a header', `${place}, costHeader: X-Cost`],
    ['with a price of each request', `${place}, costHeader: X-Cost, usdPerRequest: "0.01"`],
  ])('%s are those of an honest service', async (_, billing) => {
    const { report, messages } = await clausesFound(billing)
    expect(messages).toEqual([])
    expect(report.billing.discrepancies).toEqual([])
    expect(report.billing.billedUsd).not.toBeNull()
    expect(report.verdict, report.reasons.join('; ')).toBe('pass')
  })

  test.each(['charged-twice', 'not-charged', 'third-charge-lost'])('show that %s', async lie => {
    expect((await clausesFound(place, [lie])).clauses).toContain('billing.conservation')
    expect((await clausesFound(`${place}, costHeader: X-Cost`, [lie])).clauses).toContain('billing.conservation')
  })

  test('are compared with the price list where no response states its cost', async () => {
    const silent = `${place}, costHeader: X-Unknown`
    expect((await clausesFound(place, [], silent)).messages.filter(each => !each.startsWith('rpc.cost'))).toEqual([])
    expect((await clausesFound(place, ['charged-twice'], silent)).clauses).toContain('billing.conservation')
  })
})

test.each([
  ['chat.cost.amount', 'cost-ten-fold'],
  ['chat.cost', 'negative-cost'],
])('%s is judged in a header, without any balance: %s', async (clause, lie) => {
  const billing = 'balanceHeaders: false, costHeader: X-Cost'
  expect((await clausesFound(billing)).messages).toEqual([])
  expect((await clausesFound(billing, [lie])).clauses).toContain(clause)
})

test('a price of each request is part of the price list', async () => {
  const other = await clausesFound('usdPerRequest: "0.01"', [], 'usdPerRequest: "0.02"')
  expect(other.clauses).toContain('chat.cost.amount')
})
