import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { getBase58Decoder } from '@solana/kit'
import { describe, expect, test } from 'vitest'
import type { Observation } from '../../../src/observation/observation.ts'
import { freshDirectory, serveForTest, turnpike } from '../../support/turnpike.ts'
import { signedIn, textsIn, watched } from '../../support/watched-run.ts'
import { readObservations } from '../../support/whole-lines.ts'

/** The statuses of the requests that carried each signed payment, by wallet and number of the payment. */
function paymentsIn(observations: readonly Observation[]): readonly (readonly [string, readonly number[]])[] {
  const statuses = new Map<string, readonly number[]>()
  for (const { request, response, caller, stage } of observations) {
    if (request.kind !== 'top-up' || request.payment === null) continue
    const name = `${caller} ${stage} ${request.payment.id}`
    statuses.set(name, [...(statuses.get(name) ?? []), response?.status ?? 0])
  }
  return [...statuses].map(([name, all]) => [name.split(' ')[0] ?? '', all])
}

function creditOf(observations: readonly Observation[], wallet: string): number | undefined {
  const last = observations.findLast(({ caller, request }) => caller === wallet && request.kind === 'wallet-balance')
  const body = last?.response?.body
  const { data } = (body?.kind === 'json' ? body.value : {}) as { readonly data?: { readonly balanceUsd: number } }
  return data?.balanceUsd
}

describe.concurrent('a shipped scenario with wallets on both chains passes, without a connection beyond loopback', () => {
  test('x402-top-up: payments arrive as credit, and pay for calls', async () => {
    const out = freshDirectory()
    const { code, stdout, threads, beyond } = await watched(['run', 'x402-top-up', '--out', out, '--quiet'])
    expect(code, stdout).toBe(0)
    expect(beyond).toEqual([])
    // The one of the load, and the one that signs, which asks the simulated node of Solana.
    expect(threads).toBeGreaterThanOrEqual(2)
    const observations = await readObservations(out)
    const paidUsd = { w0: [5, 7.5, 5], w1: [5, 7.5, 5], w2: [5, 7.5] }
    expect(paymentsIn(observations).toSorted()).toEqual(
      Object.entries(paidUsd).flatMap(([wallet, payments]) => payments.map(() => [wallet, [200]])),
    )
    for (const [wallet, payments] of Object.entries(paidUsd)) {
      const paid = payments.reduce((total, usd) => total + usd, 0)
      const credit = creditOf(observations, wallet) ?? 0
      expect(credit).toBeGreaterThan(paid - 0.01)
      expect(credit).toBeLessThan(paid)
    }
    expect(signedIn(textsIn(out).values())).toEqual([])
  })

  test('x402-races: of the same payment on several connections, one counts', async () => {
    const out = freshDirectory()
    const { code, stdout, beyond } = await watched(['run', 'x402-races', '--out', out, '--quiet'])
    expect(code, stdout).toBe(0)
    expect(beyond).toEqual([])
    const observations = await readObservations(out)
    const payments = paymentsIn(observations).map(([, statuses]) => statuses)
    expect(payments.map(({ length }) => length).toSorted()).toEqual([...Array(6).fill(3), ...Array(12).fill(4)])
    for (const statuses of payments) expect(statuses.filter(status => status === 200)).toHaveLength(1)
    for (const wallet of ['w0', 'w1', 'w2', 'w3', 'w4', 'w5'])
      expect(creditOf(observations, wallet)?.toFixed(2)).toBe('15.00')
    // And of the same sign-in in three requests.
    const raced = observations.filter(({ request }) => request.kind === 'probe')
    expect(raced).toHaveLength(18)
    for (const wallet of ['w0', 'w1', 'w2', 'w3', 'w4', 'w5']) {
      const statuses = raced.filter(({ caller }) => caller === wallet).map(({ response }) => response?.status)
      expect(statuses.toSorted()).toEqual([200, 401, 401])
    }
    expect(signedIn(textsIn(out).values())).toEqual([])
  })

  test('a connection to another machine would be counted', async () => {
    const flags = ['--target', 'http://192.0.2.1:9/api/v1', '--budget-usd', '100']
    const { beyond } = await watched(['plan', 'wallets', ...flags], { TURNPIKE_KEYS: 'key-1,key-2,key-3,key-4' })
    expect(new Set(beyond)).toEqual(new Set(['192.0.2.1']))
  })
})

