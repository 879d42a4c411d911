import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import type { Caller, WalletCaller } from '../../../../src/produce/callers/caller.ts'
import { createPayments } from '../../../../src/produce/callers/payments.ts'
import { createSignIns } from '../../../../src/produce/callers/sign-ins.ts'
import type { Signer } from '../../../../src/produce/callers/signer.ts'
import { sendArrival } from '../../../../src/produce/calls/send.ts'
import type { SendContext } from '../../../../src/produce/calls/transmit.ts'
import { arrival, type Reply, sendContext } from './send-context.ts'

const { wallets: terms } = documentedContract
/** All payments are in the first header. */
const oneHeader = { ...terms, topUp: { ...terms.topUp, legacyPaymentHeaders: [] } }
const address = `0x${'12'.repeat(20)}`
const wallet = (name: string): WalletCaller => ({
  kind: 'wallet',
  name,
  chain: 'base',
  family: 'evm',
  network: 'eip155:8453',
  address,
  privateKey: '34'.repeat(32),
})
const offer = {
  x402Version: 2,
  accepts: [
    { scheme: 'exact', network: 'eip155:8453', asset: terms.rails.base?.asset, payTo: '0xpayee', amount: '5000000' },
  ],
}
const signIn = 'SIGN-IN-WITH-X'
const plainTerms = { ...terms.signIn, legacyHeader: null, layouts: ['message' as const] }
const payment = 'PAYMENT-SIGNATURE'

/** A payment header. */
const encoded = (json: string) => Buffer.from(json).toString('base64')
const signedPayment = (number: number) => encoded(`{"x402Version":2,"payload":{"number":${number},"to":["a"]}}`)

/** Callers a and b have keys, w0 and w1 have wallets. Signing takes `signMs`. */
function wallets(reply: Parameters<typeof sendContext>[0] = () => ({}), signMs = 0) {
  const { context: keyed, clock, requests, observations } = sendContext(reply)
  let signed = 0
  const signer: Signer = {
    signIns: async ({ wallet: name, firstNonce, count, flaw }) => {
      if (signMs > 0) await new Promise<void>(resolve => clock.at(clock.nowMs() + signMs, resolve))
      return Array.from({ length: count }, (_, index) => `${flaw ?? name}/${firstNonce + index}`)
    },
    payment: async () => signedPayment(++signed),
  }
  const callers: readonly Caller[] = [...keyed.callers.slice(0, 2), wallet('w0'), wallet('w1')]
  const of = callers.flatMap(caller => (caller.kind === 'wallet' ? caller : []))
  const context: SendContext = {
    ...keyed,
    callers,
    calls: {
      ...keyed.calls,
      models: { kind: 'models' },
      credit: { kind: 'wallet-balance' },
      repeated: { kind: 'probe', probe: 'repeated-sign-in' },
      raced: { kind: 'probe', probe: 'raced-sign-in', copies: 3 },
      expired: { kind: 'probe', probe: 'expired-sign-in' },
      'other-balance': { kind: 'probe', probe: 'balance-of-another-wallet' },
      'bad-key': { kind: 'probe', probe: 'bad-key' },
      ask: { kind: 'top-up', pay: false, usd: '5', duplicates: 0, concurrent: false, invalid: null },
      pay: { kind: 'top-up', pay: true, usd: '5', duplicates: 0, concurrent: false, invalid: null },
      again: { kind: 'top-up', pay: true, usd: '5', duplicates: 2, concurrent: false, invalid: null },
      race: { kind: 'top-up', pay: true, usd: '5', duplicates: 2, concurrent: true, invalid: null },
    },
    signIns: createSignIns({ wallets: of, signer, clock, terms: plainTerms, ahead: 4 }),
    payments: createPayments({ signer, terms: oneHeader, reserve: () => true, release: () => {} }),
  }
  return {
    context,
    requests,
    observations,
    send: (each: Parameters<typeof sendArrival>[0]) => clock.run(sendArrival(each, context)),
  }
}

