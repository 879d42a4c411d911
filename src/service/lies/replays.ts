import { pico } from '../../lib/money.ts'
import { changeResult, multiply } from './decisions.ts'
import type { Lies, Overrides } from './lie.ts'
import {
  addHeader,
  all,
  changeReply,
  changeReplyIf,
  dropHeaders,
  hasStatus,
  isNodeReply,
  type ReplyTest,
  says,
  setHeader,
  setStatus,
} from './replies.ts'

const replayed = 'idempotent-replayed'

const hasKey: ReplyTest = (_, { request }) => request.headers['idempotency-key'] !== undefined

const rejectKey = (isRejected: (key: string) => boolean): Overrides =>
  changeResult('keyFate', (fate, key) => (isRejected(key) ? 'rejected' : fate))

const acceptKey = (pattern: RegExp): Overrides =>
  changeResult('keyFate', (fate, key) => (pattern.test(key) ? 'used' : fate))

/** Caches a reply under a changed key. */
const cacheAs =
  (change: (key: string) => string): Overrides =>
  () => ({ cachedKey: change })

/** Lets a used key get the cached reply, whatever the request. */
const replayAlways = changeResult('lookUpReply', (found, stored) =>
  stored === undefined ? found : ({ kind: 'replay', reply: stored } as const),
)

const inLowerCase = (key: string): string => key.toLowerCase()

export const replayLies = {
  'rpc.replay.charge': {
    // The balance before a request, one price too low, can be the balance after it. It can also be a double charge.
    'replay-charged-again': [
      'A replay is charged like the first request.',
      () => ({ replayChargePicoUsd: ({ costUsd }) => pico(costUsd) }),
      ['billing.balance-before', 'billing.conservation'],
    ],
    'replay-charged-a-little': [
      'A replay is charged like a failing item.',
      (honest, { rpc }) => ({ replayChargePicoUsd: () => honest.costPicoUsd(rpc.errorItemCredits) }),
    ],
  },
  'rpc.replay.header': {
    'replay-unmarked': [
      'A replay has no replay header.',
      changeReply(dropHeaders(replayed)),
      ['rpc.replay.charge', 'rpc.replay.expiry.kept', 'billing.conservation'],
    ],
    'first-use-marked': [
      'The first use of a key is marked as a replay.',
      changeReplyIf(all(isNodeReply, hasKey), addHeader(replayed, 'true')),
      ['rpc.replay.charge', 'rpc.replay.per-user', 'billing.balance-before'],
    ],
    'replay-marked-with-one': [
      'The replay header is 1 instead of true.',
      changeReply(setHeader(replayed, '1')),
      ['rpc.replay.charge', 'rpc.replay.expiry.kept', 'billing.conservation'],
    ],
  },
  'rpc.replay.body': {
    'replay-runs-again': [
      'A replay runs again and returns a newer result.',
      changeResult('replayed', reply => ({
        ...reply,
        text: reply.text.replace(/[0-9a-f](?="?[}\]])/, digit => (digit === '1' ? '2' : '1')),
      })),
    ],
    'replay-reformatted': [
      'A replay is reformatted JSON.',
      changeResult('replayed', reply => ({ ...reply, text: JSON.stringify(JSON.parse(reply.text), null, 1) })),
    ],
  },
  'rpc.replay.conflict': {
    'conflict-from-cache': ['A used key with another body gets the cached reply.', replayAlways],
    'conflict-runs': [
      'A used key with another body runs as a new request.',
      changeResult('lookUpReply', found => (found.kind === 'conflict' ? ({ kind: 'new' } as const) : found)),
    ],
    'conflict-is-409': [
      'A used key with another body returns 409.',
      changeReplyIf(all(hasStatus(400), says('Idempotency-Key was used')), setStatus(409)),
    ],
  },
  'rpc.replay.any-key': {
    'replays-by-api-key': [
      'Each API key of an account has its own idempotency keys.',
      changeResult('replayScope', (scope, _, { request }) => `${scope}/${request.headers.authorization}`),
    ],
  },
  'rpc.replay.per-user': {
    'keys-for-all': ['All accounts share idempotency keys.', () => ({ replayScope: () => 'all' })],
    'keys-by-tier': ['All accounts of a tier share idempotency keys.', () => ({ replayScope: ({ tier }) => tier })],
  },
  'rpc.replay.key': {
    'key-one-shorter': ['A key may have at most 254 characters.', rejectKey(key => key.length > 254)],
    'key-of-eight-at-least': ['A key must have at least 8 characters.', rejectKey(key => key.length < 8)],
    'key-cut-at-64': ['Only the first 64 characters of a key count.', cacheAs(key => key.slice(0, 64))],
    'key-cut-at-254': ['Only the first 254 characters of a key count.', cacheAs(key => key.slice(0, 254))],
    'key-cut-from-its-start': ['Only the last 254 characters of a key count.', cacheAs(key => key.slice(-254))],
    'key-without-case': ['The case of letters in a key does not count.', cacheAs(inLowerCase)],
    'key-with-one-mark': ['Hyphens and underscores of a key are the same.', cacheAs(key => key.replaceAll('-', '_'))],
    'key-without-case-replays': [
      'The case of letters in a key does not count, and every used key gets the cached reply.',
      (honest, contract) => ({ cachedKey: inLowerCase, ...replayAlways(honest, contract) }),
      ['rpc.replay.conflict'],
    ],
    'key-without-underscore': ['A key must not have an underscore.', rejectKey(key => key.includes('_'))],
  },
  'rpc.replay.bad-key': {
    'key-one-longer': ['A key may have 256 characters.', acceptKey(/^[\w-]{1,256}$/)],
    'key-of-any-length': ['A key may have any number of characters.', acceptKey(/^[\w-]+$/)],
    'key-with-dots': ['A key may have dots.', acceptKey(/^[\w.-]{1,255}$/)],
    'key-with-spaces': ['A key may have spaces.', acceptKey(/^[\w -]{1,255}$/)],
    'key-with-colons': ['A key may have colons.', acceptKey(/^[\w:-]{1,255}$/)],
    'key-of-base64': ['A key may have the characters of base64.', acceptKey(/^[\w+/=-]{1,255}$/)],
    'empty-key-is-none': [
      'An empty key is ignored.',
      changeResult('keyFate', (fate, key) => (key === '' ? 'ignored' : fate)),
    ],
    'bad-key-is-none': [
      'An invalid key is ignored.',
      changeResult('keyFate', fate => (fate === 'used' ? 'used' : 'ignored')),
    ],
  },
  'rpc.replay.expiry.kept': {
    'key-expires-early': ['A key expires after half its lifetime.', multiply('replayTtlMs', 0.5)],
    'key-kept-for-a-second': ['A key expires after one second.', () => ({ replayTtlMs: 1_000 })],
  },
  'rpc.replay.expiry.ends': {
    'key-never-expires': ['A key never expires.', () => ({ replayTtlMs: Number.POSITIVE_INFINITY })],
    'key-expires-late': ['A key expires after twice its lifetime.', multiply('replayTtlMs', 2)],
  },
} satisfies Lies