test('a signature in a text would be found', () => {
  const signed = Buffer.from(JSON.stringify({ address: '0x1', message: 'Sign in', signature: '0x2' })).toString(
    'base64',
  )
  expect(signedIn([`{"sign-in":"${signed}"}`])).toHaveLength(1)
})

const flow = `name: given-keys
callers: { count: 0, wallets: 2, chain: [base, solana] }
calls:
  top-up: { kind: top-up, pay: true, usd: 5 }
  rpc: { kind: rpc }
stages:
  - { name: flow, duration: 4s, shape: sequence, calls: [top-up, rpc] }
thresholds:
  - { expect: status(200) of rpc == 2, why: Both wallets have signed in with their keys. }
  - { expect: failed == 0, why: Both wallets have paid. }
`

test('given private keys sign, and are in no artifact and no output, in no form', async ({ onTestFinished }) => {
  const { target } = await serveForTest(['service'], onTestFinished)
  const evm = '4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318'
  const { seed, text } = solanaKey()
  const [scenario, out] = [join(freshDirectory(), 'given-keys.yaml'), freshDirectory()]
  writeFileSync(scenario, flow)
  const keys = { TURNPIKE_WALLET_KEYS: `0x${evm}, ${text}` }
  const { code, stdout, stderr } = await turnpike(['run', scenario, '--target', target, '--out', out], keys)
  expect(code, stdout).toBe(0)
  const all = [...textsIn(out).values(), stdout, stderr].join('\n')
  // The address that belongs to the key.
  expect(all.toLowerCase()).toContain('0x2c7536e3605d9c16a7a3d7b1898e529396a65c23')
  const forms = [evm, evm.toUpperCase(), Buffer.from(evm, 'hex').toString('base64'), text, seed.toString('hex')]
  for (const form of [...forms, seed.toString('base64').slice(0, 40)]) expect(all).not.toContain(form)
  expect(signedIn([all])).toEqual([])
})

/** A private key of Solana: its seed, and the text that wallets export, seed and public key in base58. */
function solanaKey(): { readonly seed: Buffer; readonly text: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const [seed, address] = [
    privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(-32),
    publicKey.export({ format: 'der', type: 'spki' }).subarray(-32),
  ]
  return { seed, text: getBase58Decoder().decode(Buffer.concat([seed, address])) }
}

test('a mistake in a private key is one error that does not show it, before anything is sent', async () => {
  const secret = '4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f36231z'
  const flags = ['--target', 'http://127.0.0.1:9/api/v1']
  const { code, stderr, stdout } = await turnpike(['run', 'wallets', ...flags], { TURNPIKE_WALLET_KEYS: secret })
  expect(code).toBe(2)
  expect(stderr).toContain('TURNPIKE_WALLET_KEYS')
  expect(stderr + stdout).not.toContain(secret.slice(0, 12))
})

describe.concurrent('wallets pay elsewhere', () => {
  const remote = ['--target', 'https://api.example.invalid/v1', '--budget-usd', '100']

  test('nothing without --top-up', async () => {
    const { stdout } = await turnpike(['plan', 'wallets', ...remote])
    expect(stdout).toContain('pay nothing without --top-up')
  })

  test('nothing without given keys, although --top-up allows it', async () => {
    const { code, stderr } = await turnpike(['run', 'wallets', ...remote, '--top-up', '60'], {
      TURNPIKE_KEYS: 'key-1,key-2,key-3,key-4',
    })
    expect(code).toBe(2)
    expect(stderr).toContain('TURNPIKE_WALLET_KEYS: got nothing, expected the private keys of the wallets that pay')
  })

  test('nothing if --top-up is above the budget', async () => {
    const { code, stderr } = await turnpike(['run', 'wallets', ...remote, '--top-up', '101'])
    expect(code).toBe(2)
    expect(stderr).toContain('--top-up: got $101, expected at most $100, the budget')
  })
})