describe('a request of a wallet', () => {
  test.each(['rpc', 'chat'])('carries a sign-in and no key: %s', async call => {
    const { send, requests, observations } = wallets()
    await send(arrival(call, ['only'], 2))
    expect(requests[0]?.headers).toMatchObject({ [signIn]: 'w0/0' })
    expect(requests[0]?.headers).not.toHaveProperty('authorization')
    expect(observations).toMatchObject([{ caller: 'w0', chain: 'base', key: 0 }])
    expect(JSON.stringify(observations)).not.toMatch(/w0\/0|3434/)
  })

  test('carries another sign-in each time, also within a replay, and with that of its own wallet', async () => {
    const { send, requests } = wallets()
    await send(arrival('replay', ['original', 'duplicate', 'other-caller'], 2))
    expect(requests.map(({ headers }) => headers[signIn])).toEqual(['w0/0', 'w0/1', 'w1/0'])
  })

  test('is never sent a second time by the transport', async () => {
    const { send, requests } = wallets()
    await send(arrival('rpc', ['only'], 2))
    await send(arrival('rpc', ['only'], 0))
    expect(requests.map(({ isOnce }) => isOnce)).toEqual([true, false])
  })

  test('uses up no sign-in for a list that is open to all', async () => {
    const { send, requests } = wallets()
    await send(arrival('models', ['only'], 2))
    await send(arrival('rpc', ['only'], 2))
    expect(requests.map(({ headers }) => headers[signIn])).toEqual([undefined, 'w0/0'])
  })

  test('waits for its signature, which is lateness and no part of the time at the target', async () => {
    const { send, observations } = wallets(() => ({}), 30)
    await send(arrival('rpc', ['only'], 2))
    expect(observations).toMatchObject([{ dueMs: 0, sentMs: 30, endMs: 40 }])
  })

  test('asks for the balance of its own address', async () => {
    const { send, requests, observations } = wallets()
    await send(arrival('credit', ['only'], 3))
    expect(requests).toMatchObject([{ method: 'GET', path: `/x402/balance/${address}`, headers: { [signIn]: 'w1/0' } }])
    expect(observations).toMatchObject([{ request: { kind: 'wallet-balance', address } }])
  })

  test('a caller with keys has no balance to ask for', async () => {
    const { send, requests, observations } = wallets()
    await send(arrival('credit', ['only'], 0))
    expect(requests).toEqual([])
    expect(observations).toMatchObject([{ outcome: { kind: 'dropped', reason: 'no-credentials' } }])
  })
})

describe('a sign-in that must be refused', () => {
  test.each(['repeated', 'expired', 'other-balance'])('is sent by wallets only: %s', async call => {
    const { send, requests, observations } = wallets()
    await send(arrival(call, ['only'], 0))
    expect(requests).toEqual([])
    expect(observations).toMatchObject([{ outcome: { kind: 'dropped', reason: 'no-credentials' } }])
  })

  test('has its flaw, and the wallet none in the next request', async () => {
    const { send, requests } = wallets()
    await send(arrival('expired', ['only'], 2))
    await send(arrival('rpc', ['only'], 2))
    expect(requests.map(({ headers }) => headers[signIn])).toEqual(['expired-sign-in/0', 'w0/1'])
  })

  test('repeats a sign-in that was accepted, and none that was not', async () => {
    let status = 402
    const { send, requests, observations } = wallets(() => ({ status }))
    await send(arrival('rpc', ['only'], 2))
    await send(arrival('repeated', ['only'], 2))
    expect(observations[1]?.outcome).toMatchObject({ reason: 'no-credentials' })
    status = 200
    await send(arrival('rpc', ['only'], 2))
    await send(arrival('repeated', ['only'], 2))
    expect(requests.map(({ headers }) => headers[signIn])).toEqual(['w0/0', 'w0/1', 'w0/1'])
  })

  test('may be one sign-in in several requests, which are sent at once', async () => {
    const { send, requests, observations } = wallets(() => ({ status: 401 }))
    await send(arrival('raced', ['only', 'only', 'only'], 2))
    await send(arrival('rpc', ['only'], 2))
    expect(requests.map(({ headers }) => headers[signIn])).toEqual(['w0/0', 'w0/0', 'w0/0', 'w0/1'])
    const races = observations.slice(0, 3)
    expect(new Set(races.map(({ sentMs }) => sentMs)).size).toBe(1)
    expect(new Set(races.map(({ id }) => id)).size).toBe(3)
    expect(races.map(({ request }) => request)).toEqual(
      Array(3).fill({ kind: 'probe', probe: 'raced-sign-in', race: races[0]?.id }),
    )
  })

  test('is dropped for a caller with keys', async () => {
    const { send, requests, observations } = wallets()
    await send(arrival('raced', ['only', 'only', 'only'], 0))
    expect(requests).toEqual([])
    expect(observations.map(({ outcome }) => outcome)).toEqual(
      Array(3).fill({ kind: 'dropped', reason: 'no-credentials' }),
    )
  })

  test('is valid itself if another balance is asked for', async () => {
    const { send, requests } = wallets()
    await send(arrival('other-balance', ['only'], 2))
    expect(requests).toMatchObject([{ headers: { [signIn]: 'w0/0' } }])
    expect(requests[0]?.path).not.toContain(address)
  })

  test('is not used up for a probe of other credentials', async () => {
    const { send, requests } = wallets()
    await send(arrival('bad-key', ['only'], 2))
    await send(arrival('rpc', ['only'], 2))
    expect(requests.map(({ headers }) => headers[signIn])).toEqual([undefined, 'w0/0'])
  })
})

