import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import type { ChatDescriptor } from '../../../../src/observation/requests/chat.ts'
import {
  chatDescriptor,
  chatObserved,
  completion,
  failedClauses,
  failsEach,
  judgedCount,
  observed,
  passesEach,
  refused,
  responseOf,
} from './observed.ts'

const page = '<html><body>502 Bad Gateway</body></html>'
const gatewayHeaders = { 'x-service-version': undefined, 'cf-ray': undefined, 'content-type': 'text/html' }

describe('headers', () => {
  passesEach({
    'a response with all of them': chatObserved(completion),
    'undocumented headers': chatObserved(completion, { 'x-service-tee': 'true', server: 'edge' }),
    'a version whose time has only hours and minutes': chatObserved(completion, {
      'x-service-version': '20260801.1200',
    }),
    'a version whose date has hyphens': chatObserved(completion, { 'x-service-version': '2026-08-01.120000' }),
    'a negative balance, since a completion is billed when it is complete': chatObserved(completion, {
      'x-service-balance-usd': '-0.0003',
    }),
    'a small balance as programs print it': chatObserved(completion, { 'x-service-balance-usd': '5e-7' }),
    'a 502 from a gateway': observed(chatDescriptor, responseOf(502, page, gatewayHeaders)),
    'an anonymous caller, who has no balance': refused(
      { kind: 'probe', probe: 'bad-key' },
      401,
      { error: 'Authentication failed' },
      { 'x-service-balance-usd': undefined, 'x-service-balance-diem': undefined },
    ),
    'a 500 without a balance': refused(
      chatDescriptor,
      500,
      { error: 'Inference failed' },
      { 'x-service-balance-usd': undefined },
    ),
    'a public list, which is free': observed(
      { kind: 'networks' },
      responseOf(200, { networks: ['base-mainnet'] }, { 'x-service-balance-usd': undefined }),
    ),
    'no response': observed(chatDescriptor, null, {
      outcome: { kind: 'failed', reason: 'connection-lost', detail: '' },
    }),
  })

  failsEach({
    'a response without a media type': [
      'header.content-type',
      'content-type is nothing on a 404, expected a media type',
      refused(chatDescriptor, 404, { error: 'No' }, { 'content-type': undefined }),
    ],
    'a date in ISO 8601': [
      'header.date',
      'date is "2026-01-15T12:00:01Z" on a 200, expected an HTTP date',
      chatObserved(completion, { date: '2026-01-15T12:00:01Z' }),
    ],
    'an empty CF-RAY': [
      'header.cf-ray',
      'cf-ray is "" on a 200, expected a request id',
      chatObserved(completion, { 'cf-ray': '' }),
    ],
    'a 404 of the service without its version': [
      'header.version',
      'x-service-version is nothing on a 404, expected a revision',
      refused(chatDescriptor, 404, { error: 'No' }, { 'x-service-version': undefined }),
    ],
    'a version of three numbers': [
      'header.version.format',
      'x-service-version is "1.42.0" on a 200, expected a date, a dot and time digits',
      chatObserved(completion, { 'x-service-version': '1.42.0' }),
    ],
    'a version with the month 13': [
      'header.version.format',
      'x-service-version is "20261301.120000" on a 200, expected a date, a dot and time digits',
      chatObserved(completion, { 'x-service-version': '20261301.120000' }),
    ],
    'a version with the hour 24': [
      'header.version.format',
      'x-service-version is "20260801.240000" on a 200, expected a date, a dot and time digits',
      chatObserved(completion, { 'x-service-version': '20260801.240000' }),
    ],
    'an inference response without the model': [
      'header.model-id',
      'x-service-model-id is nothing on a 200, expected the model used',
      chatObserved(completion, { 'x-service-model-id': undefined }),
    ],
    'an inference response without a display name': [
      'header.model-name',
      'x-service-model-name is nothing on a 200, expected a display name',
      chatObserved(completion, { 'x-service-model-name': undefined }),
    ],
    'a balance with a dollar sign': [
      'header.balance.usd',
      'x-service-balance-usd is "$9.5" on a 200, expected a number',
      chatObserved(completion, { 'x-service-balance-usd': '$9.5' }),
    ],
    'a balance with an exponent alone': [
      'header.balance.usd',
      'x-service-balance-usd is "e0" on a 200, expected a number',
      chatObserved(completion, { 'x-service-balance-usd': 'e0' }),
    ],
    'a rejection without the DIEM balance': [
      'header.balance.diem',
      'x-service-balance-diem is nothing on a 402, expected a number',
      refused(chatDescriptor, 402, undefined, { 'x-service-balance-diem': undefined }),
    ],
  })

  describe('if the profile shows only balances that are not zero', () => {
    const contract = { ...documentedContract, billing: { ...documentedContract.billing, balanceHeaders: false } }
    passesEach(
      { 'a response without one': chatObserved(completion, { 'x-service-balance-diem': undefined }) },
      contract,
    )
  })

  describe('if the profile has another prefix', () => {
    const prefixed = {
      'x-brand-version': '20260801.120000',
      'x-brand-model-id': 'ref-small-24b',
      'x-brand-model-name': 'Small',
      'x-brand-balance-usd': '1',
      'x-brand-balance-diem': '1',
    }
    passesEach(
      { 'headers with that prefix': chatObserved(completion, prefixed) },
      { ...documentedContract, headerPrefix: 'x-brand-' },
    )
  })
})

