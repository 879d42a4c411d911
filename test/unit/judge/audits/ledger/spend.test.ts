import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../../src/contract/documented.ts'
import { chargeOf } from '../../../../../src/judge/audits/ledger/charge.ts'
import { createSpendOf, spendOf } from '../../../../../src/judge/audits/ledger/spend.ts'
import { pico } from '../../../../../src/lib/money.ts'
import type { FailureReason, Observation } from '../../../../../src/observation/observation.ts'
import type { PaymentRecord } from '../../../../../src/observation/requests/wallets.ts'
import {
  chatDescriptor,
  chatObserved,
  completion,
  observed,
  refused,
  responseOf,
  rpcHeaders,
  singleDescriptor,
  singleObserved,
} from '../../checks/observed.ts'

const spend = (observation: Observation, isShared = false) => spendOf(observation, documentedContract, isShared)
const failed = (reason: FailureReason) =>
  observed(chatDescriptor, null, { headersMs: null, outcome: { kind: 'failed', reason, detail: '' } })
const replayedAs = (role: 'original' | 'duplicate' | 'other-caller', concurrent = false) =>
  observed(
    { ...singleDescriptor, replay: { group: 4, role, concurrent } },
    responseOf(200, {}, { ...rpcHeaders, 'idempotent-replayed': 'true', 'x-service-rpc-cost-usd': '0.50000000' }),
  )
const result = { jsonrpc: '2.0', id: singleDescriptor.items[0]?.id, result: '0x1' }
const claiming = (cost: string | undefined) => singleObserved(result, { 'x-service-rpc-cost-usd': cost })
const badGateway = observed(chatDescriptor, responseOf(502, '', { 'x-service-version': undefined }))
const costing = (cost: unknown, more: object = {}) => chatObserved({ ...completion, cost, ...more })

describe('what a request has cost', () => {
  test.each<[string, Observation, cost: string, isUnknown: boolean]>([
    ['an honest completion: its cost', chatObserved(completion), '0.0003', false],
    ['an honest call: its cost', singleObserved({}), '0.0000125', false],
    ['a call that claims more: its claim', claiming('0.50000000'), '0.50000001', false],
    ['a call that claims less: its credits', claiming('0.00000001'), '0.0000125', false],
    ['a call that claims nothing: its credits, or its maximum', claiming(undefined), '0.0000125', true],
    ['a call with a negative cost: its credits, or its maximum', claiming('-5'), '0.0000125', true],
    ['a call with an absurd cost: its credits, or its maximum', claiming('1e300'), '0.0000125', true],
    ['a call with a text as cost: its credits, or its maximum', claiming('free'), '0.0000125', true],
    ['a completion that claims more: its claim', costing({ usd: 0.25, diem: 0.25 }), '0.5', false],
    ['a completion that claims nothing: its tokens, or its maximum', costing(undefined), '0.0003', true],
    ['a completion with a negative cost: its tokens, or its maximum', costing({ usd: -3, diem: 0 }), '0.0003', true],
    ['a completion with a text as cost: its tokens, or its maximum', costing('none'), '0.0003', true],
    ['a completion with texts as costs: its tokens, or its maximum', costing({ usd: '0', diem: '0' }), '0.0003', true],
    [
      'a completion with an infinite cost: the same',
      costing({ usd: Number.POSITIVE_INFINITY, diem: 0 }),
      '0.0003',
      true,
    ],
    ['a completion with an absurd cost: the same', costing({ usd: 1e300, diem: 0 }), '0.0003', true],
    [
      'a completion for nothing with tokens that cannot be read: its maximum',
      costing(
        { usd: 0, diem: 0 },
        { usage: { prompt_tokens: -5, completion_tokens: Number.POSITIVE_INFINITY, total_tokens: 3 } },
      ),
      '0',
      true,
    ],
    [
      'a call with an unreadable cost and many credits: the price of these credits',
      singleObserved(result, { 'x-service-rpc-cost-usd': 'NaN', 'x-service-rpc-credits': '800000' }),
      '0.5',
      true,
    ],
    [
      'a call with more credits than any sum: its claim, or its maximum',
      singleObserved(result, { 'x-service-rpc-credits': '9'.repeat(101) }),
      '0.0000126',
      true,
    ],
    [
      'a call with credits in an exponent: its claim, or its maximum',
      singleObserved(result, { 'x-service-rpc-credits': '1e400' }),
      '0.0000126',
      true,
    ],
    ['a call with a hexadecimal cost: its credits, or its maximum', claiming('0x10'), '0.0000125', true],
    ['a call with two costs: its credits, or its maximum', claiming('0.1, 0.2'), '0.0000125', true],
    ['a completion without cost and usage: its maximum', costing(undefined, { usage: undefined }), '0', true],
    ['a replay: nothing', replayedAs('duplicate'), '0', false],
    ['a concurrent request that is a replay: nothing', replayedAs('original', true), '0', false],
    ['a first request that claims to be a replay: its claim', replayedAs('original'), '0.50000001', false],
    ['another caller that claims to be a replay: its claim', replayedAs('other-caller'), '0.50000001', false],
    ['a refusal: nothing', refused(chatDescriptor, 400, { error: 'No' }), '0', false],
    [
      'a refusal that claims a cost: its claim',
      refused(singleDescriptor, 400, { error: 'No' }, { ...rpcHeaders, 'x-service-rpc-cost-usd': '0.50000000' }),
      '0.50000001',
      false,
    ],
    [
      'a list that claims a cost: its claim',
      observed({ kind: 'rate-limits' }, responseOf(200, {}, { 'x-service-rpc-cost-usd': '0.50000000' })),
      '0.50000001',
      false,
    ],
    ['a list: nothing', observed({ kind: 'rate-limits' }, responseOf(200, {}, {})), '0', false],
    ['an error of a gateway: its maximum', badGateway, '0', true],
    ['a timeout after sending: its maximum', failed('total-timeout'), '0', true],
  ])('%s', (_, observation, cost, isUnknown) => {
    expect(spend(observation)).toMatchObject({ cost: pico(cost), isUnknown })
  })

  test('is nothing if it was never sent', () => {
    expect(spend(failed('connect-refused'))).toBeNull()
    expect(spend(observed(singleDescriptor, null, { sentMs: null, endMs: null, headersMs: null }))).toBeNull()
  })
})

