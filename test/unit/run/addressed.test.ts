import { describe, expect, test } from 'vitest'
import { parseProfile } from '../../../src/contract/profile.ts'
import { knownLie } from '../../../src/service/lies/lies.ts'
import { virtualRun } from '../../support/virtual-run.ts'
import { conversation } from '../service/conversation.ts'

const scenario = `
name: addressed
callers: { count: 1 }
calls:
  rpc: { kind: rpc, network-family: evm, methods: { eth_chainId: 1 } }
  chat: { kind: chat, stream: false, model-tier: XS, prompt-tokens: 5, max-completion-tokens: 4 }
  models: { kind: models }
stages:
  - { name: once, duration: 5s, shape: sequence, calls: [rpc, chat, models, bad-key, no-key, other-scheme] }
budget: { usd: 1 }
`
const forms = ['{ header: api-key, scheme: null }', '{ scheme: Token }', '{ header: X-Gateway-Key, scheme: Key }']
const clausesFound = async (auth: string, lies: readonly string[] = []) => {
  const contract = parseProfile(`auth: ${auth}`, 'p.yaml')
  const { report } = await virtualRun({ scenario, contract, lies: lies.map(knownLie) })
  return { report, clauses: report.findings.map(({ clause }) => clause) }
}

describe.each(forms)('keys as %s', auth => {
  test('an honest service is accused of nothing', async () => {
    const { report, clauses } = await clausesFound(auth)
    expect(clauses).toEqual([])
    expect(report.verdict, report.reasons.join('; ')).toBe('pass')
  })

  test.each([
    ['auth.bearer', 'any-key-will-do'],
    ['auth.missing', 'no-key-will-do'],
    ['auth.malformed', 'any-scheme-will-do'],
    ['auth.malformed', 'other-scheme-breaks-it'],
  ])('%s finds that %s', async (clause, lie) => {
    expect((await clausesFound(auth, [lie])).clauses).toContain(clause)
  })
})

test('the reference service takes a key only in the form of its profile', () => {
  const contract = parseProfile('auth: { header: api-key, scheme: null }', 'p.yaml')
  const { ask } = conversation({ contract })
  const statusOf = (headers: Readonly<Record<string, string>>) =>
    ask({
      path: '/crypto/rpc/base-mainnet',
      key: null,
      headers,
      body: { jsonrpc: '2.0', id: 1, method: 'eth_chainId' },
    }).status
  expect(statusOf({ 'api-key': 'ref_default_ada' })).toBe(200)
  expect(statusOf({ authorization: 'Bearer ref_default_ada' })).toBe(401)
  expect(statusOf({ 'api-key': 'Bearer ref_default_ada' })).toBe(401)
  expect(statusOf({})).toBe(401)
})
