import { describe } from 'vitest'
import { documented } from '../../../src/contract/documented.ts'
import {
  accusesEach,
  answerOf,
  chatAsked,
  chatObserved,
  completion,
  observed,
  refused,
  sparesEach,
} from './observed.ts'

const page = '<html><body>502 Bad Gateway</body></html>'
const stranger = { 'x-service-version': undefined, 'cf-ray': undefined, 'content-type': 'text/html' }

describe('headers', () => {
  sparesEach({
    'an answer with all of them': chatObserved(completion),
    'headers that the document does not know': chatObserved(completion, { 'x-service-tee': 'true', server: 'edge' }),
    'a version whose time has hours and minutes alone': chatObserved(completion, {
      'x-service-version': '20260801.1200',
    }),
    'a balance below zero, for a completion is billed when it is complete': chatObserved(completion, {
      'x-service-balance-usd': '-0.0003',
    }),
    'a 502 from something in front of the service': observed(chatAsked, answerOf(502, page, stranger)),
    'a stranger, who has no balance': refused(
      { kind: 'probe', probe: 'bad-key' },
      401,
      { error: 'Authentication failed' },
      { 'x-service-balance-usd': undefined, 'x-service-balance-diem': undefined },
    ),
    'a 500 without a balance': refused(
      chatAsked,
      500,
      { error: 'Inference failed' },
      { 'x-service-balance-usd': undefined },
    ),
    'a public list, which nobody pays for': observed(
      { kind: 'networks' },
      answerOf(200, { networks: ['base-mainnet'] }, { 'x-service-balance-usd': undefined }),
    ),
    'no answer at all': observed(chatAsked, null, {
      outcome: { kind: 'failed', reason: 'connection-lost', detail: '' },
    }),
  })

  accusesEach({
    'an answer without a media type': [
      'header.content-type',
      'content-type is nothing on a 404, expected a media type',
      refused(chatAsked, 404, { error: 'No' }, { 'content-type': undefined }),
    ],
    'a date in ISO 8601': [
      'header.date',
      'date is "2026-01-15T12:00:01Z" on a 200, expected an HTTP date',
      chatObserved(completion, { date: '2026-01-15T12:00:01Z' }),
    ],
    'an empty ray': [
      'header.cf-ray',
      'cf-ray is "" on a 200, expected a request id',
      chatObserved(completion, { 'cf-ray': '' }),
    ],
    'a 404 of the service without its version': [
      'header.version',
      'x-service-version is nothing on a 404, expected a revision',
      refused(chatAsked, 404, { error: 'No' }, { 'x-service-version': undefined }),
    ],
    'a version of three numbers': [
      'header.version.format',
      'x-service-version is "1.42.0" on a 200, expected YYYYMMDD.HHMMSS',
      chatObserved(completion, { 'x-service-version': '1.42.0' }),
    ],
    'a version of the thirteenth month': [
      'header.version.format',
      'x-service-version is "20261301.120000" on a 200, expected YYYYMMDD.HHMMSS',
      chatObserved(completion, { 'x-service-version': '20261301.120000' }),
    ],
    'a version of the twenty-fifth hour': [
      'header.version.format',
      'x-service-version is "20260801.240000" on a 200, expected YYYYMMDD.HHMMSS',
      chatObserved(completion, { 'x-service-version': '20260801.240000' }),
    ],
    'an inference answer that does not name the model': [
      'header.model-id',
      'x-service-model-id is nothing on a 200, expected the model used',
      chatObserved(completion, { 'x-service-model-id': undefined }),
    ],
    'an inference answer without a display name': [
      'header.model-name',
      'x-service-model-name is nothing on a 200, expected a display name',
      chatObserved(completion, { 'x-service-model-name': undefined }),
    ],
    'a balance with a dollar sign': [
      'header.balance.usd',
      'x-service-balance-usd is "$9.5" on a 200, expected a decimal string',
      chatObserved(completion, { 'x-service-balance-usd': '$9.5' }),
    ],
    'a balance in exponents': [
      'header.balance.usd',
      'x-service-balance-usd is "9.5e0" on a 200, expected a decimal string',
      chatObserved(completion, { 'x-service-balance-usd': '9.5e0' }),
    ],
    'a DIEM balance that is left out of a refusal': [
      'header.balance.diem',
      'x-service-balance-diem is nothing on a 402, expected a decimal string',
      refused(chatAsked, 402, undefined, { 'x-service-balance-diem': undefined }),
    ],
  })

  describe('where the profile shows balances that are not zero only', () => {
    const contract = { ...documented, billing: { ...documented.billing, balanceHeaders: false } }
    sparesEach({ 'an answer without one': chatObserved(completion, { 'x-service-balance-diem': undefined }) }, contract)
  })

  describe('where the profile has another prefix', () => {
    const prefixed = {
      'x-brand-version': '20260801.120000',
      'x-brand-model-id': 'ref-small-24b',
      'x-brand-model-name': 'Small',
      'x-brand-balance-usd': '1',
      'x-brand-balance-diem': '1',
    }
    sparesEach({ 'headers under it': chatObserved(completion, prefixed) }, { ...documented, headerPrefix: 'x-brand-' })
  })
})