test('a request without a response may still be charged', () => {
  expect(spend(failed('total-timeout'))?.isUnanswered).toBe(true)
  expect(spend(badGateway)?.isUnanswered).toBe(true)
  expect(spend(singleObserved({}))?.isUnanswered).toBe(false)
})

const noneShown = { 'x-service-balance-usd': undefined, 'x-service-balance-diem': undefined }

describe('the balances of a response', () => {
  const shown = (headers: Readonly<Record<string, string>>, status = 200) =>
    observed({ kind: 'rate-limits' }, responseOf(status, {}, { ...noneShown, ...headers }))

  test.each<[string, Observation, balances: readonly (bigint | null)[]]>([
    ['both', shown({ 'x-service-balance-usd': '9.5', 'x-service-balance-diem': '2' }), [pico(9.5), pico(2), null]],
    ['one', shown({ 'x-service-balance-usd': '9.5' }), [pico(9.5), null, null]],
    ['the rest', shown({ 'x-balance-remaining': '7' }), [null, null, pico(7)]],
    [
      'the rest besides others',
      shown({ 'x-service-balance-usd': '9', 'x-balance-remaining': '7' }),
      [pico(9), null, null],
    ],
    ['below zero', shown({ 'x-service-balance-usd': '-3' }), [pico(-3), null, null]],
    ['in words', shown({ 'x-service-balance-usd': 'plenty' }), [null, null, null]],
    ['with an error', shown({ 'x-service-balance-usd': '9' }, 500), [pico(9), null, null]],
    ['without valid credentials', shown({ 'x-service-balance-usd': '9' }, 401), [null, null, null]],
    [
      'of another account',
      observed({ kind: 'probe', probe: 'empty-account' }, responseOf(402, {}, { 'x-service-balance-usd': '0' })),
      [null, null, null],
    ],
  ])('%s', (_, observation, balances) => {
    expect(spend(observation)?.balances).toEqual(balances)
  })

  test('do not count if others use the account', () => {
    expect(spend(shown({ 'x-service-balance-usd': '9.5' }), true)?.balances).toEqual([null, null, null])
  })
})

