import { isObject, parseJson } from '../../lib/json.ts'
import type { Reply } from '../message.ts'
import {
  isErrorReply,
  isStream,
  type Lie,
  type Lies,
  lie,
  replyLie,
  replyText,
  withHeader,
  withHeaders,
  withoutHeaders,
  withText,
} from './lie.ts'

const dayMs = 86_400_000

const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const

/** The error of a rate limit has its own clauses. */
const isPlainError = (reply: Reply): boolean => isErrorReply(reply) && reply.status !== 429

/** `reply` with these fields of its error replaced, if it has this status; undefined removes one. */
function amendError(
  reply: Reply,
  status: number,
  changes: (body: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>,
): Reply {
  const body = reply.status === status ? parseJson(replyText(reply)) : undefined
  return isObject(body) ? withText(reply, JSON.stringify({ ...body, ...changes(body) })) : reply
}

const codeOnlyError = (name: string, status: number, code: string): Lie =>
  replyLie(name, `The error of a ${status} has a code and no message.`, reply =>
    amendError(reply, status, () => ({ error: { code } })),
  )

export const answerLies = {
  'header.content-type': [
    replyLie('untyped-errors', 'Errors have no Content-Type.', reply =>
      isErrorReply(reply) ? withoutHeaders(reply, 'content-type') : reply,
    ),
  ],
  'header.date': [
    replyLie('undated-errors', 'Errors have no Date.', reply =>
      isErrorReply(reply) ? withoutHeaders(reply, 'date') : reply,
    ),
    replyLie('date-in-iso', 'Date is in ISO 8601.', (reply, { arrivedMs }) =>
      withHeader(reply, 'date', new Date(arrivedMs).toISOString()),
    ),
  ],
  'header.cf-ray': [
    replyLie('no-ray-on-errors', 'Errors have no CF-RAY.', reply =>
      isErrorReply(reply) ? withoutHeaders(reply, 'cf-ray') : reply,
    ),
    replyLie('no-ray-on-streams', 'Streams have no CF-RAY.', reply =>
      isStream(reply) ? withoutHeaders(reply, 'cf-ray') : reply,
    ),
  ],
  'header.cf-ray.unique': [
    lie('ray-twice', 'Every second response repeats the CF-RAY of the previous one.', honest => {
      let last = ''
      return {
        finish: (reply, state) => {
          const finished = honest.finish(reply, state)
          const { 'cf-ray': ray = '' } = finished.headers
          const shown = last === '' ? ray : last
          last = last === '' ? ray : ''
          return withHeader(finished, 'cf-ray', shown)
        },
      }
    }),
    lie('ray-by-connection', 'All responses to an account have the CF-RAY of its first response.', honest => {
      const first = new Map<string, string>()
      return {
        finish: (reply, state) => {
          const finished = honest.finish(reply, state)
          if (state.account === null) return finished
          const shown = first.get(state.account.name) ?? finished.headers['cf-ray'] ?? ''
          first.set(state.account.name, shown)
          return withHeader(finished, 'cf-ray', shown)
        },
      }
    }),
  ],
  'header.version': [
    replyLie('no-version-on-errors', 'Errors have no version.', (reply, _, { headerPrefix }) =>
      isErrorReply(reply) ? withoutHeaders(reply, `${headerPrefix}version`) : reply,
    ),
  ],
  'header.version.format': [
    replyLie('semantic-version', 'The version has three numbers.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}version`, '1.42.0'),
    ),
    replyLie('version-of-no-day', 'The version has a month above 12.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}version`, value => `${value.slice(0, 4)}13${value.slice(6)}`),
    ),
    replyLie('version-of-no-hour', 'The version has an hour above 23.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}version`, value => `${value.slice(0, 9)}24${value.slice(11)}`),
    ),
    replyLie('version-without-time', 'The version is a date without a time.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}version`, value => value.slice(0, 8)),
    ),
  ],
  'header.model-id': [
    replyLie('no-model-id-on-streams', 'Streams do not name the model.', (reply, _, { headerPrefix }) =>
      isStream(reply) ? withoutHeaders(reply, `${headerPrefix}model-id`) : reply,
    ),
  ],
  'header.model-name': [
    replyLie('no-model-name-on-streams', 'Streams have no display name.', (reply, _, { headerPrefix }) =>
      isStream(reply) ? withoutHeaders(reply, `${headerPrefix}model-name`) : reply,
    ),
  ],
  'header.balance.usd': [
    replyLie('no-usd-balance-on-errors', 'Errors have no USD balance.', (reply, _, { headerPrefix }) =>
      isErrorReply(reply) ? withoutHeaders(reply, `${headerPrefix}balance-usd`) : reply,
    ),
    replyLie('usd-balance-with-sign', 'The USD balance has a dollar sign.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}balance-usd`, value => `$${value}`),
    ),
    replyLie('usd-balance-in-exponents', 'The USD balance is in scientific notation.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}balance-usd`, value => Number(value).toExponential()),
    ),
  ],
  'header.balance.diem': [
    replyLie('no-diem-balance-of-zero', 'A DIEM balance of zero has no header.', (reply, _, { headerPrefix }) =>
      reply.headers[`${headerPrefix}balance-diem`] === '0'
        ? withoutHeaders(reply, `${headerPrefix}balance-diem`)
        : reply,
    ),
    replyLie('diem-balance-with-unit', 'The DIEM balance ends in its unit.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}balance-diem`, value => `${value} DIEM`),
    ),
  ],
  'header.date.instant': [
    replyLie('weekday-off-by-one', "Date names tomorrow's day of the week.", (reply, { arrivedMs }) =>
      withHeader(reply, 'date', date => `${weekdays[new Date(arrivedMs + dayMs).getUTCDay()]}${date.slice(3)}`),
    ),
  ],
  'header.model-id.asked': [
    replyLie(
      'model-id-of-the-default',
      'The model ID header always names the same model.',
      (reply, _, contract) => withHeader(reply, `${contract.headerPrefix}model-id`, contract.models.at(-1)?.id ?? ''),
      ['header.model-name.stable'],
    ),
  ],
  'header.model-name.stable': [
    lie('name-by-turns', 'Every second response has the display name in capitals.', (honest, { headerPrefix }) => {
      let responses = 0
      return {
        finish: (reply, state) => {
          const finished = honest.finish(reply, state)
          if (finished.headers[`${headerPrefix}model-name`] === undefined || responses++ % 2 === 0) return finished
          return withHeader(finished, `${headerPrefix}model-name`, name => name.toUpperCase())
        },
      }
    }),
  ],
  'header.booleans': [
    replyLie('booleans-as-digits', 'Boolean headers are 1 and 0.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}is-content-violation`, value => (value === 'true' ? '1' : '0')),
    ),
    replyLie('booleans-with-capitals', 'Boolean headers are True and False.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}is-content-violation`, value => (value === 'true' ? 'True' : 'False')),
    ),
  ],
  'header.timestamp': [
    replyLie('timestamp-in-milliseconds', 'The timestamp is a Unix time.', (reply, { arrivedMs }, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}timestamp`, String(arrivedMs)),
    ),
    replyLie('timestamp-as-date', 'The timestamp is in the HTTP date format.', (reply, { arrivedMs }, contract) =>
      withHeader(reply, `${contract.headerPrefix}timestamp`, new Date(arrivedMs).toUTCString()),
    ),
  ],
  'header.host-name': [
    replyLie('nameless-host', 'The host name is empty.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}host-name`, ''),
    ),
  ],
  'header.model-router': [
    replyLie('nameless-router', 'The router is empty.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}model-router`, ''),
    ),
  ],
  'header.deprecation.pair': [
    replyLie('warning-without-date', 'A deprecated model has a warning and no date.', (reply, _, { headerPrefix }) =>
      withoutHeaders(reply, `${headerPrefix}model-deprecation-date`),
    ),
    replyLie('date-without-warning', 'A deprecated model has a date and no warning.', (reply, _, { headerPrefix }) =>
      withoutHeaders(reply, `${headerPrefix}model-deprecation-warning`),
    ),
  ],
  'header.deprecation.date': [
    replyLie('retirement-in-words', 'The date of a deprecated model is in words.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}model-deprecation-date`, 'June 30, 2027'),
    ),
    replyLie('retirement-in-seconds', 'The date of a deprecated model is a Unix time.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}model-deprecation-date`, '1814313600'),
    ),
  ],
  'header.deprecation.present': [
    replyLie(
      'silent-deprecation',
      'A deprecated model has neither a warning nor a date.',
      (reply, _, { headerPrefix }) =>
        withoutHeaders(reply, `${headerPrefix}model-deprecation-warning`, `${headerPrefix}model-deprecation-date`),
    ),
  ],
  'header.deprecation.absent': [
    replyLie('all-deprecated', 'Every model has a deprecation warning.', (reply, { route }, { headerPrefix }) =>
      route.kind === 'chat' && reply.status === 200
        ? withHeaders(reply, {
            [`${headerPrefix}model-deprecation-warning`]: 'This model will be retired',
            [`${headerPrefix}model-deprecation-date`]: '2027-06-30',
          })
        : reply,
    ),
  ],
  'header.retry-count': [
    replyLie('retries-in-words', 'The number of retries is a word.', reply =>
      withHeader(reply, 'x-retry-count', 'once'),
    ),
  ],
  'header.balance-remaining': [
    replyLie(
      'balance-remaining-for-keys',
      'Responses to API keys have the wallet balance header.',
      (reply, { route }) =>
        route.kind === 'chat' && reply.status === 200
          ? withHeaders(reply, { 'x-balance-remaining': '4.230000' })
          : reply,
    ),
  ],
  'header.payment-required': [
    replyLie('payment-required-on-all-errors', 'Every error has the Payment-Required header.', reply =>
      isErrorReply(reply) && reply.status !== 402
        ? withHeaders(reply, { 'payment-required': Buffer.from('{"x402Version":2}').toString('base64') })
        : reply,
    ),
    replyLie('payment-required-on-successes', 'Every success has the Payment-Required header.', reply =>
      reply.status === 200
        ? withHeaders(reply, { 'payment-required': Buffer.from('{"x402Version":2}').toString('base64') })
        : reply,
    ),
  ],
  'error.402': [
    lie('everything-on-credit', 'An account without balance is served.', () => ({ canPay: () => true })),
    replyLie('empty-account-is-403', 'A request that the balance does not cover returns 403.', reply =>
      reply.status === 402 ? { ...reply, status: 403 } : reply,
    ),
  ],
  'error.object': [
    replyLie(
      'error-in-plain-text',
      'Errors are a line of text.',
      reply => (isPlainError(reply) ? withHeader(withText(reply, 'Bad request'), 'content-type', 'text/plain') : reply),
      ['rpc.unsupported-method.named'],
    ),
    replyLie(
      'error-in-html',
      'Errors are the HTML page of a proxy.',
      reply =>
        isPlainError(reply)
          ? withHeader(withText(reply, '<html><body>Error</body></html>'), 'content-type', 'text/html')
          : reply,
      ['rpc.unsupported-method.named'],
    ),
    replyLie(
      'error-by-another-name',
      'Errors are objects with message instead of error.',
      reply => (isPlainError(reply) ? withText(reply, '{"message":"Bad request"}') : reply),
      ['rpc.unsupported-method.named', 'error.402.code'],
    ),
    replyLie(
      'error-without-body',
      'Errors have an empty body.',
      reply => (isPlainError(reply) ? withText(reply, '') : reply),
      ['rpc.unsupported-method.named'],
    ),
  ],
  'error.400.object': [
    replyLie('issues-as-text', 'The issues of a bad request are one line of text.', reply =>
      amendError(reply, 400, ({ issues }) => (issues === undefined ? {} : { issues: 'see the documentation' })),
    ),
    replyLie('details-as-list', 'The details of a bad request are a list of words.', reply =>
      amendError(reply, 400, () => ({ details: ['invalid'] })),
    ),
    replyLie(
      'bad-request-without-words',
      'The error of a bad request has a code and no message.',
      reply => amendError(reply, 400, () => ({ error: { code: 'INVALID_REQUEST' } })),
      ['rpc.unsupported-method.named'],
    ),
  ],
  'error.401.object': [codeOnlyError('bad-key-without-words', 401, 'AUTHENTICATION_FAILED')],
  'error.402.object': [codeOnlyError('poverty-without-words', 402, 'INSUFFICIENT_BALANCE')],
  'error.402.code': [
    replyLie('no-code-of-poverty', 'The error for a caller without balance has no code.', reply =>
      amendError(reply, 402, () => ({ code: undefined })),
    ),
    replyLie('other-code-of-poverty', 'The error for a caller without balance has the code for a wallet.', reply =>
      amendError(reply, 402, () => ({ code: 'NO_FUNDS' })),
    ),
  ],
  'wallet.discovery': [
    replyLie('offer-without-sign-in', 'An offer of payment does not say how to sign in.', (reply, { account }) =>
      account === null && reply.status === 402
        ? withText(reply, JSON.stringify({ ...JSON.parse(replyText(reply)), extensions: {} }))
        : reply,
    ),
    replyLie(
      'offer-of-nothing',
      'An offer of payment accepts no payments.',
      (reply, { account }) =>
        account === null && reply.status === 402
          ? withText(reply, JSON.stringify({ ...JSON.parse(replyText(reply)), accepts: [] }))
          : reply,
      ['wallet.payment-required', 'wallet.top-up.offer'],
    ),
    replyLie(
      'offer-without-header',
      'An offer of payment has no PAYMENT-REQUIRED.',
      (reply, { account }) =>
        account === null && reply.status === 402 ? withoutHeaders(reply, 'payment-required') : reply,
      ['wallet.payment-required'],
    ),
  ],
  'error.415.object': [codeOnlyError('media-type-without-words', 415, 'INVALID_CONTENT_TYPE')],
  'error.429.object': [codeOnlyError('limit-without-words', 429, 'RATE_LIMIT_EXCEEDED')],
  'error.500.object': [codeOnlyError('failure-without-words', 500, 'INFERENCE_FAILED')],
  'error.503.object': [codeOnlyError('capacity-without-words', 503, 'MODEL_AT_CAPACITY')],
  'error.504.object': [codeOnlyError('timeout-without-words', 504, 'REQUEST_TIMEOUT')],
  'limit.type': [
    replyLie('limit-type-of-its-own', 'The limit is of the type account.', reply =>
      withHeader(reply, 'x-ratelimit-type', 'account'),
    ),
    replyLie('no-limit-type', 'An enforced limit has no type.', reply => withoutHeaders(reply, 'x-ratelimit-type')),
  ],
  'limit.rpc-429': [
    replyLie('rpc-429-without-message', 'A 429 of the RPC proxy has no customMessage.', (reply, { route }) =>
      route.kind === 'rpc' && reply.status === 429 ? withText(reply, '{"error":"Rate limit exceeded"}') : reply,
    ),
    replyLie(
      'rpc-429-without-headers',
      'A 429 of the RPC proxy has no X-RateLimit headers.',
      (reply, { route }) =>
        route.kind === 'rpc' && reply.status === 429
          ? withoutHeaders(reply, ...Object.keys(reply.headers).filter(name => name.startsWith('x-ratelimit-')))
          : reply,
      ['limit.requests.headers', 'limit.type'],
    ),
  ],
  'chat.compression': [
    lie('never-compressed', 'Nothing is ever compressed.', () => ({ encoding: () => null })),
    lie('deflate-for-gzip', 'A client that accepts gzip gets deflate.', honest => ({
      encoding: (accepted, reply, state) => (honest.encoding(accepted, reply, state) === null ? null : 'deflate'),
    })),
    lie('br-for-gzip', 'A client that accepts only gzip gets br.', honest => ({
      encoding: (accepted, reply, state) => (honest.encoding(accepted, reply, state) === null ? null : 'br'),
    })),
  ],
  'chat.compression.stream': [
    lie('streams-compressed', 'Streams are compressed, and so they arrive in one piece at the end.', honest => ({
      encoding: (accepted, reply, state) =>
        reply.body.kind === 'stream' && accepted !== undefined ? 'gzip' : honest.encoding(accepted, reply, state),
    })),
  ],
  'chat.compression.body': [
    lie('compressed-in-name', 'Content-Encoding names an encoding, but the body is not compressed.', () => ({
      compress: text => Buffer.from(text),
    })),
    lie('compressed-and-cut', 'The last bytes of a compressed body are missing.', honest => ({
      compress: (text, encoding) => honest.compress(text, encoding).subarray(0, -8),
    })),
  ],
  'header.content-encoding': [
    lie('gzip-for-everyone', 'Completions are compressed whatever the client accepts.', honest => ({
      encoding: (accepted, reply, state) => honest.encoding(accepted ?? 'gzip', reply, state),
    })),
  ],
} satisfies Lies
