import { balanceRemainingHeader } from '../../contract/headers.ts'
import { always, result } from './decisions.ts'
import { alsoViolating, type LieRow, type Lies, row } from './lie.ts'
import {
  addHeader,
  all,
  changeReplies,
  dropHeaders,
  hasStatus,
  header,
  isErrorReply,
  isForBatch,
  isForStream,
  isOf,
  isStream,
  keepFirstHeader,
  not,
  type ReplyChange,
  type ReplyTest,
  repeatHeader,
  replies,
  setFields,
  setHeader,
  setStatus,
  setText,
  withoutHeaders,
} from './replies.ts'

const dayMs = 86_400_000

const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const

const modelName = '{prefix}model-name'
const deprecationWarning = '{prefix}model-deprecation-warning'
const deprecationDate = '{prefix}model-deprecation-date'

const addRequirements = addHeader('payment-required', Buffer.from('{"x402Version":2}').toString('base64'))

/** The error of a rate limit has its own clauses. */
const isPlainError = all(isErrorReply, not(hasStatus(429)))

/** Errors of another form. Their messages then name no method. */
const errorsAre = (text: string, ...changes: readonly ReplyChange[]): LieRow =>
  alsoViolating(['rpc.unsupported-method.named'], replies(text, isPlainError, ...changes))

const setErrorFields = (text: string, status: number, fields: Parameters<typeof setFields>[0]): LieRow =>
  replies(text, hasStatus(status), setFields(fields))

const codeOnlyError = (status: number, code: string): LieRow =>
  setErrorFields(`The error of a ${status} has a code and no message.`, status, { error: { code } })

/** The 402 to a caller without credentials. */
const isOffer: ReplyTest = ({ status }, { account }) => account === null && status === 402

const isLimitedRpc = isOf('rpc', 429)

const dropLimitHeaders: ReplyChange = (reply, state, contract) => {
  const names = Object.keys(reply.headers).filter(name => name.startsWith('x-ratelimit-'))
  return dropHeaders(...names)(reply, state, contract)
}

/** The rejection of a bearer key that belongs to no account. */
const isBadKey: ReplyTest = ({ status }, { request, account }) =>
  status === 401 && account === null && /^Bearer /i.test(request.headers.authorization ?? '')

const badKeyIs403 = (what: string, isWhat: ReplyTest): LieRow =>
  replies(`An invalid key returns 403 to a request for ${what}.`, all(isBadKey, isWhat), setStatus(403))

const isKeyless: ReplyTest = ({ status }, { request }) => status === 401 && request.headers.authorization === undefined

const noKeyIs400 = (what: string, isWhat: ReplyTest): LieRow =>
  replies(`A request for ${what} without a key returns 400.`, all(isKeyless, isWhat), setStatus(400))

const isAt =
  (path: string): ReplyTest =>
  (_, { request }) =>
    request.path.includes(path)

/** The rejection of a model that is reserved for paying users. */
const isForPayers: ReplyTest = ({ status }, { account }) => status === 401 && account !== null

const guestKey = 'ref_default_guest'

