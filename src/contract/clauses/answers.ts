import type { ClauseRows } from '../clause.ts'

/** Headers of any answer, then those that are there on some occasions only. */
export const headerClauses = {
  'header.content-type': ['4.4', 'headers', 'Every answer carries Content-Type.'],
  'header.date': ['4.4', 'headers', 'Every answer carries Date in the HTTP date format.'],
  'header.date.instant': ['4.4', 'consistency', 'Date has the right day of the week, and is that of the answer.'],
  'header.cf-ray': ['4.4', 'headers', 'Every answer carries CF-RAY.'],
  'header.cf-ray.unique': ['4.4', 'unique-ids', 'CF-RAY identifies one request.'],
  'header.version': ['4.4', 'headers', 'Every answer carries the service version.'],
  'header.version.format': ['9', 'headers', 'The service version is a date, a dot and time digits.'],
  'header.model-id': ['4.4', 'headers', 'Inference answers name the model used.'],
  'header.model-id.asked': ['4.4', 'conditional-headers', 'The model that an answer names is the one that was asked for.'],
  'header.model-name.stable': ['4.4', 'consistency', 'A model has one display name.'],
  'header.model-name': ['4.4', 'headers', 'Inference answers carry the display name of the model.'],
  'header.balance.usd': ['4.4', 'headers', 'Authenticated answers carry the USD balance as a decimal string.'],
  'header.balance.diem': ['4.4', 'headers', 'Authenticated answers carry the DIEM balance as a decimal string.'],
  'header.booleans': ['4.4', 'conditional-headers', 'A header that says whether something is so is true or false.'],
  'header.timestamp': ['4.4', 'conditional-headers', 'The timestamp of an answer is in ISO 8601.'],
  'header.host-name': ['4.4', 'conditional-headers', 'An answer that names its host names one.'],
  'header.model-router': ['4.4', 'conditional-headers', 'An inference answer that says how it was routed names the router.'],
  'header.control-instance': ['4.4', 'conditional-headers', 'An image that says which instance made it names one.'],
  'header.deprecation.pair': ['4.4', 'conditional-headers', 'The warning of a deprecated model and its date come together.'],
  'header.deprecation.date': ['4.4', 'conditional-headers', 'The date of a deprecated model is one of ISO 8601.'],
  'header.deprecation.present': ['9', 'conditional-headers', 'An answer of a deprecated model warns of its retirement.', { source: 'profile' }],
  'header.deprecation.absent': ['4.4', 'conditional-headers', 'An answer of a model that stays does not warn of its retirement.', { source: 'profile' }],
  'header.retry-count': ['4.4', 'conditional-headers', 'The number of retries is a whole one.'],
  'header.balance-remaining': ['4.4', 'conditional-headers', 'The balance of a wallet is shown to wallets alone.'],
  'header.payment-required': ['4.4', 'conditional-headers', 'Payment requirements are on a 402 alone, as JSON in base64.'],
} satisfies ClauseRows

/** What an error looks like, and which refusal has which status. */
export const errorClauses = {
  'error.402': [
    '7',
    'probe',
    'A request that the balance does not cover is answered with 402.',
    { needs: 'a key of an account without balance: TURNPIKE_ZERO_BALANCE_KEY, or the reference service' },
  ],
  'error.object': ['7', 'errors', 'A non-success answer has an error object as its body.'],
  'error.400.object': ['7', 'errors', 'The error object of a 400 is a detailed one: what it says beyond its message is of the known form.'],
  'error.401.object': ['7', 'errors', 'A 401 has a standard error object.'],
  'error.402.object': [
    '7',
    'errors',
    'A 402 has a standard error object, or says what payment is required.',
    { needs: 'a key of an account without balance: TURNPIKE_ZERO_BALANCE_KEY, or the reference service' },
  ],
  'error.402.code': [
    '7',
    'errors',
    'A 402 to a caller with a key has the code INSUFFICIENT_BALANCE.',
    { needs: 'a key of an account without balance: TURNPIKE_ZERO_BALANCE_KEY, or the reference service' },
  ],
  'error.415.object': ['7', 'errors', 'A 415 has a standard error object.'],
  'error.429.object': ['7', 'errors', 'A 429 has a standard error object.'],
  'error.500.object': ['7', 'errors', 'A 500 has a standard error object.', { needs: 'a fault of the target, as turnpike service --fault makes them' }],
  'error.503.object': ['7', 'errors', 'A 503 has a standard error object.', { needs: 'a fault of the target, as turnpike service --fault makes them' }],
  'error.504.object': ['7', 'errors', 'A 504 has a standard error object.', { needs: 'a fault of the target, as turnpike service --fault makes them' }],
} satisfies ClauseRows

/** Answers that are compressed on the way. */
export const compressionClauses = {
  'chat.compression': ['4.2', 'compression', 'An unstreamed completion is compressed with gzip or br, where the client accepts it.'],
  'chat.compression.stream': ['4.2', 'compression', 'A stream is not compressed.'],
  'chat.compression.body': ['4.2', 'compression', 'A compressed body is what its Content-Encoding says.'],
  'header.content-encoding': ['4.4', 'compression', 'An answer has a Content-Encoding only where the client sent Accept-Encoding.'],
} satisfies ClauseRows
