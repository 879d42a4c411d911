import type { PaymentPayload, PaymentRequired } from '@x402/core/types'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { type PaymentRefusal, referenceSolanaNode } from '../../../../src/contract/wallets.ts'
import { randomStream } from '../../../../src/lib/random.ts'
import type { Reply } from '../../../../src/service/message.ts'
import { type RunningServer, startServer } from '../../../../src/service/server.ts'
import { evmSignatures } from '../../../../src/service/wallets/evm-signatures.ts'
import { usdcLedger } from '../../../../src/service/wallets/usdc.ts'
import {
  evmWallet,
  payment,
  paymentText,
  signIn,
  solanaWallet,
  type TestWallet,
} from '../../../support/wallet-client.ts'
import { type Conversation, conversation, item, jsonOf, startWallMs } from '../conversation.ts'

const { refusals } = documentedContract.wallets.topUp
const host = 'api.example.org'
let server: RunningServer
let node: string
let evm: TestWallet
let solana: TestWallet

beforeAll(async () => {
  await evmSignatures.load()
  // Solana clients read a mint and a block from a node. That of any service will do.
  server = await startServer({ service: conversation().service, port: 0, host: '127.0.0.1' })
  node = `http://127.0.0.1:${server.port}/api/v1${referenceSolanaNode}`
  evm = evmWallet()
  solana = await solanaWallet()
})

afterAll(() => server.close())

const offerOf = ({ ask }: Conversation): PaymentRequired =>
  jsonOf(ask({ path: '/x402/top-up', key: null, headers: { host } }))

const sign = (talk: Conversation, wallet: TestWallet, usd = 5): Promise<PaymentPayload> =>
  payment(wallet, offerOf(talk), { usd, node })

async function pay({ service }: Conversation, payload: unknown, name = 'payment-signature'): Promise<Reply> {
  const headers = { host, [name]: typeof payload === 'string' ? payload : paymentText(payload) }
  const reply = service.respondLater({ method: 'POST', path: '/x402/top-up', headers, body: '' })
  return reply ?? expect.fail('the payment was not seen')
}

const pass = ({ clock }: Conversation, ms: number) => clock.advanceTo(clock.nowMs() + ms)

async function callAs(
  talk: Conversation,
  wallet: TestWallet,
  method: 'GET' | 'POST',
  path: string,
  body: unknown = '',
) {
  const signed = await signIn(wallet, { domain: host, nowMs: startWallMs + talk.clock.nowMs() })
  return talk.ask({ method, path, key: null, headers: { host, 'sign-in-with-x': signed }, body })
}

const balance = async (talk: Conversation, wallet: TestWallet): Promise<number> =>
  jsonOf(await callAs(talk, wallet, 'GET', `/x402/balance/${wallet.address}`)).data.balanceUsd

/** USDC collected by the service on all chains, in dollars. */
const collected = ({ service }: Conversation): number =>
  service.chains.reduce((sum, { usdc, payTo }) => sum + Number(usdc.balanceOf(payTo)) / 1e6, 0)

const codeOf = (reply: Reply) => [reply.status, jsonOf(reply).error]
const expected = (reason: PaymentRefusal) => [refusals[reason].status, refusals[reason].code]

const forgedEvm = ({ payload }: PaymentPayload) => ({ ...payload, signature: `0x${'11'.repeat(64)}1b` })

function forgedSolana({ payload }: PaymentPayload) {
  const transaction = Buffer.from(String(payload.transaction), 'base64')
  // The signature of the wallet follows the empty one of the fee payer.
  return { transaction: transaction.fill(7, 65, 129).toString('base64') }
}

