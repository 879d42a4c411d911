import { describe, expect, test } from 'vitest'
import { sleepUntil } from '../../../../src/lib/clock.ts'
import type { WalletCaller } from '../../../../src/produce/callers/caller.ts'
import { createSignIns, type SignInsOptions } from '../../../../src/produce/callers/sign-ins.ts'
import type { SignInOrder } from '../../../../src/produce/callers/signer.ts'
import { manualClock } from '../../../../src/prove/manual-clock.ts'

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

type Options = {
  readonly signMs?: number
  readonly ahead?: number
  readonly validityMs?: number
  readonly fails?: boolean
  readonly legacyHeader?: string | null
  readonly layouts?: SignInsOptions['terms']['layouts']
}

/** A pool whose signer takes `signMs` for each signature, one after the other. */
function pool({
  signMs = 1,
  ahead = 8,
  validityMs = 300_000,
  fails = false,
  legacyHeader = null,
  layouts = ['message'],
}: Options) {
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
  const terms = { header: 'SIGN-IN-WITH-X', legacyHeader, layouts, validityMs }
  const signIns = createSignIns({ wallets, signer, clock, terms, ahead })
  /** The value that a wallet takes, and how long it waited. */
  const take = async (wallet: WalletCaller) => {
    const startMs = clock.nowMs()
    const { headers } = await clock.run(Promise.resolve(signIns.take(wallet)))
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
  const values = (await clock.run(Promise.all(all))).map(({ headers }) => headers['SIGN-IN-WITH-X'])
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

describe('the form of sign-ins', () => {
  const layouts: Options['layouts'] = ['message', 'fields']
  const formsOf = async (options: Options) => {
    const { clock, signIns } = pool({ ahead: 32, ...options })
    const taken = await clock.run(Promise.all(Array.from({ length: 16 }, () => signIns.take(w0))))
    return taken.map(({ headers, form }) => ({ ...form, header: Object.keys(headers)[0] }))
  }

  test('is another one twice in eight: in the legacy header, and with the other layout', async () => {
    const forms = await formsOf({ legacyHeader: 'X-Old', layouts })
    for (const row of [forms.slice(0, 8), forms.slice(8)]) {
      expect(row.filter(({ isLegacy }) => isLegacy)).toMatchObject([{ header: 'X-Old', layout: 'message' }])
      expect(row.filter(({ layout }) => layout === 'fields')).toMatchObject([{ header: 'SIGN-IN-WITH-X' }])
    }
    expect(await formsOf({ legacyHeader: 'X-Old', layouts })).toEqual(forms)
  })

  test('is always the same if the contract has only one', async () => {
    const forms = await formsOf({ layouts: ['fields'] })
    expect(new Set(forms.map(form => JSON.stringify(form))).size).toBe(1)
    expect(forms[0]).toEqual({ header: 'SIGN-IN-WITH-X', layout: 'fields', isLegacy: false })
  })
})

describe('a sign-in that must be refused', () => {
  test('is signed when it is needed, with a nonce of its own', async () => {
    const { clock, orders, signIns, take } = pool({ ahead: 1 })
    await take(w0)
    const signIn = await clock.run(Promise.resolve(signIns.takeBad(w0, 'expired-sign-in')))
    const bad = orders.find(({ flaw }) => flaw !== undefined)
    expect(bad).toMatchObject({ wallet: 'w0', count: 1, flaw: 'expired-sign-in' })
    expect(signIn?.headers).toEqual({ 'SIGN-IN-WITH-X': `w0/${bad?.firstNonce}` })
    expect(orders.filter(({ flaw }) => flaw === undefined).map(({ firstNonce }) => firstNonce)).not.toContain(
      bad?.firstNonce,
    )
  })

  test('repeats the last one that its wallet got accepted, while that is valid', async () => {
    const { clock, signIns } = pool({ validityMs: 10_000 })
    expect(signIns.takeBad(w0, 'repeated-sign-in')).toBeNull()
    const first = await clock.run(Promise.resolve(signIns.take(w0)))
    signIns.accepted(w0, first)
    expect(signIns.takeBad(w0, 'repeated-sign-in')).toBe(first)
    expect(signIns.takeBad(w1, 'repeated-sign-in')).toBeNull()
    await clock.advanceTo(7_600)
    expect(signIns.takeBad(w0, 'repeated-sign-in')).toBeNull()
  })
})
