import { expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { evidenceOf } from '../../../src/run/evidence.ts'
import { virtualRun } from '../../support/virtual-run.ts'

const target = 'http://127.0.0.1:8402/api/v1'
const { observations, plan } = await virtualRun({
  scenario: `name: wallets
callers: { count: 0, wallets: 1, chain: base }
calls:
  rpc: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } }
  credit: { kind: wallet-balance }
  pay: { kind: top-up, pay: true, usd: 5 }
stages:
  - { name: once, duration: 20s, shape: sequence, calls: [pay, credit, rpc] }
`,
})
const context = { contract: documentedContract, bounds: plan.bounds, seed: plan.seed, runId: 'again' }
const [asked, paid, credit, rpc] = observations
  .filter(({ stage }) => stage === 'once')
  .map(observation => evidenceOf(observation, plan.calls, context, { target, startedAtMs: 0, runId: 'again' }).request)

test('a command for a request of a wallet names the variable of its sign-in', () => {
  expect(rpc?.curl).toContain(`-H 'SIGN-IN-WITH-X: '"$TURNPIKE_SIGN_IN"`)
  expect(credit?.curl).toMatch(/^curl \S+ -i -N 'http:\S+\/x402\/balance\/0x[0-9a-fA-F]{40}' .*"\$TURNPIKE_SIGN_IN"$/)
  expect(rpc?.headers).not.toHaveProperty('authorization')
})

test('a command for a payment asks how to pay, and then names the variable of the payment', () => {
  expect(asked?.curl).not.toContain('TURNPIKE')
  expect(paid?.curl?.split('; ')).toEqual([
    asked?.curl,
    expect.stringContaining(`-H 'PAYMENT-SIGNATURE: '"$TURNPIKE_PAYMENT_SIGNATURE"`),
  ])
})
