import type { PaymentRequired } from '@x402/core/types'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { referenceSolanaNode } from '../../../../src/contract/wallets.ts'
import type { RunningServer } from '../../../../src/service/server.ts'
import { loopbackOnly } from '../../../support/loopback-only.ts'
import { serviceForClients } from '../../../support/service-for-clients.ts'
import {
  evmWallet,
  payment,
  paymentText,
  signIn,
  solanaWallet,
  type TestWallet,
} from '../../../support/wallet-client.ts'
import { item } from '../conversation.ts'

let server: RunningServer
let host: string
let base: string
const network = loopbackOnly()

beforeAll(async () => {
  ;({ base, server } = await serviceForClients(documentedContract, {
    timing: { ttftMs: 5, itlMs: 1, rpcMs: 5 },
    wallets: { usdc: '100', creditUsd: '0', settlementMs: 20, slowSettlementMs: 20, faults: [] },
  }))
  host = new URL(base).host
})

afterAll(() => {
  network.restore()
  return server.close()
})

type Sent = { readonly body?: unknown; readonly name?: string; readonly layout?: 'message' | 'fields' }

async function call(wallet: TestWallet, path: string, { body = null, name = 'SIGN-IN-WITH-X', layout }: Sent = {}) {
  return fetch(`${base}${path}`, {
    method: body === null ? 'GET' : 'POST',
    headers: {
      [name]: await signIn(wallet, { domain: host, nowMs: Date.now(), ...(layout && { layout }) }),
      ...(body === null ? {} : { 'content-type': 'application/json' }),
    },
    body: body === null ? null : JSON.stringify(body),
  })
}

const topUp = (headers: Readonly<Record<string, string>> = {}) =>
  fetch(`${base}/x402/top-up`, { method: 'POST', headers })
const question = { model: 'ref-nano-3b', messages: [{ role: 'user', content: 'hello' }], max_completion_tokens: 8 }

test.each([
  ['Base', 'PAYMENT-SIGNATURE', 'SIGN-IN-WITH-X', 'message'],
  ['Base', 'X-402-Payment', 'X-Sign-In-With-X', 'fields'],
  ['Solana', 'PAYMENT-SIGNATURE', 'SIGN-IN-WITH-X', 'fields'],
  ['Solana', 'X-PAYMENT', 'X-Sign-In-With-X', 'message'],
] as const)(
  'a wallet on %s tops up with the public packages, and calls: %s, %s, layout %s',
  async (chain, paymentName, name, layout) => {
    const wallet = chain === 'Base' ? evmWallet() : await solanaWallet()
    const offered = await topUp()
    expect(offered.status).toBe(402)
    const payer = wallet.payer(`${base}${referenceSolanaNode}`)
    const offer = payer.getPaymentRequiredResponse(name => offered.headers.get(name), await offered.json())
    const payload = await payment(wallet, offer, { usd: 7, node: `${base}${referenceSolanaNode}` })
    const { 'PAYMENT-SIGNATURE': encoded = '' } = payer.encodePaymentSignatureHeader(payload)
    const paid = await topUp({ [paymentName]: encoded })
    const { data } = (await paid.json()) as { readonly data: Readonly<Record<string, unknown>> }
    expect([paid.status, data]).toEqual([
      200,
      {
        walletAddress: wallet.network.startsWith('eip155') ? wallet.address.toLowerCase() : wallet.address,
        amountCredited: 7,
        newBalance: 7,
        paymentId: expect.stringMatching(/^[A-Za-z0-9]{32}$/),
      },
    ])
    expect(payer.getPaymentSettleResponse(name => paid.headers.get(name))).toMatchObject({
      success: true,
      network: wallet.network,
    })

    const chat = await call(wallet, '/chat/completions', { body: question, name, layout })
    expect(chat.status).toBe(200)
    const { cost } = (await chat.json()) as { readonly cost: { readonly usd: number } }
    const left = Number(chat.headers.get('x-balance-remaining'))
    expect(left).toBeCloseTo(7 - cost.usd, 12)
    const rpc = await call(wallet, '/crypto/rpc/ethereum-mainnet', { body: item('eth_chainId'), name, layout })
    expect([rpc.status, Number(rpc.headers.get('x-balance-remaining'))]).toEqual([
      200,
      expect.closeTo(left - 0.0000125, 12),
    ])
    const balance = await call(wallet, `/x402/balance/${wallet.address}`, { name, layout })
    expect(await balance.json()).toMatchObject({ data: { balanceUsd: expect.closeTo(left - 0.0000125, 12) } })
  },
)

test('the same payment at once on several connections is settled once', async () => {
  const wallet = evmWallet()
  const offer = (await (await topUp()).json()) as PaymentRequired
  const header = paymentText(await payment(wallet, offer, { usd: 5 }))
  const replies = await Promise.all(Array.from({ length: 8 }, () => topUp({ 'PAYMENT-SIGNATURE': header })))
  // The others meet a payment in progress, or a settled one.
  const statuses = replies.map(({ status }) => status)
  expect(statuses.filter(status => status === 200)).toHaveLength(1)
  expect(statuses.filter(status => status === 409 || status === 400)).toHaveLength(7)
  const balance = await call(wallet, `/x402/balance/${wallet.address}`)
  expect(await balance.json()).toMatchObject({ data: { balanceUsd: 5 } })
})

test('the same nonce at once on several connections is accepted once', async () => {
  const wallet = await solanaWallet()
  const header = await signIn(wallet, { domain: host, nowMs: Date.now() })
  const ask = () => fetch(`${base}/x402/balance/${wallet.address}`, { headers: { 'SIGN-IN-WITH-X': header } })
  const replies = await Promise.all(Array.from({ length: 8 }, ask))
  expect(replies.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(401)])
})

test('nothing of this leaves the machine', async () => {
  expect(network.blocked).toEqual([])
  await expect(fetch('http://192.0.2.1/')).rejects.toThrow()
  expect(network.blocked).toEqual(['192.0.2.1'])
})
