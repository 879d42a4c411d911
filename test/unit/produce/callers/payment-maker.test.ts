import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { type InvalidPayment, type PaymentRefusal, referenceSolanaNode } from '../../../../src/contract/wallets.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import type { WalletCaller } from '../../../../src/produce/callers/caller.ts'
import { createPayments } from '../../../../src/produce/callers/payments.ts'
import { createSigner, walletKind } from '../../../../src/produce/callers/signer.ts'
import { defaultLatency } from '../../../../src/service/capacity.ts'
import { type RunningServer, startServer } from '../../../../src/service/server.ts'
import { createService } from '../../../../src/service/service.ts'
import { defaultWalletSettings } from '../../../../src/service/wallets/wallets.ts'
import { loopbackOnly } from '../../../support/loopback-only.ts'
import { withOneLength } from '../../../support/wallet-client.ts'

const { wallets: terms } = documentedContract
const network = loopbackOnly()
let server: RunningServer
let base: string

beforeAll(async () => {
  const service = createService({
    ...{ contract: documentedContract, clock: systemClock(), seed: 1, lies: [], timing: defaultLatency },
    ...{ openingBalanceUsd: '10', openingBalanceDiem: '0' },
    wallets: { ...defaultWalletSettings, settlementMs: 20 },
  })
  server = await startServer({ service, port: 0, host: '127.0.0.1' })
  base = `http://127.0.0.1:${server.port}/api/v1`
})

afterAll(() => {
  network.restore()
  return server.close()
})

async function walletOn(chain: string): Promise<WalletCaller> {
  const rail = terms.rails[chain]
  if (rail === undefined) throw new Error(`no rail ${chain}`)
  const privateKey = '6b'.repeat(32)
  const address = (await walletKind(rail.family)).addressOf(privateKey)
  return { kind: 'wallet', name: 'w0', chain, family: rail.family, network: rail.network, address, privateKey }
}

const topUp = (headers: Readonly<Record<string, string>> = {}) =>
  fetch(`${base}/x402/top-up`, { method: 'POST', headers })

test.each(['base', 'solana'])('a payment on %s is settled once, and pays for calls', async chain => {
  const wallet = await walletOn(chain)
  const signer = createSigner({
    ...{ wallets: [wallet], terms, origin: new URL(base).origin, runId: `run-${chain}` },
    solanaNode: `${base}${referenceSolanaNode}`,
  })
  const payments = createPayments({ signer, terms, reserve: () => true, release: () => {} })
  const offer: unknown = await (await topUp()).json()
  const payment = await withOneLength(() => payments.next(wallet, offer, { usd: '7.5', invalid: null }))
  if (payment === null) return expect.fail('nothing was signed')
  const paid = await topUp({ 'PAYMENT-SIGNATURE': payment.header })
  expect([paid.status, await paid.json()]).toMatchObject([200, { data: { amountCredited: 7.5 } }])
  expect((await topUp({ 'PAYMENT-SIGNATURE': payment.header })).status).toBe(400)
  const [first = ''] = await signer.signIns({ wallet: 'w0', firstNonce: 0, count: 1, issuedMs: Date.now() })
  const credit = await fetch(`${base}/x402/balance/${wallet.address}`, { headers: { 'SIGN-IN-WITH-X': first } })
  expect([credit.status, await credit.json()]).toMatchObject([200, { data: { balanceUsd: 7.5 } }])
  expect(network.blocked).toEqual([])
})

describe.each(['base', 'solana'])('a payment on %s that is wrong', chain => {
  test.each<[InvalidPayment, PaymentRefusal]>([
    ['tampered', 'unverified'],
    ['above-signed', 'unverified'],
    ['other-resource', 'otherResource'],
    ['other-chain', 'unverified'],
  ])('(%s) is refused as %s, and only for that', async (invalid, refusal) => {
    const wallet = await walletOn(chain)
    const signer = createSigner({
      ...{ wallets: [wallet], terms, origin: new URL(base).origin, runId: `${chain}-${invalid}` },
      solanaNode: `${base}${referenceSolanaNode}`,
    })
    const payments = createPayments({ signer, terms, reserve: () => true, release: () => {} })
    const offer: unknown = await (await topUp()).json()
    const payment = await withOneLength(() => payments.next(wallet, offer, { usd: '6', invalid }))
    if (payment === null) return expect.fail('nothing was signed')
    const response = await topUp({ 'PAYMENT-SIGNATURE': payment.header })
    const { status, code } = terms.topUp.refusals[refusal]
    expect([response.status, await response.json()]).toMatchObject([status, { error: code }])
    const network = String(JSON.parse(Buffer.from(payment.header, 'base64').toString()).accepted.network)
    expect(network === wallet.network).toBe(invalid !== 'other-chain')
  })
})

test('nothing is signed on Solana without a node', async () => {
  const wallet = await walletOn('solana')
  const signer = createSigner({ wallets: [wallet], terms, origin: 'http://localhost', runId: 'run', solanaNode: null })
  expect(await signer.payment({ wallet: 'w0', offer: {}, accepted: {}, usd: '5', invalid: null })).toBeNull()
})

test('an offer that the packages cannot read is not paid', async () => {
  const signer = createSigner({
    ...{ wallets: [await walletOn('base')], terms, origin: 'http://localhost', runId: 'run', solanaNode: null },
  })
  expect(
    await signer.payment({
      wallet: 'w0',
      offer: { x402Version: 2, accepts: [{}] },
      accepted: {},
      usd: '5',
      invalid: null,
    }),
  ).toBeNull()
})
