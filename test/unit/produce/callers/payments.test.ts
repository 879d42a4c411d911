import { expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import type { WalletCaller } from '../../../../src/produce/callers/caller.ts'
import type { PaymentOrder } from '../../../../src/produce/callers/payment-maker.ts'
import { createPayments, type PaymentFate, type SignedPayment } from '../../../../src/produce/callers/payments.ts'

const { wallets: terms } = documentedContract
const asset = terms.rails.base?.asset ?? ''
const wallet: WalletCaller = {
  kind: 'wallet',
  name: 'w0',
  chain: 'base',
  family: 'evm',
  network: 'eip155:8453',
  address: `0x${'12'.repeat(20)}`,
  privateKey: '34'.repeat(32),
}
const option = {
  scheme: 'exact',
  network: 'eip155:8453',
  amount: '5000000',
  asset,
  payTo: '0xpayee',
  maxTimeoutSeconds: 900,
}
const offer = { x402Version: 2, accepts: [{ ...option, network: 'solana:other' }, option] }

function setUp({ limit = 100_000_000_000_000n, signs = true } = {}) {
  const orders: PaymentOrder[] = []
  let paid = 0n
  const payments = createPayments({
    signer: {
      signIns: async () => [],
      payment: async order => (signs ? `signed-${orders.push(order)}` : null),
    },
    terms,
    reserve: amount => {
      if (paid + amount > limit) return false
      paid += amount
      return true
    },
    release: amount => {
      paid -= amount
    },
  })
  const next = (asked: unknown = offer, usd = '5') => payments.next(wallet, asked, { usd, invalid: null })
  const pay = async (fate: PaymentFate): Promise<SignedPayment | null> => {
    const payment = await next()
    payments.close(wallet, fate)
    return payment
  }
  return { payments, orders, next, pay, paidUsd: () => Number(paid) / 1e12 }
}

test('the one way to pay of its chain is signed for, with the amount to pay and no longer than the contract says', async () => {
  const { orders, next } = setUp()
  expect(await next(offer, '7.5')).toEqual({
    header: 'signed-1',
    record: {
      ...{ id: 'w0/1', usd: '7.5', amount: '7500000', payTo: '0xpayee', isAgain: false },
      header: 'PAYMENT-SIGNATURE',
    },
  })
  expect(orders[0]?.offer).toMatchObject({ accepts: [{ ...option, amount: '7500000', maxTimeoutSeconds: 300 }] })
  // A server compares this with its offer.
  expect(orders[0]?.accepted).toEqual({ ...option, amount: '7500000' })
})

test.each([
  ['nothing', null],
  ['no list', { accepts: null }],
  ['another chain', { accepts: [{ ...option, network: 'eip155:1' }] }],
  ['another token', { accepts: [{ ...option, asset: `0x${'99'.repeat(20)}` }] }],
  ['another scheme', { accepts: [{ ...option, scheme: 'upto' }] }],
  ['a transfer that needs an allowance', { accepts: [{ ...option, extra: { assetTransferMethod: 'permit2' } }] }],
  ['no payee', { accepts: [{ ...option, payTo: null }] }],
])('nothing is signed for an offer of %s', async (_, asked) => {
  const { orders, next, paidUsd } = setUp()
  expect(await next(asked)).toBeNull()
  expect([orders.length, paidUsd()]).toEqual([0, 0])
})

test('a payment of unknown fate is sent again as it was, until its fate is known, and then a new one is signed', async () => {
  const { orders, pay, payments, paidUsd } = setUp()
  const first = await pay('unknown')
  expect(payments.isUnknown(wallet)).toBe(true)
  const second = await pay('unsent')
  const third = await pay('settled')
  const again = { ...first, record: { ...first?.record, isAgain: true } }
  expect([second, third]).toEqual([again, again])
  expect([orders.length, paidUsd(), payments.isUnknown(wallet)]).toEqual([1, 5, false])
  expect((await pay('settled'))?.header).toBe('signed-2')
  expect(paidUsd()).toBe(10)
})

test('a payment of unknown fate is not replaced after a refusal, because the first attempt may still be settled', async () => {
  const { orders, pay, payments, paidUsd } = setUp()
  const first = await pay('unknown')
  const again = { ...first, record: { ...first?.record, isAgain: true } }
  expect([await pay('refused'), await pay('refused')]).toEqual([again, again])
  expect([orders.length, paidUsd(), payments.isUnknown(wallet)]).toEqual([1, 5, true])
})

test('a payment that never left is signed anew, and does not count', async () => {
  const { pay, paidUsd } = setUp()
  await pay('unsent')
  expect(paidUsd()).toBe(0)
  expect((await pay('settled'))?.record.isAgain).toBe(false)
  expect(paidUsd()).toBe(5)
})

test('a refused payment stays counted, because its signature is out of hand', async () => {
  const { pay, paidUsd } = setUp()
  await pay('refused')
  expect(paidUsd()).toBe(5)
})

test('a wallet has one payment at a time', async () => {
  const { next, orders } = setUp()
  const both = await Promise.all([next(), next()])
  expect(both.map(payment => payment?.header)).toEqual(['signed-1', undefined])
  expect(orders).toHaveLength(1)
})

test('the run never pays more than it may', async () => {
  const { pay, orders } = setUp({ limit: 9_000_000_000_000n })
  await pay('settled')
  expect(await pay('settled')).toBeNull()
  expect(orders).toHaveLength(1)
})

test('what could not be signed does not count', async () => {
  const { next, paidUsd } = setUp({ signs: false })
  expect(await next()).toBeNull()
  expect(paidUsd()).toBe(0)
})

test('the payments of a wallet use the headers of the contract in turn, and one that is sent again keeps its header', async () => {
  const { pay } = setUp()
  const fates: readonly PaymentFate[] = ['settled', 'unknown', 'settled', 'settled', 'settled']
  const headers: unknown[] = []
  for (const fate of fates) headers.push((await pay(fate))?.record.header)
  expect(headers).toEqual(['PAYMENT-SIGNATURE', 'X-402-Payment', 'X-402-Payment', 'X-PAYMENT', 'PAYMENT-SIGNATURE'])
})

test('a payment that is wrong on purpose counts as paid, whatever becomes of it, and does not stay in the way', async () => {
  const { payments, orders, next, paidUsd } = setUp()
  const wrong = await payments.next(wallet, offer, { usd: '6', invalid: 'tampered' })
  expect([orders[0]?.invalid, wrong?.record.invalid]).toEqual(['tampered', 'tampered'])
  payments.close(wallet, 'unknown')
  expect([payments.isUnknown(wallet), paidUsd()]).toEqual([false, 6])
  expect((await next())?.record).toMatchObject({ id: 'w0/2', usd: '5', isAgain: false })
})

test('a payment that is wrong on purpose is sent again as it was for the same order, and a refusal settles it', async () => {
  const { payments, orders, next } = setUp()
  const order = { usd: '6', invalid: 'tampered' } as const
  const first = await payments.next(wallet, offer, order)
  payments.close(wallet, 'unknown')
  const again = await payments.next(wallet, offer, order)
  expect([again?.header, again?.record.isAgain, orders.length]).toEqual([first?.header, true, 1])
  payments.close(wallet, 'refused')
  expect((await payments.next(wallet, offer, order))?.record).toMatchObject({ id: 'w0/2', isAgain: false })
  payments.close(wallet, 'unknown')
  expect((await next())?.record).toMatchObject({ id: 'w0/3', isAgain: false })
})

test('nothing wrong is signed while the fate of a right payment is unknown', async () => {
  const { payments, orders, pay } = setUp()
  await pay('unknown')
  expect(await payments.next(wallet, offer, { usd: '6', invalid: 'tampered' })).toBeNull()
  expect([orders.length, payments.isUnknown(wallet)]).toEqual([1, true])
})