const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')
const warning = 'x-service-model-deprecation-warning'
const date = 'x-service-model-deprecation-date'

const retiringDescriptor: ChatDescriptor = { ...chatDescriptor, model: 'ref-nano-1b', modelTier: 'XS' }
const retiring = (headers: Readonly<Record<string, string | undefined>>) =>
  observed(
    retiringDescriptor,
    responseOf(
      200,
      { ...completion, model: 'ref-nano-1b', cost: undefined },
      {
        'x-service-model-id': 'ref-nano-1b',
        'x-service-model-name': 'Reference Nano 1B',
        'x-ratelimit-limit-requests': '500',
        'x-ratelimit-limit-tokens': '1000000',
        'x-ratelimit-remaining-tokens': '999680',
        'x-ratelimit-reset-tokens': '59',
        ...headers,
      },
    ),
  )

describe('conditional headers', () => {
  passesEach({
    'booleans that are true or false': chatObserved(completion, {
      'x-service-is-blurred': 'false',
      'x-service-is-content-violation': 'true',
      'x-service-is-adult-model-content-violation': 'false',
      'x-service-contains-minor': 'false',
      'x-auth-refreshed': 'true',
    }),
    'an instant in UTC': chatObserved(completion, { 'x-service-timestamp': '2026-01-15T12:00:01.250Z' }),
    'an instant with an offset': chatObserved(completion, { 'x-service-timestamp': '2026-01-15T13:00:01+01:00' }),
    'an instant in the basic format': chatObserved(completion, { 'x-service-timestamp': '20260115T120001Z' }),
    'no retries': chatObserved(completion, { 'x-retry-count': '0' }),
    'a model with the requested option suffix': chatObserved(completion, {
      'x-service-model-id': 'ref-small-24b:enable_web_search=auto',
    }),
    'an alias served by another model': observed(
      { ...chatDescriptor, model: 'fastest' },
      chatObserved(completion).response,
    ),
    'a deprecated model with warning and date': retiring({ [warning]: 'It goes', [date]: '2027-06-30' }),
    'a deprecated model whose date has a time': retiring({ [warning]: 'It goes', [date]: '2027-06-30T00:00:00Z' }),
    'requirements on a 402': refused(
      chatDescriptor,
      402,
      { error: 'Pay' },
      { 'payment-required': encoded({ x402Version: 2 }) },
    ),
    'requirements that are longer than the recorded maximum': refused(
      chatDescriptor,
      402,
      { error: 'Pay' },
      { 'payment-required': encoded({ resource: 'x'.repeat(1000) }).slice(0, 512) },
    ),
    'a 402 for an API key, which has none': refused(chatDescriptor, 402),
    'any header of a gateway error': observed(
      chatDescriptor,
      responseOf(502, 'Bad Gateway', { 'x-service-version': undefined, 'x-retry-count': 'many' }),
    ),
  })

  failsEach({
    'a boolean in capitals': [
      'header.booleans',
      'x-service-is-blurred is "False" on a 200, expected true or false',
      chatObserved(completion, { 'x-service-is-blurred': 'False' }),
    ],
    'a boolean as a digit': [
      'header.booleans',
      'x-auth-refreshed is "1" on a 200, expected true or false',
      chatObserved(completion, { 'x-auth-refreshed': '1' }),
    ],
    'a Unix time as a timestamp': [
      'header.timestamp',
      'x-service-timestamp is "1768478401250" on a 200, expected an instant in ISO 8601',
      chatObserved(completion, { 'x-service-timestamp': '1768478401250' }),
    ],
    'a timestamp with the month 13': [
      'header.timestamp',
      'x-service-timestamp is "2026-13-15T12:00:01Z" on a 200, expected an instant in ISO 8601',
      chatObserved(completion, { 'x-service-timestamp': '2026-13-15T12:00:01Z' }),
    ],
    'an empty host name on an error': [
      'header.host-name',
      'x-service-host-name is "" on a 400, expected a text',
      refused({ kind: 'probe', probe: 'model-missing' }, 400, { error: 'No' }, { 'x-service-host-name': '' }),
    ],
    'an empty router': [
      'header.model-router',
      'x-service-model-router is "" on a 200, expected a text',
      chatObserved(completion, { 'x-service-model-router': '' }),
    ],
    'half a retry': [
      'header.retry-count',
      'x-retry-count is "0.5" on a 200, expected a whole number',
      chatObserved(completion, { 'x-retry-count': '0.5' }),
    ],
    'another model than requested': [
      'header.model-id.asked',
      'x-service-model-id is "ref-nano-3b" on a 200, expected "ref-small-24b"',
      chatObserved(completion, { 'x-service-model-id': 'ref-nano-3b' }),
    ],
    'a warning without a date': [
      'header.deprecation.pair',
      `${warning} is "It goes" and ${date} is nothing, expected both or neither`,
      retiring({ [warning]: 'It goes' }),
    ],
    'a date with an empty warning': [
      'header.deprecation.pair',
      `${warning} is "" and ${date} is "2027-06-30", expected both or neither`,
      retiring({ [warning]: '', [date]: '2027-06-30' }),
    ],
    'a retirement date in words': [
      'header.deprecation.date',
      `${date} is "30 June 2027", expected a date in ISO 8601`,
      retiring({ [warning]: 'It goes', [date]: '30 June 2027' }),
    ],
    'a deprecated model without a warning': [
      'header.deprecation.present',
      `a response from ref-nano-1b, which is deprecated, has no ${warning}, expected a warning`,
      retiring({}),
    ],
    'a current model with a warning': [
      'header.deprecation.absent',
      'a response from ref-small-24b, which is not deprecated, warns of its retirement, expected no warning',
      chatObserved(completion, { [warning]: 'It goes', [date]: '2027-06-30' }),
    ],
    "a wallet's balance for a key": [
      'header.balance-remaining',
      'x-balance-remaining is "4.23" for an API key, expected it for wallets only',
      chatObserved(completion, { 'x-balance-remaining': '4.23' }),
    ],
    'payment requirements on a 400': [
      'header.payment-required',
      'payment-required is "e30=" on a 400, expected JSON in base64, and only on a 402',
      refused({ kind: 'probe', probe: 'model-missing' }, 400, { error: 'No' }, { 'payment-required': 'e30=' }),
    ],
    'payment requirements on a success': [
      'header.payment-required',
      'payment-required is "e30=" on a 200, expected JSON in base64, and only on a 402',
      chatObserved(completion, { 'payment-required': 'e30=' }),
    ],
    'payment requirements in plain JSON': [
      'header.payment-required',
      'payment-required is "{}" on a 402, expected JSON in base64, and only on a 402',
      refused(chatDescriptor, 402, { error: 'Pay' }, { 'payment-required': '{}' }),
    ],
    'payment requirements that encode no JSON': [
      'header.payment-required',
      'payment-required is "abcd" on a 402, expected JSON in base64, and only on a 402',
      refused(chatDescriptor, 402, { error: 'Pay' }, { 'payment-required': 'abcd' }),
    ],
  })

  describe('if the profile leaves the lifecycle of a model open, and anyone may receive the remaining balance', () => {
    const contract = {
      ...documentedContract,
      models: documentedContract.models.map(model => ({ ...model, lifecycle: null })),
      billing: { ...documentedContract.billing, balanceRemaining: 'anyone' as const },
    }
    passesEach(
      {
        'a model with a warning': chatObserved(completion, { [warning]: 'It goes', [date]: '2027-06-30' }),
        'a model without a warning': retiring({}),
        'the remaining balance': chatObserved(completion, { 'x-balance-remaining': '4.23' }),
      },
      contract,
    )
  })

  test('a rejection by a deprecated model need not warn', () => {
    expect(judgedCount('header.deprecation.present', refused(retiringDescriptor, 400))).toBe(0)
  })
})

describe('a model whose name is not Latin', () => {
  const first = documentedContract.models.find(each => each.id === chatDescriptor.model)
  if (first === undefined) throw new Error('the document has models')
  const [model, other] = ['modèle-日本語', 'modèle-中文']
  const models = [
    { ...first, id: model },
    { ...first, id: other },
  ]
  const contract = { ...documentedContract, models }
  const answered = (id: string, text: string) => {
    const { response } = chatObserved({ ...completion, model: id }, { 'x-service-model-id': text })
    return observed({ ...chatDescriptor, model }, response)
  }
  const utf8 = (text: string) => Buffer.from(text).toString('latin1')
  passesEach({ 'in UTF-8': answered(model, utf8(model)), 'as a text': answered(model, model) }, contract)

  test('is told from another one', () => {
    expect(Object.keys(failedClauses(answered(model, utf8(other)), contract))).toEqual(['header.model-id.asked'])
  })
})
