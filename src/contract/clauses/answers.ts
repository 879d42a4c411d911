import type { ClauseRows } from '../clause.ts'
import { money } from './billing.ts'
import { completions, streams } from './chat.ts'

const optional = { unseen: 'no response had this header' } as const

/** Headers of every response, then headers that depend on the request. */
export const headerClauses = {
  'header.content-type': ['4.4', 'headers', 'Every response has Content-Type.'],
  'header.content-type.body': ['4.4', ['lists', 'resources'], 'The Content-Type of a list or a resource is that of its body.', { exercisedBy: 'any' }],
  'header.date': [
    '4.4',
    'headers',
    'Every response has Date in the HTTP date format.',
    { hides: ['responses have no usable Date', ['header.date.instant', 'chat.created']] },
  ],
  'header.date.instant': ['4.4', 'consistency', 'Date has the right day of the week, and matches the time of the response.'],
  'header.cf-ray': ['4.4', 'headers', 'Every response has CF-RAY.', { hides: ['responses have no CF-RAY', ['header.cf-ray.unique']] }],
  'header.cf-ray.unique': ['4.4', 'unique-ids', 'CF-RAY identifies one request.'],
  'header.version': ['4.4', 'headers', 'Every response has the service version.', { hides: ['responses have no version', ['header.version.format']] }],
  'header.version.format': ['9', 'headers', 'The service version is a date, a dot and time digits.'],
  'header.model-id': [
    '4.4',
    'headers',
    'Inference responses name the model used.',
    { exercisedBy: 'chat', hides: ['responses name no model', ['header.model-id.asked', 'header.model-name.stable']] },
  ],
  'header.model-id.asked': ['4.4', 'conditional-headers', 'The model named in a response is the requested model.', { exercisedBy: 'chat' }],
  'header.model-name.stable': ['4.4', 'consistency', 'A model has one display name.', { exercisedBy: 'chat' }],
  'header.model-name': [
    '4.4',
    'headers',
    'Inference responses have the display name of the model.',
    { exercisedBy: 'chat', hides: ['responses have no name of the model', ['header.model-name.stable']] },
  ],
  'header.balance.usd': ['4.4', 'headers', 'Authenticated responses have the USD balance as a number.', { hides: ['responses show no usable balance', money] }],
  'header.balance.diem': [
    '4.4',
    'headers',
    'Authenticated responses have the DIEM balance as a number.',
    { hides: ['responses show no usable balance', money] },
  ],
  'header.booleans': ['4.4', 'conditional-headers', 'A boolean header is true or false.', optional],
  'header.timestamp': ['4.4', 'conditional-headers', 'The timestamp of a response is in ISO 8601.', optional],
  'header.host-name': ['4.4', 'conditional-headers', 'The host name header, if present, is not empty.', optional],
  'header.model-router': ['4.4', 'conditional-headers', 'The model router header of an inference response, if present, is not empty.', optional],
  'header.control-instance': ['4.4', 'conditional-headers', 'The control instance header of an image response, if present, is not empty.', optional],
  'header.deprecation.pair': ['4.4', 'conditional-headers', 'The deprecation warning of a model and its date come together.', optional],
  'header.deprecation.date': ['4.4', 'conditional-headers', 'The deprecation date of a model is an ISO 8601 date.', optional],
  'header.deprecation.present': ['9', 'conditional-headers', 'A response from a deprecated model warns of its retirement.', { source: 'profile' }],
  'header.deprecation.absent': [
    '4.4',
    'conditional-headers',
    'A response from a model that is not deprecated does not warn of its retirement.',
    { source: 'profile' },
  ],
  'header.retry-count': ['4.4', 'conditional-headers', 'The number of retries is a whole number.', optional],
  'header.balance-remaining': ['4.4', 'conditional-headers', 'Only wallets receive the balance of a wallet.'],
  'header.payment-required': ['4.4', 'conditional-headers', 'Payment requirements are only on a 402, as JSON in base64.', optional],
} satisfies ClauseRows