export const answerLies = {
  'header.cf-ray.unique': {
    'ray-twice': repeatHeader('Every second response repeats the CF-RAY of the previous one.', 'cf-ray'),
    'ray-by-connection': keepFirstHeader(
      'All responses to an account have the CF-RAY of its first response.',
      'cf-ray',
    ),
  },
  'header.date.instant': {
    'weekday-off-by-one': header("Date names tomorrow's day of the week.", 'date', (date, _, { arrivedMs }) => {
      return `${weekdays[new Date(arrivedMs + dayMs).getUTCDay()]}${date.slice(3)}`
    }),
    'date-in-local-time-on-429': replies(
      'The Date of a 429 is the local time of a server, two hours ahead, labeled as GMT.',
      hasStatus(429),
      setHeader('date', date => new Date(Date.parse(date) + 7_200_000).toUTCString()),
    ),
    'date-stands-still': alsoViolating(
      ['chat.created', 'limit.requests.reset'],
      keepFirstHeader('All responses to an account have the Date of its first response.', 'date'),
    ),
  },
  'header.model-id.asked': {
    'model-id-of-the-default': alsoViolating(
      ['header.model-name.stable'],
      header(
        'The model ID header always names the same model.',
        '{prefix}model-id',
        (_, __, ___, { models }) => models.at(-1)?.id ?? '',
      ),
    ),
  },
  'header.model-name.stable': {
    'name-by-turns': row('Every second response has the display name in capitals.', (honest, contract) => {
      let responses = 0
      const isTurn: ReplyTest = ({ headers }, _, { headerPrefix }) =>
        headers[`${headerPrefix}model-name`] !== undefined && responses++ % 2 === 1
      const inCapitals = setHeader(modelName, name => name.toUpperCase())
      return changeReplies(isTurn, inCapitals)(honest, contract)
    }),
  },
  'header.deprecation.pair': {
    'warning-without-date': withoutHeaders('A deprecated model has a warning and no date.', deprecationDate),
    'date-without-warning': withoutHeaders('A deprecated model has a date and no warning.', deprecationWarning),
  },
  'header.deprecation.date': {
    'retirement-in-words': header('The date of a deprecated model is in words.', deprecationDate, 'June 30, 2027'),
    'retirement-in-seconds': header('The date of a deprecated model is a Unix time.', deprecationDate, '1814313600'),
  },
  'header.deprecation.present': {
    'silent-deprecation': withoutHeaders(
      'A deprecated model has neither a warning nor a date.',
      deprecationWarning,
      deprecationDate,
    ),
    'silent-deprecation-in-streams': replies(
      'A stream of a deprecated model has neither a warning nor a date.',
      isStream,
      dropHeaders(deprecationWarning, deprecationDate),
    ),
  },
  'header.deprecation.absent': {
    'all-deprecated': replies(
      'Every model has a deprecation warning.',
      isOf('chat', 200),
      addHeader(deprecationWarning, 'This model will be retired'),
      addHeader(deprecationDate, '2027-06-30'),
    ),
  },
  'header.balance-remaining': {
    'balance-remaining-for-keys': replies(
      'Responses to API keys have the wallet balance header.',
      isOf('chat', 200),
      addHeader(balanceRemainingHeader, '4.230000'),
    ),
  },
  'header.payment-required': {
    'payment-required-on-all-errors': replies(
      'Every error has the Payment-Required header.',
      all(isErrorReply, not(hasStatus(402))),
      addRequirements,
    ),
    'payment-required-on-successes': replies(
      'Every success has the Payment-Required header.',
      hasStatus(200),
      addRequirements,
    ),
  },
  'error.402': {
    'everything-on-credit': always('An account without balance is served.', { canPay: () => true }),
    'empty-account-is-403-for-streams': replies(
      'A stream that the balance does not cover returns 403.',
      all(hasStatus(402), isForStream),
      setStatus(403),
    ),
    'empty-account-is-403-for-batches': replies(
      'A batch that the balance does not cover returns 403.',
      all(hasStatus(402), isForBatch),
      setStatus(403),
    ),
    'empty-account-is-403': replies(
      'A request that the balance does not cover returns 403.',
      hasStatus(402),
      setStatus(403),
    ),
  },
  'error.object': {
    'error-in-plain-text': errorsAre(
      'Errors are a line of text.',
      setText('Bad request'),
      setHeader('content-type', 'text/plain'),
    ),
    'error-in-html': errorsAre(
      'Errors are the HTML page of a proxy.',
      setText('<html><body>Error</body></html>'),
      setHeader('content-type', 'text/html'),
    ),
    'error-labelled-as-html': replies(
      'Errors are labelled as HTML.',
      isErrorReply,
      setHeader('content-type', 'text/html'),
    ),
    'error-in-a-list': replies(
      'The error about a media type is a list of errors.',
      hasStatus(415),
      setText('[{"error":"Content-Type must be application/json"}]'),
    ),
    'error-by-another-name': alsoViolating(
      ['rpc.unsupported-method.named', 'error.402.code'],
      replies('Errors are objects with message instead of error.', isPlainError, setText('{"message":"Bad request"}')),
    ),
    'error-without-body': errorsAre('Errors have an empty body.', setText('')),
  },
  'error.400.object': {
    'issues-as-text': setErrorFields('The issues of a bad request are one line of text.', 400, ({ issues }) =>
      issues === undefined ? {} : { issues: 'see the documentation' },
    ),
    'details-as-list': setErrorFields('The details of a bad request are a list of words.', 400, {
      details: ['invalid'],
    }),
    'bad-request-without-words': alsoViolating(
      ['rpc.unsupported-method.named'],
      setErrorFields('The error of a bad request has a code and no message.', 400, {
        error: { code: 'INVALID_REQUEST' },
      }),
    ),
  },
  'error.401.object': { 'bad-key-without-words': codeOnlyError(401, 'AUTHENTICATION_FAILED') },
  'error.402.object': { 'poverty-without-words': codeOnlyError(402, 'INSUFFICIENT_BALANCE') },
  'error.402.code': {
    'no-code-of-poverty': setErrorFields('The error for a caller without balance has no code.', 402, {
      code: undefined,
    }),
    'other-code-of-poverty': setErrorFields('The error for a caller without balance has the code for a wallet.', 402, {
      code: 'NO_FUNDS',
    }),
  },
  'wallet.discovery': {
    'offer-without-sign-in': replies(
      'An offer of payment does not say how to sign in.',
      isOffer,
      setFields({ extensions: {} }),
    ),
    'offer-of-nothing': alsoViolating(
      ['wallet.payment-required', 'wallet.top-up.offer'],
      replies('An offer of payment accepts no payments.', isOffer, setFields({ accepts: [] })),
    ),
    'offer-without-header': alsoViolating(
      ['wallet.payment-required'],
      replies('An offer of payment has no PAYMENT-REQUIRED.', isOffer, dropHeaders('payment-required')),
    ),
  },
  'error.415.object': { 'media-type-without-words': codeOnlyError(415, 'INVALID_CONTENT_TYPE') },
  'error.429.object': {
    // Without its words, a block is taken for a limit.
    'limit-without-words': alsoViolating(
      ['limit.requests.not-early', 'limit.type', 'limit.rpc-429', 'abuse.message'],
      codeOnlyError(429, 'RATE_LIMIT_EXCEEDED'),
    ),
  },
  'error.500.object': { 'failure-without-words': codeOnlyError(500, 'INFERENCE_FAILED') },
  'error.503.object': { 'capacity-without-words': codeOnlyError(503, 'MODEL_AT_CAPACITY') },
  'error.504.object': { 'timeout-without-words': codeOnlyError(504, 'REQUEST_TIMEOUT') },
  'limit.type': {
    'limit-type-of-its-own': header('The limit is of the type account.', 'x-ratelimit-type', 'account'),
    'limit-type-of-successes': replies(
      'Successes name the tier as the type of their limit.',
      hasStatus(200),
      addHeader('x-ratelimit-type', 'tier'),
    ),
    'limit-type-of-invalid-keys': replies(
      'A request with an invalid key names its address as the type of its limit.',
      isBadKey,
      addHeader('x-ratelimit-type', 'ip'),
    ),
    'no-limit-type': withoutHeaders('An enforced limit has no type.', 'x-ratelimit-type'),
  },
  'limit.rpc-429': {
    'rpc-429-without-message': replies(
      'A 429 of the RPC proxy has no customMessage.',
      isLimitedRpc,
      setText('{"error":"Rate limit exceeded"}'),
    ),
    'rpc-429-without-message-to-batches': replies(
      'A 429 of the RPC proxy to a batch has no customMessage.',
      all(isLimitedRpc, isForBatch),
      setText('{"error":"Rate limit exceeded"}'),
    ),
    'rpc-429-without-headers': alsoViolating(
      ['limit.requests.headers', 'limit.type'],
      replies('A 429 of the RPC proxy has no X-RateLimit headers.', isLimitedRpc, dropLimitHeaders),
    ),
  },
  'auth.bearer': {
    'any-key-will-do': row('An invalid key opens a guest account.', honest => ({
      accountHolder: key => honest.accountHolder(key) ?? honest.accountHolder(guestKey),
    })),
    'bad-key-is-403': replies('An invalid key returns 403.', isBadKey, setStatus(403)),
    'bad-key-is-403-for-streams': badKeyIs403('a stream', isForStream),
    'bad-key-is-403-for-batches': badKeyIs403('a batch', isForBatch),
    'bad-key-is-403-for-embeddings': badKeyIs403('an embedding', isAt('/embeddings')),
    'bad-key-is-403-for-images': badKeyIs403('an image', isAt('/image/')),
    'bad-key-is-403-for-speech': badKeyIs403('speech', isAt('/audio/')),
    'bad-key-is-403-for-videos': badKeyIs403('a new video', isAt('/video/queue')),
    'bad-key-is-403-for-a-video': badKeyIs403('a video', isAt('/video/retrieve')),
    'bad-key-is-403-for-the-balance': badKeyIs403('the balance', isAt('/billing/balance')),
    'bad-key-is-403-for-usage': badKeyIs403('the usage', isAt('/billing/usage')),
    'bad-key-is-403-for-limit-logs': badKeyIs403('the log of limits', isOf('rate-limit-logs')),
    'bad-key-is-403-for-limits': badKeyIs403('the limits', isOf('rate-limits')),
    'bad-key-is-500': replies('An invalid key returns 500.', isBadKey, setStatus(500)),
  },
  'auth.missing': {
    // A key in another header opens it, too, and the guest pays.
    'no-key-will-do': alsoViolating(
      ['auth.malformed', 'billing.conservation'],
      result('A request without a key opens a guest account.', 'keyOf', (key, authorization) =>
        authorization === undefined ? guestKey : key,
      ),
    ),
    'no-key-is-400': alsoViolating(
      ['auth.malformed'],
      replies('A request without a key returns 400.', isKeyless, setStatus(400)),
    ),
    'no-key-is-400-for-streams': noKeyIs400('a stream', isForStream),
    'no-key-is-400-for-batches': noKeyIs400('a batch', isForBatch),
    'no-key-is-400-for-resources': noKeyIs400('a resource', isOf('resource')),
    'no-key-is-400-for-limits': noKeyIs400('the limits', isOf('rate-limits')),
    'no-key-is-400-for-limit-logs': noKeyIs400('the log of limits', isOf('rate-limit-logs')),
  },
  'auth.malformed': {
    // The guest pays for a key of another scheme.
    'any-scheme-will-do': alsoViolating(
      ['billing.conservation'],
      result(
        'Credentials of another scheme open a guest account.',
        'keyOf',
        (key, authorization) => key ?? (authorization === undefined ? null : guestKey),
      ),
    ),
    'key-of-any-scheme': result(
      'A key under another scheme than Bearer opens its account.',
      'keyOf',
      (key, authorization) => key ?? / (\S+)$/.exec(authorization ?? '')?.[1] ?? null,
    ),
    'key-without-scheme': result(
      'A key without a scheme opens its account.',
      'keyOf',
      (key, authorization) => key ?? (authorization === undefined ? null : authorization.replace(/^\S+ /, '~')),
    ),
    'other-scheme-breaks-it': row('Credentials of another scheme return 500.', (honest, contract) => {
      const isOtherScheme: ReplyTest = (_, { request }) => {
        const { authorization } = request.headers
        return authorization !== undefined && honest.keyOf(authorization) === null
      }
      return changeReplies(isOtherScheme, setStatus(500))(honest, contract)
    }),
  },
  'auth.paid-only': {
    'paid-models-for-all': always('Models for paying users serve every user.', { mayUse: () => true }),
    'paid-only-is-403': replies('A model for paying users returns 403 to others.', isForPayers, setStatus(403)),
    'paid-only-is-403-for-streams': replies(
      'A model for paying users returns 403 to a stream of others.',
      all(isForPayers, isForStream),
      setStatus(403),
    ),
  },
  'auth.keys-share-limits': {
    'limits-by-key': alsoViolating(
      ['limit.tokens.remaining'],
      result(
        'Each key has its own windows.',
        'scope',
        (scope, _, { request }) => `${scope} ${request.headers.authorization}`,
      ),
    ),
  },
} satisfies Lies
