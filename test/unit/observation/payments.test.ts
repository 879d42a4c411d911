import { expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { paymentOutcome } from '../../../src/observation/payments.ts'

const outcomeOf = (status: number, body: unknown = {}, headers: Readonly<Record<string, string>> = {}) =>
  paymentOutcome({ status, headers, body }, documentedContract.wallets)

test.each([200, 201])('a %i says that the payment was settled', status => {
  expect(outcomeOf(status)).toBe('settled')
})

test.each([
  [{ error: 'PAYMENT_ALREADY_USED' }],
  [{ code: 'PAYMENT_ALREADY_USED', message: 'No' }],
  [{ error: { code: 'PAYMENT_ALREADY_USED' } }],
])('a refusal with the code of a replay says that it was settled before: %j', body => {
  expect(outcomeOf(400, body)).toBe('settled')
  expect(outcomeOf(401, body)).toBe('refused')
})

test.each([400, 401, 402, 403, 404, 422])('any other %i says that it was refused', status => {
  for (const body of [{}, { error: 'AMOUNT_BELOW_MINIMUM' }, 'no', undefined])
    expect(outcomeOf(status, body)).toBe('refused')
})

test.each([302, 304, 408, 409, 425, 429, 500, 502, 503, 504])('a %i says nothing', status => {
  expect(outcomeOf(status)).toBe('unknown')
})

test('a settlement that was tried and failed says nothing, because it may still reach the chain', () => {
  expect(outcomeOf(402, { error: 'SETTLEMENT_FAILED' })).toBe('unknown')
  expect(outcomeOf(402, {}, { 'payment-response': 'eyJzdWNjZXNzIjpmYWxzZX0=' })).toBe('unknown')
  expect(outcomeOf(402, {}, { 'payment-required': 'e30=' })).toBe('refused')
})
