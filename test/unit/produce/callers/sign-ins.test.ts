import { expect, test } from 'vitest'
import { sleepUntil } from '../../../../src/lib/clock.ts'
import type { WalletCaller } from '../../../../src/produce/callers/caller.ts'
import { createSignIns, type SignInsOptions } from '../../../../src/produce/callers/sign-ins.ts'
import type { SignInOrder } from '../../../../src/produce/callers/signer.ts'
import { manualClock } from '../../../support/manual-clock.ts'

const walletNamed = (name: string): WalletCaller => ({
  kind: 'wallet',
  name,
  chain: 'base',
  family: 'evm',
  network: 'eip155:8453',
  address: `0x${'12'.repeat(20)}`,
  privateKey: '34'.repeat(32),
})
const wallets = ['w0', 'w1'].map(walletNamed)
const [w0 = walletNamed('w0'), w1 = walletNamed('w1')] = wallets

/** A pool whose signer takes `signMs` for each signature, one after the other. */
function pool({ signMs = 1, ahead = 8, validityMs = 300_000, fails = false }) {
  const clock = manualClock()
  const orders: SignInOrder[] = []
  let freeMs = 0
  const signer: SignInsOptions['signer'] = {
    signIns: async order => {
      orders.push(order)
      freeMs = Math.max(freeMs, clock.nowMs()) + signMs * order.count
      await sleepUntil(clock, freeMs)
      if (fails) throw new Error('the signer has ended')
      return Array.from({ length: order.count }, (_, index) => `${order.wallet}/${order.firstNonce + index}`)
    },
    payment: async () => null,
  }
  const signIns = createSignIns({ wallets, signer, clock, header: 'SIGN-IN-WITH-X', validityMs, ahead })
  /** The value that a wallet takes, and how long it waited. */
  const take = async (wallet: WalletCaller) => {
    const startMs = clock.nowMs()
    const headers = await clock.run(Promise.resolve(signIns.take(wallet)))
    return [headers['SIGN-IN-WITH-X'], clock.nowMs() - startMs] as const
  }
  return { clock, orders, signIns, take }
}

test('nobody waits for what was signed ahead, and everybody takes another sign-in', async () => {
  const { clock, signIns, take } = pool({})
  await clock.run(signIns.fill())
  const taken = [await take(w0), await take(w0), await take(w1), await take(w0)]
  expect(taken).toEqual([
    ['w0/0', 0],
    ['w0/1', 0],
    ['w1/0', 0],
    ['w0/2', 0],
  ])
})

test('what was taken is signed again when half of it is left, in the meantime', async () => {
  const { clock, orders, signIns, take } = pool({})
  await clock.run(signIns.fill())
  expect(orders.map(({ count }) => count)).toEqual([8, 8])
  for (let at = 0; at < 3; at++) await take(w0)
  expect(orders).toHaveLength(2)
  await take(w0)
  expect(orders[2]).toMatchObject({ wallet: 'w0', firstNonce: 8, count: 4 })
})

test('no nonce is signed twice, even if requests wait', async () => {
  const { clock, orders, signIns } = pool({ signMs: 3, ahead: 4 })
  const all = Array.from({ length: 40 }, () => signIns.take(w0))
  const values = (await clock.run(Promise.all(all))).map(headers => headers['SIGN-IN-WITH-X'])
  expect(values).toEqual(Array.from({ length: 40 }, (_, nonce) => `w0/${nonce}`))
  expect(orders.every(({ firstNonce }, index) => firstNonce === sumBefore(orders, index))).toBe(true)
})

const sumBefore = (orders: readonly SignInOrder[], index: number) =>
  orders.slice(0, index).reduce((sum, { count }) => sum + count, 0)

test('a request waits if nothing is signed yet, for its own signature and the next one', async () => {
  const { take } = pool({ signMs: 2, ahead: 1 })
  expect(await take(w0)).toEqual(['w0/0', 4])
})

test('many are ordered in parts, so that the first one comes early', async () => {
  const { take } = pool({ signMs: 1, ahead: 100 })
  expect(await take(w0)).toEqual(['w0/0', 16])
})

test('a sign-in that is too old is never sent', async () => {
  const { clock, signIns, take } = pool({ validityMs: 10_000 })
  await clock.run(signIns.fill())
  await clock.advanceTo(7_400)
  expect(await take(w0)).toEqual(['w0/0', 0])
  await clock.advanceTo(7_600)
  const [value, waitedMs] = await take(w0)
  expect(value).not.toBe('w0/1')
  expect(waitedMs).toBeGreaterThan(0)
})

test('in a pause, old ones are replaced before anybody needs them', async () => {
  const { clock, signIns, take } = pool({ validityMs: 10_000 })
  await clock.run(signIns.fill())
  const stop = signIns.keepFresh()
  await clock.advanceTo(60_000)
  const [value, waitedMs] = await take(w0)
  expect([value === 'w0/0', waitedMs]).toEqual([false, 0])
  stop()
})

test('a signer that ends fails those that wait, and those that come later', async () => {
  const { take } = pool({ fails: true })
  await expect(take(w0)).rejects.toThrow('the signer has ended')
  await expect(take(w0)).rejects.toThrow('the signer has ended')
})
