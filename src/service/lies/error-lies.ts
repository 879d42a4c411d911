import { isRecord, parseJson } from '../json.ts'
import type { Reply } from '../message.ts'
import { type Lie, type Lies, lie, replyLie } from './lie.ts'
import { isError, textOf, withHeader, withoutHeaders, withText } from './reply-edit.ts'

/** A limit has clauses of its own for its error. */
const isPlainError = (reply: Reply): boolean => isError(reply) && reply.status !== 429

/** The error object of a status with other members; undefined removes one. */
function amendError(
  reply: Reply,
  status: number,
  changes: (body: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>,
): Reply {
  const body = reply.status === status ? parseJson(textOf(reply)) : undefined
  return isRecord(body) ? withText(reply, JSON.stringify({ ...body, ...changes(body) })) : reply
}

const wordless = (name: string, status: number, code: string): Lie =>
  replyLie(name, `The error of a ${status} is a code and no words.`, reply =>
    amendError(reply, status, () => ({ error: { code } })),
  )

export const errorLies = {
  'error.402': [
    lie('everything-on-credit', 'An account without balance is served all the same.', () => ({ canPay: () => true })),
    replyLie('empty-account-is-403', 'A request that the balance does not cover is answered with 403.', reply =>
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
      'Errors are the page of a proxy.',
      reply =>
        isPlainError(reply)
          ? withHeader(withText(reply, '<html><body>Error</body></html>'), 'content-type', 'text/html')
          : reply,
      ['rpc.unsupported-method.named'],
    ),
    replyLie(
      'error-by-another-name',
      'Errors are objects with a message in place of error.',
      reply => (isPlainError(reply) ? withText(reply, '{"message":"Bad request"}') : reply),
      ['rpc.unsupported-method.named'],
    ),
    replyLie(
      'error-without-body',
      'Errors have an empty body.',
      reply => (isPlainError(reply) ? withText(reply, '') : reply),
      ['rpc.unsupported-method.named'],
    ),
  ],
  'error.400.object': [
    replyLie('issues-as-text', 'What is wrong with a request is said in one line of issues.', reply =>
      amendError(reply, 400, ({ issues }) => (issues === undefined ? {} : { issues: 'see the documentation' })),
    ),
    replyLie('details-as-list', 'The details of a bad request are a list of words.', reply =>
      amendError(reply, 400, () => ({ details: ['invalid'] })),
    ),
    replyLie(
      'bad-request-without-words',
      'A bad request is told a code and no words.',
      reply => amendError(reply, 400, () => ({ error: { code: 'INVALID_REQUEST' } })),
      ['rpc.unsupported-method.named'],
    ),
  ],
  'error.401.object': [wordless('bad-key-without-words', 401, 'AUTHENTICATION_FAILED')],
  'error.402.object': [wordless('poverty-without-words', 402, 'INSUFFICIENT_BALANCE')],
  'error.402.code': [
    replyLie('no-code-of-poverty', 'A caller without balance is told no code.', reply =>
      amendError(reply, 402, () => ({ code: undefined })),
    ),
    replyLie('other-code-of-poverty', 'A caller without balance is told the code of a wallet.', reply =>
      amendError(reply, 402, () => ({ code: 'NO_FUNDS' })),
    ),
  ],
  'error.415.object': [wordless('media-type-without-words', 415, 'INVALID_CONTENT_TYPE')],
  'error.429.object': [wordless('limit-without-words', 429, 'RATE_LIMIT_EXCEEDED')],
  'error.500.object': [wordless('failure-without-words', 500, 'INFERENCE_FAILED')],
  'error.503.object': [wordless('capacity-without-words', 503, 'MODEL_AT_CAPACITY')],
  'error.504.object': [wordless('timeout-without-words', 504, 'REQUEST_TIMEOUT')],
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
    replyLie('rpc-429-without-headers', 'A 429 of the RPC proxy has no X-RateLimit headers.', reply =>
      withoutHeaders(reply, 'x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'),
    ),
  ],
} as const satisfies Lies
