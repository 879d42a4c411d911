import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import type { Observation } from '../../../src/observation/observation.ts'
import { createSigner, walletKind } from '../../../src/produce/callers/signer.ts'
import { freshDirectory, turnpike } from '../../support/turnpike.ts'
import { readObservations } from '../../support/whole-lines.ts'
import { startX402Server, type X402Server } from '../../support/x402-server.ts'

const scenario = `
name: peers
callers: { count: 0, wallets: 4, chain: [base, solana], top-up: 5 }
calls:
  rpc: { kind: rpc-batch, network: ethereum-mainnet, size: 2 }
  chat: { kind: chat, stream: false, model-tier: XS, prompt-tokens: 5, max-completion-tokens: 5 }
  credit: { kind: wallet-balance }
  again: { kind: top-up, pay: true, usd: 5, duplicates: 1 }
stages:
  - { name: steady, duration: 500ms, shape: constant, rate: 40/s, exceed-tier: true, mix: { rpc: 1, chat: 1 } }
  - { name: again, duration: 2s, shape: sequence, calls: [again, credit], callers: 2 }
`

/** The public packages know no legacy headers. */
const newNames = 'wallets: { signIn: { legacyHeader: null }, topUp: { legacyPaymentHeaders: [] } }\n'

let server: X402Server | null = null
afterEach(() => server?.close())

async function run(profile: string): Promise<readonly Observation[]> {
  const folder = freshDirectory()
  const files = { scenario: join(folder, 'scenario.yaml'), profile: join(folder, 'profile.yaml') }
  writeFileSync(files.scenario, scenario)
  writeFileSync(files.profile, profile)
  const out = join(folder, 'run')
  const flags = ['--target', server?.baseUrl ?? '', '--profile', files.profile, '--out', out, '--quiet', '--no-warm-up']
  const { code, stderr } = await turnpike(['run', files.scenario, ...flags], {
    TURNPIKE_SOLANA_NODE: server?.node ?? '',
  })
  expect([0, 1, 3], stderr).toContain(code)
  return readObservations(out)
}

test('a server of the public packages accepts sign-ins and payments on both chains, and counts each payment once', async () => {
  // Longer than the profile allows, and the payment must still repeat it.
  server = await startX402Server({ seconds: 900 })
  const observations = await run(`billing: { settleMs: 0 }\n${newNames}`)
  const { transfers, payTo, refusals, signedIn } = server
  const paid = observations.flatMap(({ request, response }) =>
    request.kind === 'top-up' && request.payment !== null ? { ...request.payment, status: response?.status } : [],
  )
  expect(paid.filter(({ isAgain }) => !isAgain).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200])
  // Each chain has two wallets that paid before the load, and one that paid again, twice with one signature.
  expect(transfers.base.map(({ to, amount }) => [to.toLowerCase(), amount])).toEqual(
    Array(3).fill([payTo.base, 5_000_000n]),
  )
  expect(transfers.solana.map(({ amount }) => amount)).toEqual(Array(3).fill(5_000_000n))
  expect(paid.filter(({ isAgain }) => isAgain).map(({ status }) => status)).toEqual([402, 402])
  expect(refusals).toHaveLength(2)
  expect(refusals.every(reason => !reason.startsWith('sign-in'))).toBe(true)

  const signed = observations.filter(({ request }) => request.kind !== 'top-up' && request.kind !== 'models')
  expect(signed.length).toBeGreaterThan(20)
  expect(new Set(signed.map(({ response }) => response?.status))).toEqual(new Set([200]))
  expect(signedIn).toHaveLength(signed.length)
  expect(new Set(signedIn).size).toBe(4)
})

test.each([
  ['base', 'message'],
  ['base', 'fields'],
  ['solana', 'message'],
  ['solana', 'fields'],
] as const)('it accepts each sign-in of our wallets on %s once, in the layout %s', async (chain, layout) => {
  server = await startX402Server()
  const { wallets: terms } = documentedContract
  const { family = 'evm', network = '' } = terms.rails[chain] ?? {}
  const privateKey = '5a'.repeat(32)
  const address = (await walletKind(family)).addressOf(privateKey)
  const signer = createSigner({
    wallets: [{ kind: 'wallet', name: 'w0', chain, family, network, address, privateKey }],
    terms: { ...terms, signIn: { ...terms.signIn, layouts: [layout] } },
    ...{ origin: new URL(server.baseUrl).origin, solanaNode: null, runId: 'run-1' },
  })
  const values = await signer.signIns({ wallet: 'w0', firstNonce: 0, count: 2, issuedMs: Date.now() })
  const statuses: number[] = []
  for (const value of [...values, ...values]) {
    const headers = { 'SIGN-IN-WITH-X': value }
    statuses.push((await fetch(`${server.baseUrl}/x402/balance/${address}`, { headers })).status)
  }
  expect(statuses, server.refusals.join()).toEqual([200, 200, 401, 401])
})
