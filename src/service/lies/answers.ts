import { balanceRemainingHeader } from '../../contract/headers.ts'
import { changeInput, changeResult } from './decisions.ts'
import type { LieRow, Lies } from './lie.ts'
import {
  addHeader,
  all,
  changeReply,
  changeReplyIf,
  dropHeaders,
  hasStatus,
  isErrorReply,
  isOf,
  keepFirstHeader,
  not,
  type ReplyChange,
  type ReplyTest,
  repeatHeader,
  setFields,
  setHeader,
  setStatus,
  setText,
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
const errorsAre = (text: string, ...changes: readonly ReplyChange[]): LieRow => [
  text,
  changeReplyIf(isPlainError, ...changes),
  ['rpc.unsupported-method.named'],
]

const setErrorFields = (status: number, fields: Parameters<typeof setFields>[0]) =>
  changeReplyIf(hasStatus(status), setFields(fields))

const codeOnlyError = (status: number, code: string): LieRow => [
  `The error of a ${status} has a code and no message.`,
  setErrorFields(status, { error: { code } }),
]

/** The 402 to a caller without credentials. */
const isOffer: ReplyTest = ({ status }, { account }) => account === null && status === 402

const isLimitedRpc = isOf('rpc', 429)

const dropLimitHeaders: ReplyChange = (reply, state, contract) => {
  const names = Object.keys(reply.headers).filter(name => name.startsWith('x-ratelimit-'))
  return dropHeaders(...names)(reply, state, contract)
}

export const answerLies = {
  'header.cf-ray.unique': {
    'ray-twice': ['Every second response repeats the CF-RAY of the previous one.', repeatHeader('cf-ray')],
    'ray-by-connection': [
      'All responses to an account have the CF-RAY of its first response.',
      keepFirstHeader('cf-ray'),
    ],
  },
  'header.date.instant': {
    'weekday-off-by-one': [
      "Date names tomorrow's day of the week.",
      changeReply(
        setHeader('date', (date, _, { arrivedMs }) => {
          return `${weekdays[new Date(arrivedMs + dayMs).getUTCDay()]}${date.slice(3)}`
        }),
      ),
    ],
  },
  'header.model-id.asked': {
    'model-id-of-the-default': [
      'The model ID header always names the same model.',
      changeReply(setHeader('{prefix}model-id', (_, __, ___, { models }) => models.at(-1)?.id ?? '')),
      ['header.model-name.stable'],
    ],
  },
  'header.model-name.stable': {
    'name-by-turns': [
      'Every second response has the display name in capitals.',
      (honest, contract) => {
        let responses = 0
        const isTurn: ReplyTest = ({ headers }, _, { headerPrefix }) =>
          headers[`${headerPrefix}model-name`] !== undefined && responses++ % 2 === 1
        const inCapitals = setHeader(modelName, name => name.toUpperCase())
        return changeReplyIf(isTurn, inCapitals)(honest, contract)
      },
    ],
  },
  'header.deprecation.pair': {
    'warning-without-date': [
      'A deprecated model has a warning and no date.',
      changeReply(dropHeaders(deprecationDate)),
    ],
    'date-without-warning': [
      'A deprecated model has a date and no warning.',
      changeReply(dropHeaders(deprecationWarning)),
    ],
  },
  'header.deprecation.date': {
    'retirement-in-words': [
      'The date of a deprecated model is in words.',
      changeReply(setHeader(deprecationDate, 'June 30, 2027')),
    ],
    'retirement-in-seconds': [
      'The date of a deprecated model is a Unix time.',
      changeReply(setHeader(deprecationDate, '1814313600')),
    ],
  },
  'header.deprecation.present': {
    'silent-deprecation': [
      'A deprecated model has neither a warning nor a date.',
      changeReply(dropHeaders(deprecationWarning, deprecationDate)),
    ],
  },
  'header.deprecation.absent': {
    'all-deprecated': [
      'Every model has a deprecation warning.',
      changeReplyIf(
        isOf('chat', 200),
        addHeader(deprecationWarning, 'This model will be retired'),
        addHeader(deprecationDate, '2027-06-30'),
      ),
    ],
  },
  'header.balance-remaining': {
    'balance-remaining-for-keys': [
      'Responses to API keys have the wallet balance header.',
      changeReplyIf(isOf('chat', 200), addHeader(balanceRemainingHeader, '4.230000')),
    ],
  },
  'header.payment-required': {
    'payment-required-on-all-errors': [
      'Every error has the Payment-Required header.',
      changeReplyIf(all(isErrorReply, not(hasStatus(402))), addRequirements),
    ],
    'payment-required-on-successes': [
      'Every success has the Payment-Required header.',
      changeReplyIf(hasStatus(200), addRequirements),
    ],
  },
  'error.402': {
    'everything-on-credit': ['An account without balance is served.', () => ({ canPay: () => true })],
    'empty-account-is-403': [
      'A request that the balance does not cover returns 403.',
      changeReplyIf(hasStatus(402), setStatus(403)),
    ],
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
    'error-by-another-name': [
      'Errors are objects with message instead of error.',
      changeReplyIf(isPlainError, setText('{"message":"Bad request"}')),
      ['rpc.unsupported-method.named', 'error.402.code'],
    ],
    'error-without-body': errorsAre('Errors have an empty body.', setText('')),
  },
  'error.400.object': {
    'issues-as-text': [
      'The issues of a bad request are one line of text.',
      setErrorFields(400, ({ issues }) => (issues === undefined ? {} : { issues: 'see the documentation' })),
    ],
    'details-as-list': [
      'The details of a bad request are a list of words.',
      setErrorFields(400, { details: ['invalid'] }),
    ],
    'bad-request-without-words': [
      'The error of a bad request has a code and no message.',
      setErrorFields(400, { error: { code: 'INVALID_REQUEST' } }),
      ['rpc.unsupported-method.named'],
    ],
  },
  'error.401.object': { 'bad-key-without-words': codeOnlyError(401, 'AUTHENTICATION_FAILED') },
  'error.402.object': { 'poverty-without-words': codeOnlyError(402, 'INSUFFICIENT_BALANCE') },
  'error.402.code': {
    'no-code-of-poverty': [
      'The error for a caller without balance has no code.',
      setErrorFields(402, { code: undefined }),
    ],
    'other-code-of-poverty': [
      'The error for a caller without balance has the code for a wallet.',
      setErrorFields(402, { code: 'NO_FUNDS' }),
    ],
  },
  'wallet.discovery': {
    'offer-without-sign-in': [
      'An offer of payment does not say how to sign in.',
      changeReplyIf(isOffer, setFields({ extensions: {} })),
    ],
    'offer-of-nothing': [
      'An offer of payment accepts no payments.',
      changeReplyIf(isOffer, setFields({ accepts: [] })),
      ['wallet.payment-required', 'wallet.top-up.offer'],
    ],
    'offer-without-header': [
      'An offer of payment has no PAYMENT-REQUIRED.',
      changeReplyIf(isOffer, dropHeaders('payment-required')),
      ['wallet.payment-required'],
    ],
  },
  'error.415.object': { 'media-type-without-words': codeOnlyError(415, 'INVALID_CONTENT_TYPE') },
  'error.429.object': { 'limit-without-words': codeOnlyError(429, 'RATE_LIMIT_EXCEEDED') },
  'error.500.object': { 'failure-without-words': codeOnlyError(500, 'INFERENCE_FAILED') },
  'error.503.object': { 'capacity-without-words': codeOnlyError(503, 'MODEL_AT_CAPACITY') },
  'error.504.object': { 'timeout-without-words': codeOnlyError(504, 'REQUEST_TIMEOUT') },
  'limit.type': {
    'limit-type-of-its-own': [
      'The limit is of the type account.',
      changeReply(setHeader('x-ratelimit-type', 'account')),
    ],
    'no-limit-type': ['An enforced limit has no type.', changeReply(dropHeaders('x-ratelimit-type'))],
  },
  'limit.rpc-429': {
    'rpc-429-without-message': [
      'A 429 of the RPC proxy has no customMessage.',
      changeReplyIf(isLimitedRpc, setText('{"error":"Rate limit exceeded"}')),
    ],
    'rpc-429-without-headers': [
      'A 429 of the RPC proxy has no X-RateLimit headers.',
      changeReplyIf(isLimitedRpc, dropLimitHeaders),
      ['limit.requests.headers', 'limit.type'],
    ],
  },
  'chat.compression': {
    'never-compressed': ['Nothing is ever compressed.', () => ({ encoding: () => null })],
    'deflate-for-gzip': [
      'A client that accepts gzip gets deflate.',
      changeResult('encoding', encoding => encoding && 'deflate'),
    ],
    'br-for-gzip': ['A client that accepts only gzip gets br.', changeResult('encoding', encoding => encoding && 'br')],
  },
  'chat.compression.stream': {
    'streams-compressed': [
      'Streams are compressed, and so they arrive in one piece at the end.',
      changeResult('encoding', (encoding, accepted, { body }) =>
        body.kind === 'stream' && accepted !== undefined ? 'gzip' : encoding,
      ),
    ],
  },
  'chat.compression.body': {
    'compressed-in-name': [
      'Content-Encoding names an encoding, but the body is not compressed.',
      () => ({ compress: text => Buffer.from(text) }),
    ],
    'compressed-and-cut': [
      'The last bytes of a compressed body are missing.',
      changeResult('compress', compressed => compressed.subarray(0, -8)),
    ],
  },
  'header.content-encoding': {
    'gzip-for-everyone': [
      'Completions are compressed whatever the client accepts.',
      changeInput('encoding', (accepted, reply, state) => [accepted ?? 'gzip', reply, state]),
    ],
  },
} satisfies Lies
