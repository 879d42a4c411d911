import { describe, expect, test } from 'vitest'
import type { Observation } from '../../src/observation/observation.ts'
import { freshDirectory, turnpike } from '../support/turnpike.ts'
import { observationsIn, signedIn, textsIn, watched } from '../support/watched-run.ts'

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
    const observations = observationsIn(out)
    const wallets = ['w0', 'w1', 'w2', 'w3']
    expect(paymentsIn(observations).toSorted()).toEqual(
      wallets.flatMap(wallet => [
        [wallet, [200]],
        [wallet, [200]],
      ]),
    )
    for (const wallet of wallets) {
      const credit = creditOf(observations, wallet) ?? 0
      expect(credit).toBeGreaterThan(12.49)
      expect(credit).toBeLessThan(12.5)
    }
    expect(signedIn(textsIn(out).values())).toEqual([])
  })

  test('x402-races: of the same payment on several connections, one counts', async () => {
    const out = freshDirectory()
    const { code, stdout, beyond } = await watched(['run', 'x402-races', '--out', out, '--quiet'])
    expect(code, stdout).toBe(0)
    expect(beyond).toEqual([])
    const observations = observationsIn(out)
    const payments = paymentsIn(observations).map(([, statuses]) => statuses)
    expect(payments.map(({ length }) => length).toSorted()).toEqual([...Array(6).fill(2), ...Array(12).fill(4)])
    for (const statuses of payments) expect(statuses.filter(status => status === 200)).toHaveLength(1)
    for (const wallet of ['w0', 'w1', 'w2', 'w3', 'w4', 'w5'])
      expect(creditOf(observations, wallet)?.toFixed(2)).toBe('15.00')
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