test.each(['-5', '-0.0000125', '1e300', '1000001'])('the ledger takes no claim from a cost of %s', cost => {
  expect(chargeOf(claiming(cost), documentedContract)).toBeNull()
})

test('an infinite cost is no claim', () => {
  expect(chargeOf(costing({ usd: Number.POSITIVE_INFINITY, diem: 0 }), documentedContract)).toBeNull()
})

describe('what a payment of a wallet has cost', () => {
  const payment = { id: 'w0/1', usd: '5', amount: '5000000', payTo: '0xpayee', isAgain: false }
  const topUp = { kind: 'top-up', step: 'payment', chain: 'base', address: '0xpayer', payment } as const
  const costOf = (observation: Observation) => spend(observation)?.cost

  test.each([200, 302, 408, 409, 425, 429, 500, 503, 504])('its amount after a %i: it may be settled', status => {
    expect(costOf(observed(topUp, responseOf(status, {})))).toBe(pico('5'))
  })

  test.each([400, 402, 403])('nothing after a %i: it was refused', status => {
    expect(costOf(observed(topUp, responseOf(status, {})))).toBe(0n)
  })

  test.each<Partial<PaymentRecord>>([{ invalid: 'other-resource' }, { usd: '4.99' }])(
    'its amount even after a refusal, if it was sent to be refused: %o',
    wrong => {
      const { usd, ...more } = { ...payment, ...wrong }
      const refused = observed({ ...topUp, payment: { usd, ...more } }, responseOf(400, {}))
      expect(costOf(refused)).toBe(pico(usd))
    },
  )

  test('its amount without a response', () => {
    const outcome = { kind: 'failed', reason: 'connection-lost', detail: '' } as const
    expect(costOf(observed(topUp, null, { headersMs: null, outcome }))).toBe(pico('5'))
  })

  test('nothing if it is sent again, since it was counted before', () => {
    const again = { ...topUp, payment: { ...payment, isAgain: true } }
    expect(costOf(observed(again, responseOf(200, {})))).toBe(0n)
  })

  test('nothing if it only asks how to pay', () => {
    expect(costOf(observed({ ...topUp, step: 'offer', payment: null }, responseOf(402, {})))).toBe(0n)
  })

  test.each([
    ['after a refusal of the first', [400, 200]],
    ['after two that may have been settled', [409, 200, 503]],
    ['if the first one was settled', [200, 400]],
  ])('counts once in a run: %s', (_, statuses) => {
    const spendIn = createSpendOf(documentedContract, false)
    const costs = statuses.map((status, index) => {
      const each = { ...topUp, payment: { ...payment, isAgain: index > 0 } }
      return spendIn(observed(each, responseOf(status, {})))?.cost ?? 0n
    })
    expect(costs.reduce((sum, cost) => sum + cost, 0n)).toBe(pico('5'))
  })

  test.each([
    ['a settlement that failed', 402, 'SETTLEMENT_FAILED', '5'],
    ['a replay, which was settled before', 400, 'PAYMENT_ALREADY_USED', '5'],
    ['a refusal', 400, 'PAYMENT_VERIFICATION_FAILED', '0'],
  ])('counts in a run after %s, as far as it may be settled', (_, status, error, usd) => {
    const spendIn = createSpendOf(documentedContract, false)
    expect(spendIn(observed(topUp, responseOf(status, { error })))?.cost).toBe(pico(usd))
  })

  test('counts once although its first request never left', () => {
    const spendIn = createSpendOf(documentedContract, false)
    const outcome = { kind: 'failed', reason: 'connect-refused', detail: '' } as const
    const again = { ...topUp, payment: { ...payment, isAgain: true } }
    expect(spendIn(observed(topUp, null, { headersMs: null, outcome }))).toBeNull()
    expect(spendIn(observed(again, responseOf(200, {})))?.cost).toBe(pico('5'))
  })
})
