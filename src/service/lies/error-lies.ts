import type { Reply } from '../message.ts'
import { type Lies, lie, replyLie } from './lie.ts'
import { isError, withHeader, withoutHeaders, withText } from './reply-edit.ts'

/** A limit has clauses of its own for its error. */
const isPlainError = (reply: Reply): boolean => isError(reply) && reply.status !== 429

export const errorLies = {
  'error.402': [
    lie('everything-on-credit', 'An account without balance is served all the same.', () => ({ covers: () => true })),
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
