import type { Exchange } from './exchange.ts'
import type { Lie } from './lies.ts'
import { rateLimits } from './lists.ts'
import { headerOf, json, objectIn, type Reply, withHeader, withoutHeader, withValue } from './reply.ts'

type Change = (reply: Reply, exchange: Exchange) => Reply

/** Replaces a header, where it is present. */
export const changed =
  (name: string, value: (old: string, exchange: Exchange) => string): Change =>
  (reply, exchange) => {
    const old = headerOf(reply, name)
    return old === undefined ? reply : withHeader(reply, name, value(old, exchange))
  }

export const removed =
  (name: string): Change =>
  reply =>
    withoutHeader(reply, name)

/** Applies a change to some replies only. */
export const where =
  (applies: (reply: Reply, exchange: Exchange) => boolean, change: Change): Change =>
  (reply, exchange) =>
    applies(reply, exchange) ? change(reply, exchange) : reply

const status =
  (from: number, to: number): Change =>
  reply =>
    reply.status === from ? { ...reply, status: to } : reply

const isRpc = (_: Reply, { path }: Exchange): boolean => path.startsWith('/crypto/rpc/') && !path.endsWith('/networks')

const isBlock = (reply: Reply): boolean => objectIn(reply)?.code === 'BLOCKED'

/** Lies in headers, limits, refusals, and the abuse block. */
export const headerLies: readonly Lie[] = [
  {
    name: 'no-ray',
    section: '4.4',
    does: 'sends no CF-RAY',
    clauses: ['header.cf-ray'],
    change: removed('CF-RAY'),
  },
  {
    name: 'one-ray-for-all',
    section: '4.4',
    does: 'sends the same CF-RAY with every response',
    clauses: ['header.cf-ray.unique'],
    change: changed('CF-RAY', () => '8f0c2d6a5b1e4c37-ZRH'),
  },
  {
    name: 'date-in-iso',
    section: '4.4',
    does: 'writes Date in ISO 8601',
    clauses: ['header.date'],
    change: changed('Date', old => new Date(old).toISOString()),
  },
  {
    name: 'version-of-semver',
    section: '9',
    does: 'states its version as 2.4.1',
    clauses: ['header.version.format'],
    change: changed('x-service-version', () => '2.4.1'),
  },
  {
    name: 'another-model-id',
    section: '4.4',
    does: 'names a model that was not requested',
    clauses: ['header.model-id.asked'],
    change: changed('x-service-model-id', old => `${old}-mini`),
  },
  {
    name: 'no-model-name',
    section: '4.4',
    does: 'sends no display name of the model',
    clauses: ['header.model-name'],
    change: removed('x-service-model-name'),
  },
  {
    name: 'no-usd-balance',
    section: '4.4',
    does: 'sends no USD balance',
    clauses: ['header.balance.usd'],
    change: removed('x-service-balance-usd'),
  },
  {
    name: 'balance-with-currency',
    section: '4.4',
    does: 'writes the DIEM balance with its currency',
    clauses: ['header.balance.diem'],
    change: changed('x-service-balance-diem', old => `${old} DIEM`),
  },
  {
    name: 'no-remaining-requests',
    section: '4.4',
    does: 'does not state the remaining requests',
    clauses: ['limit.requests.headers'],
    change: removed('x-ratelimit-remaining-requests'),
  },
  {
    name: 'reset-in-seconds',
    section: '4.4',
    does: 'states the seconds until the request reset instead of its Unix time',
    clauses: ['limit.requests.reset', 'limit.requests.headers'],
    change: changed('x-ratelimit-reset-requests', (old, { now }) => `${Math.ceil(Number(old) - now / 1000)}`),
  },
  {
    name: 'remaining-stands-still',
    section: '4.4',
    does: 'states a remainder that never falls',
    clauses: ['limit.requests.remaining'],
    change: where(
      reply => reply.status === 200,
      (reply, exchange) =>
        changed('x-ratelimit-remaining-requests', () => `${headerOf(reply, 'x-ratelimit-limit-requests')}`)(
          reply,
          exchange,
        ),
    ),
  },
  {
    name: 'token-reset-as-time',
    section: '4.4',
    does: 'states the Unix time of the token reset instead of its seconds',
    clauses: ['limit.tokens.reset'],
    change: changed('x-ratelimit-reset-tokens', (old, { now }) => `${Math.ceil(now / 1000 + Number(old))}`),
  },
  {
    name: 'no-token-limit',
    section: '4.4',
    does: 'does not state the token limit',
    clauses: ['limit.tokens.headers'],
    change: removed('x-ratelimit-limit-tokens'),
  },
  {
    name: 'limit-by-address',
    section: '4.4',
    does: 'states that the limit belongs to an address',
    clauses: ['limit.type'],
    change: changed('x-ratelimit-type', () => 'address'),
  },
  {
    name: 'more-than-the-limit',
    section: '7',
    does: 'accepts 40 requests above each limit',
    clauses: ['limit.requests.enforced'],
    settings: { excess: 40 },
  },
  {
    name: 'less-than-the-limit',
    section: '7',
    does: 'refuses ten requests before the limit is reached',
    clauses: ['limit.requests.not-early', 'retry.after-reset'],
    settings: { excess: -10 },
    takesWindows: true,
  },
  {
    name: 'two-limits',
    section: '8',
    does: 'states another limit in headers than in the list of limits',
    clauses: ['limit.requests.limit', 'catalogue.rate-limits'],
    change: where(
      (_, { path }) => path === '/chat/completions',
      changed('x-ratelimit-limit-requests', old => `${Number(old) + 7}`),
    ),
  },
  {
    name: 'rpc-429-without-message',
    section: '7',
    does: 'sends no customMessage with a 429 of the RPC proxy',
    clauses: ['limit.rpc-429'],
    change: where(
      (reply, exchange) => reply.status === 429 && isRpc(reply, exchange),
      reply => {
        const { customMessage: _, ...rest } = objectIn(reply) ?? {}
        return withValue(reply, rest)
      },
    ),
  },
  {
    name: 'bad-key-is-bad-request',
    section: '5',
    does: 'refuses wrong and missing credentials with 400',
    clauses: ['auth.bearer', 'auth.missing', 'auth.malformed'],
    change: status(401, 400),
  },
  {
    name: 'paid-only-for-free',
    section: '5',
    does: 'refuses a free user with 403 instead of 401',
    clauses: ['auth.paid-only'],
    change: where(reply => objectIn(reply)?.code === 'PRO_ONLY_MODEL', status(401, 403)),
  },
  {
    name: 'media-type-is-bad-request',
    section: '4.2',
    does: 'refuses a wrong media type with 400',
    clauses: ['chat.media-type'],
    change: status(415, 400),
  },
  {
    name: 'error-as-text',
    section: '7',
    does: 'writes errors as JSON texts instead of objects',
    clauses: ['error.object', 'error.400.object', 'error.401.object', 'error.415.object', 'error.429.object'],
    change: where(
      reply => reply.status >= 400 && !isBlock(reply),
      reply => withValue(reply, 'It did not work.'),
    ),
  },
  {
    name: 'no-code-for-empty-balance',
    section: '7',
    does: 'gives an empty balance the code NO_MONEY',
    clauses: ['error.402.code'],
    change: where(
      reply => reply.status === 402,
      reply => withValue(reply, { ...objectIn(reply), code: 'NO_MONEY' }),
    ),
  },
  {
    name: 'empty-balance-forbidden',
    section: '7',
    does: 'refuses a caller without balance with 403',
    clauses: ['error.402'],
    change: status(402, 403),
  },
  {
    name: 'never-blocks',
    section: '7',
    does: 'never blocks a caller',
    clauses: ['abuse.block'],
    settings: { failures: 100_000 },
  },
  {
    name: 'blocks-after-eight',
    section: '7',
    does: 'blocks a caller after nine failures',
    clauses: ['abuse.not-early'],
    settings: { failures: 8 },
    takesWindows: true,
  },
  {
    name: 'block-without-advice',
    section: '7',
    does: 'does not say how long a block lasts',
    clauses: ['abuse.message'],
    change: where(isBlock, reply => withValue(reply, { error: 'Too many failed attempts.', code: 'BLOCKED' })),
  },
  {
    name: 'block-spares-lists',
    section: '7',
    does: 'shows the limits to a blocked caller',
    clauses: ['abuse.all-requests'],
    change: where(
      (reply, { path }) => isBlock(reply) && path === '/api_keys/rate_limits',
      (reply, exchange) => ({ ...json(200, null, reply.headers), body: rateLimits(exchange).body }),
    ),
  },
  {
    name: 'retry-too-early',
    section: '7',
    does: 'names a time to retry at which it still refuses',
    clauses: ['retry.after-reset', 'limit.requests.reset', 'limit.requests.window', 'limit.requests.not-early'],
    change: where(
      reply => reply.status === 429 && !isBlock(reply),
      changed('x-ratelimit-reset-requests', (_, { now }) => `${Math.ceil(now / 1000)}`),
    ),
    takesWindows: true,
  },
  {
    name: 'block-of-a-second',
    section: '7',
    does: 'ends a block after a quarter of its time',
    clauses: ['abuse.duration'],
    settings: { blockMs: 1000 },
    takesWindows: true,
  },
  {
    name: 'endless-block',
    section: '7',
    does: 'does not end a block',
    clauses: ['abuse.ends', 'abuse.duration'],
    settings: { blockMs: 600_000 },
    takesWindows: true,
  },
]
