import { describe, expect, test } from 'vitest'
import type { Contract } from '../../../../src/contract/contract.ts'
import { documentedContract } from '../../../../src/contract/documented.ts'
import type { RequestDescriptor } from '../../../../src/observation/requests/request.ts'
import {
  batchDescriptor,
  chatDescriptor,
  failedClauses,
  failsEach,
  failure,
  observed,
  passesEach,
  refused,
  responseOf,
  singleDescriptor,
} from './observed.ts'

const limits = {
  'x-ratelimit-type': 'user',
  'x-ratelimit-limit': '100',
  'x-ratelimit-remaining': '0',
  'x-ratelimit-reset': '1768478460',
}
const noLimits = {
  'x-ratelimit-limit-requests': undefined,
  'x-ratelimit-remaining-requests': undefined,
  'x-ratelimit-reset-requests': undefined,
}
const badRequest = { kind: 'probe', probe: 'unlisted-method' } as const
const badCompletion = { kind: 'probe', probe: 'model-missing' } as const
const accepts = Object.values(documentedContract.wallets.rails).map(({ network }) => ({ scheme: 'exact', network }))
const discovery = { x402Version: 2, resource: {}, accepts, extensions: {} }

const knownLayout: Contract = { ...documentedContract, errors: { ...documentedContract.errors, layout: 'error' } }
const anonymous = { kind: 'probe', probe: 'no-key' } as const
const offer = { ...discovery, extensions: { 'sign-in-with-x': {} } }
const encodedOffer = (value: object) => ({
  'payment-required': Buffer.from(JSON.stringify(value)).toString('base64'),
})
const required = { 'payment-required': Buffer.from(JSON.stringify(discovery)).toString('base64') }

const rpcLimits = { 'x-ratelimit-limit-requests': '100', 'x-ratelimit-type': 'user' }

const healthyBatch = { ...batchDescriptor, items: batchDescriptor.items.filter(({ failing }) => !failing) }

/** Its own clause judges a missing type. */
const refusedAs = (type: string | undefined) => ({
  ...responseOf(400, { error: 'No' }, type === undefined ? {} : { 'content-type': type }),
})

/** Half of a body: the connection was lost before the rest came. */
const brokenOff = (request: RequestDescriptor, status: number) =>
  observed(request, responseOf(status, '{"error":"Unsup', status === 429 ? rpcLimits : {}), {
    outcome: { kind: 'failed', reason: 'connection-lost', detail: 'other side closed' },
  })

