import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import {
  batchBody,
  batchObserved,
  failedClauses,
  failsEach,
  failure,
  judgedCount,
  observed,
  passesEach,
  refused,
  responseOf,
  result,
  rpcHeaders,
  singleDescriptor,
  singleObserved,
} from './observed.ts'

const costing = (credits: string | undefined, usd: string | undefined) => ({
  'x-service-rpc-credits': credits,
  'x-service-rpc-cost-usd': usd,
})
const dear = { ...singleDescriptor, items: [{ id: 1, method: 'trace_call', failing: true }] }
const dearFailing = (credits: string, usd: string) =>
  observed(dear, responseOf(200, failure(1), { ...rpcHeaders, ...costing(credits, usd) }))
const withDiscount = (singleErrorIsDiscounted: boolean) => ({
  ...documentedContract,
  rpc: { ...documentedContract.rpc, singleErrorIsDiscounted },
})

describe('credits', () => {
  passesEach({
    'a call with its price': singleObserved(result(1)),
    'a batch with a failed item at 5 credits': batchObserved(batchBody),
    'an odd total, rounded down': batchObserved(batchBody, costing('65', '0.00004062')),
    'an exact cost': batchObserved(batchBody, costing('65', '0.000040625')),
    'an approximate price': singleObserved(result(1), costing('20', '0.00001255')),
    'a failed single call at the full price': dearFailing('40', '0.000025'),
    'a failed single call at the price of a failed item': dearFailing('5', '0.00000313'),
    'a replay with any credits': observed(
      { ...singleDescriptor, replay: { group: 4, role: 'duplicate', concurrent: false } },
      responseOf(200, result(1), { ...rpcHeaders, ...costing('0', '0'), 'idempotent-replayed': 'true' }),
    ),
    'a method that is not on a list': observed(
      { ...singleDescriptor, items: [{ id: 1, method: 'zks_L1ChainId', failing: false }] },
      responseOf(200, result(1), rpcHeaders),
    ),
    'a network that is not on a list': observed(
      { ...singleDescriptor, network: 'robinhood-mainnet' },
      responseOf(200, result(1), rpcHeaders),
    ),
  })

  failsEach({
    'no credits': [
      'rpc.credits.header',
      'x-service-rpc-credits is nothing, expected an integer',
      singleObserved(result(1), costing(undefined, '0.0000125')),
    ],
    'credits with decimals': [
      'rpc.credits.header',
      'x-service-rpc-credits is "20.00", expected an integer',
      singleObserved(result(1), costing('20.00', '0.0000125')),
    ],
    'more credits than any sum': [
      'rpc.credits.header',
      `x-service-rpc-credits is "${'9'.repeat(76)}..., expected at most 100 digits`,
      singleObserved(result(1), costing('9'.repeat(101), '0.0000125')),
    ],
    'a cost beyond any sum': [
      'rpc.cost.amount',
      '20 credits cost more than 100 digits of USD, expected about 0.0000125',
      singleObserved(result(1), costing('20', '9'.repeat(101))),
    ],
    'no cost': [
      'rpc.cost.header',
      'x-service-rpc-cost-usd is nothing, expected a decimal string',
      singleObserved(result(1), costing('20', undefined)),
    ],
    'a cost in exponents': [
      'rpc.cost.header',
      'x-service-rpc-cost-usd is "1.25e-5", expected a decimal string',
      singleObserved(result(1), costing('20', '1.25e-5')),
    ],
    'a call at the price of another tier': [
      'rpc.credits.amount',
      '40 credits for eth_call on ethereum-mainnet, expected 20',
      singleObserved(result(1), costing('40', '0.000025')),
    ],
    'a batch without the price of an item': [
      'rpc.credits.amount',
      '45 credits for a batch of 3 on ethereum-mainnet, expected 65',
      batchObserved(batchBody, costing('45', '0.00002813')),
    ],
    'a failed single call at neither price': [
      'rpc.credits.amount',
      '20 credits for trace_call on ethereum-mainnet, expected 5 or 40',
      dearFailing('20', '0.0000125'),
    ],
    'a failed item at the full price': [
      'rpc.batch.error-price',
      '80 credits for a batch with 1 failed item, expected 65',
      batchObserved(batchBody, costing('80', '0.00005')),
    ],
    'a failed item for free': [
      'rpc.batch.error-price',
      '60 credits for a batch with 1 failed item, expected 65',
      batchObserved(batchBody, costing('60', '0.0000375')),
    ],
    'credits that cost 1 % more': [
      'rpc.cost.amount',
      '2000 credits cost 0.0012625 USD, expected about 0.00125',
      observed(
        {
          ...singleDescriptor,
          batch: true,
          items: Array.from({ length: 100 }, (_, id) => ({ id, method: 'eth_call', failing: false })),
        },
        responseOf(
          200,
          Array.from({ length: 100 }, (_, id) => result(id)),
          { ...rpcHeaders, ...costing('2000', '0.0012625') },
        ),
      ),
    ],
  })

  test('if the contract gives the price of a failed single call, the other price is wrong', () => {
    const [inFull, discounted] = [dearFailing('40', '0.000025'), dearFailing('5', '0.00000313')]
    expect(failedClauses(inFull, withDiscount(false))).toEqual({})
    expect(failedClauses(discounted, withDiscount(true))).toEqual({})
    expect(failedClauses(inFull, withDiscount(true))).toEqual({
      'rpc.credits.amount': '40 credits for trace_call on ethereum-mainnet, expected 5',
    })
    expect(failedClauses(discounted, withDiscount(false))).toEqual({
      'rpc.credits.amount': '5 credits for trace_call on ethereum-mainnet, expected 40',
    })
  })

  test('no amount is asserted if responses cannot be matched with items', () => {
    expect(judgedCount('rpc.credits.amount', batchObserved([result(1)]))).toBe(0)
  })
})

describe('the rejection of a whole request', () => {
  const probe = { kind: 'probe', probe: 'unlisted-method' } as const
  const toChat = { kind: 'probe', probe: 'model-missing' } as const
  passesEach({
    'without credits': refused(singleDescriptor, 400),
    'with no credits': refused(probe, 400, { error: 'No' }, costing('0', '0')),
    'by a service that fails': refused(singleDescriptor, 503, { error: 'No' }, costing('20', '0.0000125')),
    'of a completion, which has other prices': refused(toChat, 400, { error: 'No' }, costing('20', '0.0000125')),
  })
  failsEach(
    Object.fromEntries(
      [400, 402, 429].map(status => [
        `that states a charge on a ${status}`,
        [
          'rpc.refused.free',
          `x-service-rpc-credits is 5 on a ${status}, expected no charge`,
          refused(probe, status, { error: 'No', code: 'INSUFFICIENT_BALANCE' }, costing('5', '0.00000313')),
        ] as const,
      ]),
    ),
  )
  test('without credits shows nothing about its charge', () => {
    expect(judgedCount('rpc.refused.free', refused(probe, 400))).toBe(0)
    expect(judgedCount('rpc.refused.free', refused(probe, 400, { error: 'No' }, costing('0', '0')))).toBe(1)
  })
})