describe.each(['evm', 'solana'] as const)('a payment of %s', family => {
  const wallet = () => (family === 'evm' ? evm : solana)

  test('is credited when it is settled, not before', async () => {
    const talk = conversation()
    const reply = await pay(talk, await sign(talk, wallet(), 6))
    expect([reply.status, reply.afterMs, jsonOf(reply).data.newBalance]).toEqual([200, 200, 6])
    await pass(talk, 199)
    expect(await balance(talk, wallet())).toBe(0)
    await pass(talk, 1)
    expect(await balance(talk, wallet())).toBe(6)
    expect(collected(talk)).toBe(6)
  })

  test('is settled once, however often and by whatever header it comes', async () => {
    const talk = conversation()
    const payload = await sign(talk, wallet())
    const names = ['payment-signature', 'x-402-payment', 'x-payment']
    const replies = await Promise.all(names.map(name => pay(talk, payload, name)))
    expect(replies.map(({ status }) => status)).toEqual([200, refusals.inProgress.status, refusals.inProgress.status])
    await pass(talk, 200)
    for (const name of names) expect(codeOf(await pay(talk, payload, name))).toEqual(expected('replayed'))
    await pass(talk, 60_000)
    expect([await balance(talk, wallet()), collected(talk)]).toEqual([5, 5])
  })

  test('is settled once although it is written in another way', async () => {
    const talk = conversation()
    const payload = await sign(talk, wallet())
    const rewritten = { ...payload, extensions: { other: 1 }, payload: { ...payload.payload, more: 1 } }
    const [first, second] = await Promise.all([pay(talk, payload), pay(talk, rewritten)])
    expect([first?.status, second?.status]).toEqual([200, 409])
    expect(collected(talk)).toBe(5)
  })

  test.each<[PaymentRefusal, number, (payload: PaymentPayload) => unknown]>([
    ['belowMinimum', 4.999999, payload => payload],
    ['aboveMaximum', 10_000.000001, payload => payload],
    ['unverified', 100.000001, payload => payload],
    ['unverified', 6, payload => ({ ...payload, accepted: { ...payload.accepted, amount: '7000000' } })],
    ['unverified', 6, payload => ({ ...payload, accepted: { ...payload.accepted, network: 'eip155:1' } })],
    ['unverified', 6, payload => ({ ...payload, accepted: { ...payload.accepted, scheme: 'upto' } })],
    ['otherResource', 6, payload => ({ ...payload, resource: { ...payload.resource, url: `http://${host}/other` } })],
    ['malformed', 6, payload => ({ ...payload, x402Version: 1 })],
    ['malformed', 6, payload => ({ ...payload, payload: {} })],
    ['malformed', 6, () => 'nonsense'],
  ])('is refused as %s, at no cost: %#', async (reason, usd, change) => {
    const talk = conversation()
    const reply = await pay(talk, change(await sign(talk, wallet(), usd)))
    expect(codeOf(reply)).toEqual(expected(reason))
    await pass(talk, 60_000)
    expect([await balance(talk, wallet()), collected(talk)]).toEqual([0, 0])
  })

  test('to another receiver is refused', async () => {
    const talk = conversation()
    const elsewhere = offerOf(conversation({ seed: 8 }))
    const fees = offerOf(talk).accepts
    const accepts = elsewhere.accepts.map((each, index) => ({ ...each, extra: fees[index]?.extra ?? {} }))
    const { resource } = offerOf(talk)
    const payload = await payment(wallet(), { ...elsewhere, resource, accepts }, { usd: 5, node })
    expect(codeOf(await pay(talk, payload))).toEqual(expected('unverified'))
    expect(collected(talk)).toBe(0)
  })

  test('that another wallet signed is refused', async () => {
    const talk = conversation()
    const payload = await sign(talk, wallet())
    const forged = family === 'evm' ? forgedEvm(payload) : forgedSolana(payload)
    expect(codeOf(await pay(talk, { ...payload, payload: forged }))).toEqual(expected('unverified'))
    // What is wrong with a copy does not hold up the original.
    expect((await pay(talk, payload)).status).toBe(200)
  })

  test('may be sent again as it is after a facilitator was down', async () => {
    const talk = conversation({ wallets: { faults: [{ kind: 'down', probability: 1 }] } })
    const payload = await sign(talk, wallet())
    expect(codeOf(await pay(talk, payload))).toEqual(expected('unavailable'))
    expect(codeOf(await pay(talk, payload))).toEqual(expected('unavailable'))
    expect(collected(talk)).toBe(0)
  })

  test('with a lost response is settled and credited, and not settled again', async () => {
    const talk = conversation({ wallets: { faults: [{ kind: 'lost', probability: 1 }] } })
    const payload = await sign(talk, wallet())
    expect((await pay(talk, payload)).afterMs).toBeGreaterThan(600_000)
    await pass(talk, 200)
    expect(codeOf(await pay(talk, payload))).toEqual(expected('replayed'))
    expect([await balance(talk, wallet()), collected(talk)]).toEqual([5, 5])
  })

  test('that settles slowly is in progress until it is settled', async () => {
    const talk = conversation({ wallets: { faults: [{ kind: 'slow', probability: 1 }] } })
    const payload = await sign(talk, wallet())
    expect((await pay(talk, payload)).afterMs).toBe(20_000)
    await pass(talk, 19_999)
    expect(codeOf(await pay(talk, payload))).toEqual(expected('inProgress'))
    await pass(talk, 1)
    expect([await balance(talk, wallet()), codeOf(await pay(talk, payload))]).toEqual([5, expected('replayed')])
  })
})