test('the form of a sign-in is observed', async () => {
  const { send, observations } = wallets()
  await send(arrival('rpc', ['only'], 2))
  await send(arrival('rpc', ['only'], 0))
  expect(observations.map(each => each.signIn)).toEqual([{ isLegacy: false, layout: 'message' }, undefined])
})

describe('a top-up', () => {
  const target =
    (paid: Reply): NonNullable<Parameters<typeof sendContext>[0]> =>
    ({ headers }) =>
      payment in headers ? paid : { status: 402, text: JSON.stringify(offer) }
  const pay = arrival('pay', ['offer', 'payment'], 2)

  test('only asks how to pay, unless the call says more', async () => {
    const { send, requests, observations } = wallets(target({}))
    await send(arrival('ask', ['only'], 2))
    expect(requests).toHaveLength(1)
    expect(requests[0]?.headers).not.toHaveProperty(payment)
    expect(observations).toMatchObject([
      { request: { kind: 'top-up', step: 'offer', chain: 'base', address, payment: null } },
    ])
  })

  test('pays what the target asked for, and records no signature', async () => {
    const { send, requests, observations } = wallets(target({ text: '{"success":true}' }))
    await send(pay)
    expect(requests.map(({ headers }) => headers[payment])).toEqual([undefined, signedPayment(1)])
    expect(observations.map(({ id, seq, request }) => [id, seq, request.kind === 'top-up' && request.step])).toEqual([
      [40, 40, 'offer'],
      [44, 41, 'payment'],
    ])
    expect(observations[1]?.request).toMatchObject({
      payment: { id: 'w0/1', usd: '5', amount: '5000000', payTo: '0xpayee', isAgain: false },
    })
    expect(JSON.stringify(observations)).not.toContain(signedPayment(1))
  })

  test('pays what a header asks for, if the body does not', async () => {
    const required = Buffer.from(JSON.stringify(offer)).toString('base64')
    const { send, requests } = wallets(({ headers }) =>
      payment in headers ? {} : { status: 402, headers: { 'payment-required': required }, text: '{}' },
    )
    await send(pay)
    expect(requests.map(({ headers }) => headers[payment])).toEqual([undefined, signedPayment(1)])
  })

  test.each([
    [200, signedPayment(2)],
    [400, signedPayment(2)],
    [402, signedPayment(2)],
    [409, signedPayment(1)],
    [429, signedPayment(1)],
    [500, signedPayment(1)],
    [503, signedPayment(1)],
    [504, signedPayment(1)],
  ])('after a %i, the next payment is %s', async (status, next) => {
    const { send, requests, observations } = wallets(target({ status }))
    await send(pay)
    await send({ ...pay, id: 48, seq: 42 })
    expect(requests[3]?.headers[payment]).toBe(next)
    expect(observations[3]?.request).toMatchObject({ payment: { isAgain: next === signedPayment(1) } })
  })

  test('whose settlement was tried and failed sends the same payment again', async () => {
    const { send, requests } = wallets(target({ status: 402, text: '{"error":"SETTLEMENT_FAILED"}' }))
    await send(pay)
    await send({ ...pay, id: 48, seq: 42 })
    expect(requests[3]?.headers[payment]).toBe(signedPayment(1))
  })

  test('whose response is lost sends the same payment again', async () => {
    const { context, send } = wallets(target({}))
    const sent: (string | undefined)[] = []
    const { transport } = context
    const lost: SendContext['transport'] = async (request, signal) => {
      const exchange = await transport(request, signal)
      if (!(payment in request.headers)) return exchange
      sent.push(request.headers[payment])
      return { ...exchange, status: null, headersMs: null, failure: { reason: 'total-timeout', detail: 'no response' } }
    }
    Object.assign(context, { transport: lost })
    await send(pay)
    await send({ ...pay, id: 48, seq: 42 })
    expect(sent).toEqual([signedPayment(1), signedPayment(1)])
  })

  test.each([
    ['again', [10, 20, 30]],
    ['race', [10, 10, 10]],
  ])('may carry the same payment in several requests, every second time in other text: %s', async (call, sentMs) => {
    const { send, requests, observations } = wallets(target({}))
    await send(arrival(call, ['offer', 'payment', 'payment', 'payment'], 2))
    const reordered = encoded('{"payload":{"to":["a"],"number":1},"x402Version":2}')
    expect(requests.map(({ headers }) => headers[payment])).toEqual([
      undefined,
      signedPayment(1),
      reordered,
      signedPayment(1),
    ])
    const paying = observations.slice(1)
    expect(paying.map(each => each.sentMs)).toEqual(sentMs)
    expect(paying.map(({ request }) => request.kind === 'top-up' && request.payment?.isAgain)).toEqual([
      false,
      true,
      true,
    ])
  })

  test.each([
    ['that it was settled before, a new one is signed', { error: 'PAYMENT_ALREADY_USED' }, signedPayment(2)],
    ['the same with a code in an object', { error: { code: 'PAYMENT_ALREADY_USED' } }, signedPayment(2)],
    ['something else, it is sent again', { error: 'PAYMENT_VERIFICATION_FAILED' }, signedPayment(1)],
  ])('whose fate was unknown: if the target then says %s', async (_, body, next) => {
    let paid = 0
    const { send, requests } = wallets(({ headers }) => {
      if (!(payment in headers)) return { status: 402, text: JSON.stringify(offer) }
      return ++paid === 1 ? { status: 504 } : { status: 400, text: JSON.stringify(body) }
    })
    for (const id of [40, 48, 56]) await send({ ...pay, id, seq: id })
    expect(requests.flatMap(({ headers }) => headers[payment] ?? [])).toEqual([
      signedPayment(1),
      signedPayment(1),
      next,
    ])
  })

  test('that one response calls settled is settled, although another was refused', async () => {
    let paid = 0
    const { send, requests } = wallets(({ headers }) => {
      if (!(payment in headers)) return { status: 402, text: JSON.stringify(offer) }
      return { status: ++paid === 1 ? 503 : 200 }
    })
    await send(arrival('race', ['offer', 'payment', 'payment'], 2))
    await send({ ...pay, id: 60, seq: 60 })
    expect(requests.at(-1)?.headers[payment]).toBe(signedPayment(2))
  })

  test.each<[string, Reply]>([
    ['no offer', { status: 402, text: '{}' }],
    ['an offer that is not JSON', { status: 402, text: 'pay!' }],
    ['a header that is no offer', { status: 402, headers: { 'payment-required': 'eyJ' }, text: '{}' }],
    ['no 402', { status: 200, text: JSON.stringify(offer) }],
  ])('pays nothing after %s', async (_, reply) => {
    const { send, requests, observations } = wallets(() => reply)
    await send(pay)
    expect(requests).toHaveLength(1)
    expect(observations.map(({ outcome }) => outcome)).toMatchObject([{ kind: 'answered' }, { reason: 'no-payment' }])
  })

  test('of a caller with keys pays nothing', async () => {
    const { send, observations } = wallets(target({}))
    await send({ ...pay, caller: 0 })
    expect(observations.map(({ outcome }) => outcome)).toMatchObject([{ kind: 'answered' }, { reason: 'no-payment' }])
  })
})