/** Authentication. */
export const authClauses = {
  'auth.bearer': ['5', 'probe', 'A request with an invalid key gets a 401.'],
  'auth.missing': ['5', 'probe', 'A request without credentials gets a 401, or a 402 that offers payment.'],
  'auth.malformed': ['5', 'probe', 'A request with credentials of another scheme gets a 401, or a 402 that offers payment.'],
  'auth.paid-only': [
    '5',
    'probe',
    'A request for a model reserved for paying users gets a 401 if its user does not pay.',
    { needs: 'a key of such a user: TURNPIKE_FREE_USER_KEY, or the reference service' },
  ],
  'auth.keys-share-limits': [
    '5',
    'rate-limits',
    'All keys of an account share the same limits.',
    { needs: 'callers with several keys (keys-per-caller in the scenario), and a profile with limits.scope: account' },
  ],
} satisfies ClauseRows

/** The form of errors, and the status of each rejection. */
export const errorClauses = {
  'error.402': [
    '7',
    'probe',
    'A request that the balance does not cover gets a 402.',
    { needs: 'a key of an account with a zero balance: TURNPIKE_ZERO_BALANCE_KEY, or the reference service' },
  ],
  'error.object': [
    '7',
    'errors',
    'A response without a success status has an error object as its body.',
    {
      unseen: 'no response was an error',
      hides: [
        'errors are unreadable',
        [
          'error.400.object',
          'error.401.object',
          'error.402.object',
          'error.415.object',
          'error.429.object',
          'error.500.object',
          'error.503.object',
          'error.504.object',
          'error.402.code',
        ],
      ],
    },
  ],
  'error.400.object': ['7', 'errors', 'A 400 has a detailed error object: its optional fields have the known form.', { unseen: 'no response had status 400' }],
  'error.401.object': ['7', 'errors', 'A 401 has a standard error object.', { unseen: 'no response had status 401' }],
  'error.402.object': [
    '7',
    'errors',
    'A 402 has a standard error object, or states the required payment.',
    { needs: 'a key of an account with a zero balance: TURNPIKE_ZERO_BALANCE_KEY, or the reference service' },
  ],
  'error.402.code': [
    '7',
    'errors',
    'A 402 to a caller with a key has the code INSUFFICIENT_BALANCE.',
    { needs: 'a key of an account with a zero balance: TURNPIKE_ZERO_BALANCE_KEY, or the reference service' },
  ],
  'wallet.discovery': [
    '7',
    'errors',
    'A 402 to a caller without credentials has x402Version, resource, accepts, the sign-in extension and PAYMENT-REQUIRED.',
    { needs: 'a target that offers payment to callers without credentials' },
  ],
  'error.415.object': ['7', 'errors', 'A 415 has a standard error object.', { unseen: 'no response had status 415' }],
  'error.429.object': ['7', 'errors', 'A 429 has a standard error object.', { unseen: 'no response had status 429' }],
  'error.500.object': ['7', 'errors', 'A 500 has a standard error object.', { needs: 'a fault of the target, such as those of turnpike service --fault' }],
  'error.503.object': ['7', 'errors', 'A 503 has a standard error object.', { needs: 'a fault of the target, such as those of turnpike service --fault' }],
  'error.504.object': ['7', 'errors', 'A 504 has a standard error object.', { needs: 'a fault of the target, such as those of turnpike service --fault' }],
} satisfies ClauseRows

/** Compressed responses. */
export const compressionClauses = {
  'chat.compression': [
    '4.2',
    'compression',
    'An unstreamed completion is compressed with gzip or br if the client accepts it.',
    { exercisedBy: 'compressed-chat' },
  ],
  'chat.compression.stream': [
    '4.2',
    'compression',
    'A stream is not compressed.',
    { hides: ['streams are compressed', ['chat.stream.content-type', ...streams, ...completions]] },
  ],
  'chat.compression.body': [
    '4.2',
    'compression',
    'A compressed body matches its Content-Encoding.',
    { exercisedBy: 'compressed-chat', hides: ['compressed bodies are unreadable', ['chat.object', 'chat.id', 'chat.model', ...completions]] },
  ],
  'header.content-encoding': ['4.4', 'compression', 'A response has a Content-Encoding only if the client sent Accept-Encoding.'],
} satisfies ClauseRows