describe('error responses in any layout', () => {
  passesEach({
    'a message under another key': refused(chatDescriptor, 404, { message: 'Bad request', code: 7 }),
    'a code anywhere in a 402': refused(chatDescriptor, 402, { errors: [{ kind: 'INSUFFICIENT_BALANCE' }] }),
    'a problem': refused(chatDescriptor, 404, { type: 'about:blank', title: 'Not found', status: 404 }),
    'a list of errors': refused(chatDescriptor, 404, { errors: [{ reason: { text: 'Not found' } }] }),
    'an array of errors': refused(chatDescriptor, 404, [{ title: 'Not found' }]),
    'an array of errors for a batch': refused(healthyBatch, 400, [failure(1)]),
    ...Object.fromEntries(
      [
        'application/problem+json',
        'application/json; charset=utf-8',
        'text/json',
        'Text/Plain; charset=utf-8',
        undefined,
      ].map(type => [`the type ${type}`, observed(badRequest, refusedAs(type))]),
    ),
    'details in any layout': refused(badRequest, 400, { detail: 'No', issues: 'n is too low', details: ['n'] }),
    'a 429 of the RPC proxy with other headers': refused(
      singleDescriptor,
      429,
      { errors: [{ customMessage: 'Wait' }] },
      { 'x-ratelimit-type': 'user', 'ratelimit-reset': '1768478460.123' },
    ),
    'a 429 whose headers were cut': observed(singleDescriptor, {
      ...responseOf(429, { error: 'No', customMessage: 'Wait' }, { ...noLimits, 'x-ratelimit-type': 'user' }),
      headersCut: true,
    }),
    'an error whose connection broke within the body': brokenOff({ kind: 'probe', probe: 'wrong-media-type' }, 415),
    'a 429 of the RPC proxy that broke off': brokenOff(singleDescriptor, 429),
    'a list of offending methods that broke off': brokenOff(
      { kind: 'probe', probe: 'unsupported-methods-in-batch' },
      400,
    ),
    'an offer that broke off': brokenOff(
      { kind: 'top-up', step: 'offer', chain: null, address: null, payment: null },
      402,
    ),
    'a list that broke off': brokenOff({ kind: 'networks' }, 200),
    'an offer of payment to a caller without credentials': refused(anonymous, 402, offer, required),
    'an offer of payment in the header alone': refused(anonymous, 402, {}, encodedOffer(offer)),
    'an offer of payment of x402 version 1': refused(
      anonymous,
      402,
      { ...offer, resource: undefined, accepts: accepts.map(each => ({ ...each, resource: 'https://api/chat' })) },
      required,
    ),
  })
  failsEach({
    'numbers only': [
      'error.object',
      'the body of a 404 is {"code":7,"message":""}, expected an object with a text',
      refused(chatDescriptor, 404, { code: 7, message: '' }),
    ],
    ...Object.fromEntries(
      [400, 401, 402, 415, 429, 500, 503, 504].map(status => [
        `an array of errors with the status ${status}`,
        [
          'error.object',
          `the body of a ${status} is not a JSON object, expected one with a text`,
          refused(status === 400 ? badCompletion : chatDescriptor, status, [{ error: 'No' }], {
            'x-ratelimit-type': 'user',
          }),
        ] as const,
      ]),
    ),
    ...Object.fromEntries(
      ['text/html', 'application/octet-stream', 'image/png'].map(type => [
        `an error object with the type ${type}`,
        [
          'error.object',
          `the body of a 400 is JSON with the content-type "${type}", expected application/json`,
          observed(badRequest, refusedAs(type)),
        ] as const,
      ]),
    ),
    'a line of text': [
      'error.object',
      'the body of a 404 is not a JSON object, expected one with a text',
      refused(chatDescriptor, 404, 'Bad request'),
    ],
    'an offer of nothing': [
      'wallet.discovery',
      'a 402 to a caller without credentials lacks a list of payments as accepts, the header PAYMENT-REQUIRED',
      refused(anonymous, 402, { ...offer, accepts: [] }),
    ],
    'an offer without a resource': [
      'wallet.discovery',
      'a 402 to a caller without credentials lacks resource',
      refused(anonymous, 402, {}, encodedOffer({ ...offer, resource: undefined })),
    ],
    'an offer without a way to sign in': [
      'wallet.discovery',
      'a 402 to a caller without credentials lacks the extension sign-in-with-x',
      refused(anonymous, 402, discovery, required),
    ],
  })
})

