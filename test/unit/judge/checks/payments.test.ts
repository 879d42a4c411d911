import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { checkPayments } from '../../../../src/judge/checks/payments.ts'
import { createFindingLog } from '../../../../src/judge/findings/findings.ts'
import type { PaymentRecord } from '../../../../src/observation/requests/wallets.ts'
import { observed, responseOf } from './observed.ts'

const right: PaymentRecord = { id: 'w0/1', usd: '5', amount: '5000000', payTo: '0xpayee', isAgain: false }
const accepted = { success: true, data: { amountCredited: 5, newBalance: 8, paymentId: 'p1' } }
const offer = { x402Version: 2, accepts: [{}] }

const payer = '0xAbCdEf0123456789abcdef0123456789ABCDEF01'
const settlement = { success: true, network: 'eip155:8453', payer, transaction: `0x${'a1'.repeat(32)}` }

/** The header with the result of a payment. */
function settled(more: Readonly<Record<string, unknown>> = {}) {
  return { 'payment-response': Buffer.from(JSON.stringify({ ...settlement, ...more })).toString('base64') }
}

/** The clauses that the response to a payment passes, and those that it fails with their messages. */
function judgedOf(
  status: number,
  body: unknown,
  more: Partial<PaymentRecord> = {},
  headers: Readonly<Record<string, string>> = settled(),
) {
  const findingLog = createFindingLog()
  const payment = { ...right, ...more }
  const request = { kind: 'top-up', step: 'payment', chain: 'base', address: payer, payment } as const
  const observation = { ...observed(request, responseOf(status, body, status < 300 ? headers : {})), request }
  checkPayments(observation, documentedContract, findingLog.reporterFor('payments'))
  return {
    passed: findingLog.tallies().flatMap(({ id, verdict }) => (verdict === 'pass' ? id : [])),
    open: findingLog
      .tallies()
      .flatMap(({ id, because }) => (because?.kind === 'not-judged' ? `${id}: ${because.text}` : [])),
    failed: findingLog.findings().map(({ clause, message }) => `${clause}: ${message}`),
  }
}

test('a payment of which the response states no amount leaves its credit to the balances', () => {
  expect(judgedOf(200, {}).open).toEqual([expect.stringMatching(/^wallet.top-up.credit: .* state no amountCredited/)])
  expect(judgedOf(200, accepted).open).toEqual([])
  expect(judgedOf(200, {}, { isAgain: true }).open).toEqual([])
})

describe('a right payment', () => {
  test.each<[what: string, status: number, body: unknown, more?: Partial<PaymentRecord>]>([
    ['that is credited', 200, accepted],
    ['of which nothing is stated', 200, {}],
    ['whose amount is a text', 201, { amountCredited: '5.00' }],
    ['that the chain does not settle', 402, { error: 'SETTLEMENT_FAILED', ...offer }],
    ['of a wallet without funds', 400, { error: 'PAYMENT_VERIFICATION_FAILED' }],
    ['that is in progress', 409, { error: 'PAYMENT_IN_PROGRESS' }],
    ['during an outage', 503, { error: 'X402_NOT_CONFIGURED' }],
    ['in a legacy header', 200, accepted, { header: 'X-PAYMENT' }],
    ['that was sent again', 200, { amountCredited: 0 }, { isAgain: true }],
  ])('%s is spared', (_, status, body, more) => {
    expect(judgedOf(status, body, more).failed).toEqual([])
  })

  test.each<[what: string, message: string, status: number, body: unknown, more?: Partial<PaymentRecord>]>([
    [
      'that is credited with another amount',
      'wallet.top-up.credit: amountCredited is 4.75, expected 5, the amount paid',
      200,
      { data: { amountCredited: 4.75 } },
    ],
    [
      'that gets the requirements again',
      'wallet.top-up.credit: a payment in PAYMENT-SIGNATURE got status 402, expected it to be read',
      402,
      offer,
    ],
    [
      'in a legacy header that gets the requirements again',
      'wallet.top-up.legacy-headers: a payment in X-PAYMENT got status 402, expected it to be read',
      402,
      offer,
      { header: 'X-PAYMENT' },
    ],
    [
      'in a legacy header that gets the requirements again, as the public packages send them',
      'wallet.top-up.legacy-headers: a payment in X-PAYMENT got status 402, expected it to be read',
      402,
      { ...offer, error: 'PAYMENT-SIGNATURE header is required' },
      { header: 'X-PAYMENT' },
    ],
    [
      'that counts as malformed',
      'wallet.top-up.credit: a payment in PAYMENT-SIGNATURE got status 400, expected it to be read',
      400,
      { error: 'INVALID_PAYMENT' },
    ],
  ])('%s fails', (_, message, status, body, more) => {
    expect(judgedOf(status, body, more).failed).toEqual([message])
  })

  test('in a legacy header that is credited shows that the header is read', () => {
    expect(judgedOf(200, accepted, { header: 'X-402-Payment' }).passed).toContain('wallet.top-up.legacy-headers')
  })
})

