import { describe, expect, test } from 'vitest'
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

describe('where the target needs no key', () => {
  const { auth } = documentedContract
  const open = { ...context, contract: { ...documentedContract, auth: { ...auth, required: false } } }
  const curlOf = (head: { readonly withoutKeys?: true }) => {
    const ofKey = observations.find(({ stage, request }) => stage === 'once' && request.kind === 'rpc')
    if (ofKey === undefined) throw new Error('no request')
    const { chain: _, ...keyed } = ofKey
    return evidenceOf(keyed, plan.calls, open, { target, startedAtMs: 0, runId: 'again', ...head }).request?.curl
  }

  test('a command has the key that the run sent', () => {
    expect(curlOf({})).toContain(`-H 'authorization: Bearer '"$TURNPIKE_KEY"`)
  })

  test('a command has no key if the run sent none', () => {
    expect(curlOf({ withoutKeys: true })).not.toContain('authorization')
  })
})