describe('error responses in a known layout', () => {
  passesEach(
    {
      'a string as error': refused(chatDescriptor, 404, {
        error: 'Invalid request parameters',
        details: { _errors: [] },
      }),
      'an object as error': refused(chatDescriptor, 404, {
        error: { message: 'Too long', code: 'context_length_exceeded' },
      }),
      'an offer of payment': refused(chatDescriptor, 402, discovery),
      'an error page of a gateway': observed(
        chatDescriptor,
        responseOf(502, '<html>Bad Gateway</html>', { 'x-service-version': undefined, 'content-type': 'text/html' }),
      ),
      'an empty 504 of a gateway': observed(
        singleDescriptor,
        responseOf(504, '', { 'x-service-version': undefined, 'cf-ray': undefined }),
      ),
      'a bad request in plain words': refused(badRequest, 400, { error: 'The voice is not supported' }),
      'a bad request with a tree of details': refused(badRequest, 400, {
        error: 'No',
        details: { n: { _errors: ['low'] } },
      }),
      'a bad request with details as text': refused(badRequest, 400, { error: 'No', details: 'n is too low' }),
      'a bad request with issues only': refused(badRequest, 400, {
        error: 'No',
        issues: [{ code: 'too_big', path: ['n'] }],
      }),
      'a bad request with null issues and details': refused(badRequest, 400, {
        error: 'No',
        issues: null,
        details: null,
      }),
      'a bad request of another style': refused(badRequest, 400, {
        error: {
          message: 'Too long',
          type: 'invalid_request_error',
          param: 'messages',
          code: 'context_length_exceeded',
        },
      }),
      'a 402 with its code': refused(chatDescriptor, 402, { error: 'Poor', code: 'INSUFFICIENT_BALANCE' }),
      'a 402 with its code in the error': refused(chatDescriptor, 402, {
        error: { message: 'Poor', code: 'INSUFFICIENT_BALANCE' },
      }),
      'a 402 for a wallet': refused(chatDescriptor, 402, {
        error: 'Pay',
        code: 'PAYMENT_REQUIRED',
        topUpInstructions: {},
      }),
      'a custom message next to the error': refused(
        singleDescriptor,
        429,
        { error: 'No', customMessage: 'Wait' },
        limits,
      ),
      'a custom message in the error': refused(singleDescriptor, 429, { error: { customMessage: 'Wait' } }, limits),
    },
    knownLayout,
  )

  failsEach(
    {
      'a bad request with issues as text': [
        'error.400.object',
        'the body of a 400 has issues "n is too low", which is not a list of objects',
        refused(badRequest, 400, { error: 'No', issues: 'n is too low' }),
      ],
      'a bad request with a number as details': [
        'error.400.object',
        'the body of a 400 has details 7, which is neither an object nor a text',
        refused(badRequest, 400, { error: 'No', details: 7 }),
      ],
      'a bad request without a message': [
        'error.400.object',
        'the body of a 400 has error {"code":"X"}, which has no message',
        refused(badRequest, 400, { error: { code: 'X' } }),
      ],
      'a 401 without a message': [
        'error.401.object',
        'the body of a 401 has error {"code":401}, which has no message',
        refused(chatDescriptor, 401, { error: { code: 401 } }),
      ],
      'a 503 whose message is not a string': [
        'error.503.object',
        'the body of a 503 has error {"message":{"text":"later"}}, which has no message',
        refused(chatDescriptor, 503, { error: { message: { text: 'later' } } }),
      ],
      'a 402 without a code': [
        'error.402.code',
        'the code of a 402 is nothing, expected INSUFFICIENT_BALANCE',
        refused(chatDescriptor, 402, { error: 'Poor' }),
      ],
      'a line of text': [
        'error.object',
        'the body of a 404 is not a JSON object, expected a text or an object as error',
        refused(chatDescriptor, 404, 'Bad request'),
      ],
      'an empty body': [
        'error.object',
        'the body of a 404 is not a JSON object, expected a text or an object as error',
        refused(chatDescriptor, 404, ''),
      ],
      'an error under another key': [
        'error.object',
        'the body of a 404 has error nothing, expected a text or an object as error',
        refused(chatDescriptor, 404, { message: 'Bad request' }),
      ],
      'an empty error': [
        'error.object',
        'the body of a 404 has error "", expected a text or an object as error',
        refused(chatDescriptor, 404, { error: '' }),
      ],
      'an error page of the service itself': [
        'error.object',
        'the body of a 500 is not a JSON object, expected a text or an object as error',
        refused(chatDescriptor, 500, '<html>Oops</html>'),
      ],
      'a 429 of the RPC proxy without its message': [
        'limit.rpc-429',
        'a 429 of the RPC proxy lacks customMessage, expected a message and headers about the limit',
        refused(singleDescriptor, 429, { error: 'No' }, limits),
      ],
    },
    knownLayout,
  )
})

test('a 429 of the RPC proxy without a single header about its limit fails', () => {
  const bare = { ...noLimits, 'x-ratelimit-type': undefined }
  expect(failedClauses(refused(singleDescriptor, 429, { error: 'No', customMessage: 'Wait' }, bare))).toMatchObject({
    'limit.rpc-429': 'a 429 of the RPC proxy lacks X-RateLimit headers, expected a message and headers about the limit',
  })
})