describe('a payment that must be refused', () => {
  const small = { usd: '4.99', amount: '4990000' }

  test.each<[what: string, status: number, more: Partial<PaymentRecord>]>([
    ['refused as the profile says', 400, small],
    ['refused as the profile says', 400, { invalid: 'tampered' }],
    ['limited in its rate', 429, { invalid: 'tampered' }],
    ['met by an outage', 503, small],
    ['not read', 402, { invalid: 'other-chain' }],
  ])('and is %s is spared: %s', (_, status, more) => {
    expect(judgedOf(status, status === 402 ? offer : { error: 'NO' }, more).failed).toEqual([])
  })

  test.each<[what: string, message: string, status: number, more: Partial<PaymentRecord>]>([
    [
      'below the minimum and accepted',
      'wallet.top-up.least: a payment of 4.99 USD got status 200, expected it to be refused',
      200,
      small,
    ],
    [
      'for another resource and accepted',
      'wallet.top-up.invalid: a payment of 5 USD ("other-resource") got status 200, expected it to be refused',
      200,
      { invalid: 'other-resource' },
    ],
    [
      'refused with another status',
      'wallet.top-up.refusal: a payment of 5 USD ("above-signed") got status 403, expected 400',
      403,
      { invalid: 'above-signed' },
    ],
  ])('and is %s fails', (_, message, status, more) => {
    expect(judgedOf(status, accepted, more).failed).toEqual([message])
  })

  test('shows by its refusal that it is refused, and how', () => {
    expect(judgedOf(400, { error: 'NO' }, small).passed).toEqual(['wallet.top-up.least', 'wallet.top-up.refusal'])
  })
})

describe('the stated settlement of a payment', () => {
  test.each([
    ['with all members', {}],
    ['without a payer', { payer: undefined }],
    ['with the payer in lower case', { payer: payer.toLowerCase() }],
    ['with the short name of its network', { network: 'base' }],
    ['with its amount', { amount: '5000000', extensions: {} }],
  ])('%s is right', (_, more) => {
    const { passed, failed } = judgedOf(200, accepted, {}, settled(more))
    expect(failed).toEqual([])
    expect(passed).toContain('wallet.top-up.result')
  })

  test.each([
    ['is missing', {}, 'is missing, expected base64 of a JSON object'],
    ['is no JSON', { 'payment-response': 'yes' }, 'is "yes", expected base64 of a JSON object'],
    ['is a failure', settled({ success: false }), 'has success false, expected true'],
    ['is on another chain', settled({ network: 'eip155:1' }), 'has the network "eip155:1", expected eip155:8453'],
    ['has no transaction', settled({ transaction: '' }), 'has the transaction "", expected one of base'],
    ['has another payer', settled({ payer: '0x1' }), `has the payer "0x1", expected ${payer}`],
    ['has another amount', settled({ amount: '1' }), 'has the amount "1", expected 5000000'],
  ])('fails if it %s', (_, headers, message) => {
    expect(judgedOf(200, accepted, {}, headers).failed).toEqual([
      `wallet.top-up.result: PAYMENT-RESPONSE of a settled payment ${message}`,
    ])
  })

  test('is not judged of a payment that was sent before', () => {
    expect(judgedOf(200, accepted, { isAgain: true }, {}).failed).toEqual([])
  })
})