test('an expired payment is refused', async () => {
  const talk = conversation()
  const offer = offerOf(talk)
  const accepts = offer.accepts.map(each => ({ ...each, maxTimeoutSeconds: 1 }))
  expect(codeOf(await pay(talk, await payment(evm, { ...offer, accepts }, { usd: 5 })))).toEqual(expected('unverified'))
})

test('a payment on a call is not a sign-in', async () => {
  const talk = conversation()
  const headers = { host, 'payment-signature': paymentText(await sign(talk, evm)) }
  expect(talk.rpc(item('eth_chainId'), { key: null, headers }).status).toBe(401)
  expect(collected(talk)).toBe(0)
})

describe('a ledger of USDC', () => {
  test('moves an amount once, and no more than there is', () => {
    const { transfer, balanceOf, total } = usdcLedger(100n, ['service'])
    expect(transfer('a', 'ada', 'service', 60n)).toBe(true)
    expect(transfer('a', 'ada', 'service', 10n)).toBe(false)
    expect(transfer('b', 'ada', 'service', 41n)).toBe(false)
    expect(transfer('c', 'ada', 'service', -1n)).toBe(false)
    expect([balanceOf('ada'), balanceOf('service'), total()]).toEqual([40n, 60n, { held: 100n, opened: 100n }])
  })
})

test.each([1, 2, 3])('money is conserved by a random sequence of payments and calls: seed %i', async seed => {
  const random = randomStream(seed, 'money')
  const talk = conversation({ wallets: { usdc: '30', settlementMs: 300 } })
  const wallets = [evmWallet(), evmWallet(), await solanaWallet()].map(wallet => ({
    wallet,
    paid: 0,
    charged: 0,
    sent: [] as PaymentPayload[],
  }))
  for (let step = 0; step < 60; step++) {
    const one = wallets[random.int(wallets.length)] ?? expect.fail('no wallet')
    await pass(talk, random.int(400))
    switch (random.int(5)) {
      case 0: {
        const payload = await sign(talk, one.wallet, 3 + random.int(8))
        one.sent.push(payload)
        const replies = await Promise.all([pay(talk, payload), pay(talk, payload)])
        for (const reply of replies) if (reply.status === 200) one.paid += jsonOf(reply).data.amountCredited
        break
      }
      case 1: {
        const again = one.sent[random.int(one.sent.length)]
        if (again === undefined) break
        const reply = await pay(talk, again)
        if (reply.status === 200) one.paid += jsonOf(reply).data.amountCredited
        break
      }
      default: {
        const isChat = random.int(2) === 0
        const question = {
          model: 'ref-nano-3b',
          messages: [{ role: 'user', content: 'hello' }],
          max_completion_tokens: 9,
        }
        const reply = isChat
          ? await callAs(talk, one.wallet, 'POST', '/chat/completions', question)
          : await callAs(talk, one.wallet, 'POST', '/crypto/rpc/base-mainnet', item('eth_chainId'))
        if (reply.status !== 200) expect(reply.status).toBe(402)
        else one.charged += isChat ? jsonOf(reply).cost.usd : Number(reply.headers['x-service-rpc-cost-usd'])
      }
    }
  }
  await pass(talk, 60_000)
  for (const { wallet, paid, charged } of wallets) expect(await balance(talk, wallet)).toBeCloseTo(paid - charged, 9)
  expect(collected(talk)).toBe(wallets.reduce((sum, { paid }) => sum + paid, 0))
  expect(wallets.some(({ charged }) => charged > 0)).toBe(true)
  for (const { usdc } of talk.service.chains) expect(usdc.total().held).toBe(usdc.total().opened)
})
