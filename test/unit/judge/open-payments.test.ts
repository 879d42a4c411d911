import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { createOpenPayments } from '../../../src/judge/open-payments.ts'
import type { FailureReason, Observation } from '../../../src/observation/observation.ts'
import { observed, responseOf } from './checks/observed.ts'
import { judgedRunOf } from './judged-run.ts'
import { anObservation } from './metrics/fixtures.ts'

const payment = (id: string) =>
  ({
    kind: 'top-up',
    step: 'payment',
    chain: 'base',
    address: '0xpayer',
    payment: { id, usd: '5', amount: '5000000', payTo: '0xpayee', isAgain: false },
  }) as const
const answered = (status: number, body: unknown = {}, id = 'w0/1') => observed(payment(id), responseOf(status, body))
const lost = (reason: FailureReason) =>
  observed(payment('w0/1'), null, { headersMs: null, outcome: { kind: 'failed', reason, detail: '' } })
const openIn = (observations: readonly Observation[]) => {
  const payments = createOpenPayments(documentedContract)
  observations.forEach(payments.add)
  return payments.list().map(({ id }) => id)
}
const replayed = { error: 'PAYMENT_ALREADY_USED' }

describe('the outcome of a payment', () => {
  test.each<[string, readonly Observation[]]>([
    ['a timeout', [lost('total-timeout')]],
    ['a lost connection', [lost('connection-lost')]],
    ['a 504', [answered(504)]],
    ['a 409, since it may be settled now', [answered(409)]],
    ['a settlement that failed', [answered(402, { error: 'SETTLEMENT_FAILED' })]],
    ['a redirect', [answered(302)]],
    ['a timeout, and then a refusal of the same payment', [lost('total-timeout'), answered(402)]],
  ])('is unknown after %s', (_, observations) => {
    expect(openIn(observations)).toEqual(['w0/1'])
  })

  test.each<[string, readonly Observation[]]>([
    ['a settlement', [answered(200)]],
    ['a refusal', [answered(400)]],
    ['a timeout, and then a settlement', [lost('total-timeout'), answered(200)]],
    ['a timeout, and then a response that it was settled', [lost('total-timeout'), answered(400, replayed)]],
    ['a settlement, and then an outage', [answered(200), answered(503)]],
    ['a connection that was refused', [lost('connect-refused')]],
    ['an offer', [observed({ ...payment('w0/1'), step: 'offer', payment: null }, responseOf(402, {}))]],
  ])('is known after %s', (_, observations) => {
    expect(openIn(observations)).toEqual([])
  })

  test('is that of each payment', () => {
    expect(openIn([answered(503, {}, 'w0/1'), answered(200, {}, 'w0/2'), answered(504, {}, 'w1/1')])).toEqual([
      'w0/1',
      'w1/1',
    ])
  })
})

describe('a run with payments of unknown outcome', () => {
  const openPayments = Array.from({ length: 7 }, (_, index) => ({ id: `w${index}/1`, usd: '7.5' }))

  test('is inconclusive, and says how much may be spent', () => {
    expect(judgedRunOf([anObservation()], { openPayments: openPayments.slice(0, 1) })).toMatchObject({
      verdict: 'inconclusive',
      reasons: [
        'The outcome of 1 payment is unknown (w0/1): $7.5 may be spent. Read the balance of each wallet before you pay again.',
      ],
    })
  })

  test('names a few of many', () => {
    expect(judgedRunOf([anObservation()], { openPayments }).reasons).toEqual([
      'The outcome of 7 payments is unknown (w0/1, w1/1, w2/1, w3/1, w4/1, and 2 more): $52.5 may be spent. Read the balance of each wallet before you pay again.',
    ])
  })
})
