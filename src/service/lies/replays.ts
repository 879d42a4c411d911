import { isObject, parseJson, toObject } from '../../lib/json.ts'
import { pico } from '../../lib/money.ts'
import type { Behavior } from '../behavior.ts'
import type { RequestState } from '../message.ts'
import type { CachedReply } from '../rpc/replays.ts'
import { always, arrivalOf, multiply, result } from './decisions.ts'
import { alsoViolating, type LieRow, type Lies, row } from './lie.ts'
import {
  addHeader,
  all,
  hasStatus,
  header,
  isNodeReply,
  not,
  type ReplyTest,
  replies,
  says,
  setStatus,
  withoutHeaders,
} from './replies.ts'

const replayed = 'idempotent-replayed'

const hasKey: ReplyTest = (_, { request }) => request.headers['idempotency-key'] !== undefined

const rejectKey = (text: string, isRejected: (key: string) => boolean): LieRow =>
  result(text, 'keyFate', (fate, key) => (isRejected(key) ? 'rejected' : fate))

const acceptKey = (text: string, pattern: RegExp): LieRow =>
  result(text, 'keyFate', (fate, key) => (pattern.test(key) ? 'used' : fate))

const callsIn = (body: string): readonly unknown[] => [parseJson(body)].flat()
const withoutParams = (call: unknown): string => (isObject(call) ? `${call.id} ${call.method}` : '')

const withoutMethod = (call: unknown): string => JSON.stringify({ ...toObject(call), method: '' })
const withoutId = (call: unknown): string => JSON.stringify({ ...toObject(call), id: '' })

/** Runs some requests again, whatever their keys: each has a scope of its own. */
const ignoreKeys = (text: string, isIgnored: (request: RequestState['request']) => boolean): LieRow =>
  row(text, honest => {
    let ignored = 0
    return {
      replayScope: (account, state) =>
        `${honest.replayScope(account, state)}${isIgnored(state.request) ? ++ignored : ''}`,
    }
  })

/** Keeps the latest keys of an account; one that came before them is new again. */
const keepLatest = (text: string, most: number): LieRow =>
  row(text, honest => {
    const placeOf = new Map<string, number>()
    const countOf = new Map<string, number>()
    return {
      replayScope: (account, state) => {
        const scope = honest.replayScope(account, state)
        const key = `${scope}/${state.request.headers['idempotency-key']}`
        const count = countOf.get(scope) ?? 0
        const place = placeOf.get(key)
        if (place !== undefined && count - place <= most) return `${scope}/${place}`
        placeOf.set(key, count)
        countOf.set(scope, count + 1)
        return `${scope}/${count}`
      },
    }
  })

/** Caches a reply under a changed key. */
const cacheAs = (text: string, change: (key: string) => string): LieRow => always(text, { cachedKey: change })

/** Finds the cached reply of a used key, whatever the request. */
const lookUpAlways =
  ({ lookUpReply }: Behavior): Behavior['lookUpReply'] =>
  (stored, fingerprint) =>
    stored === undefined ? lookUpReply(stored, fingerprint) : { kind: 'replay', reply: stored }

/** What a key is after a request with it and another body was refused. */
const afterConflict = (text: string, kind: 'new' | 'conflict'): LieRow =>
  row(text, ({ lookUpReply }) => {
    const refused = new WeakSet<CachedReply>()
    return {
      lookUpReply: (stored, fingerprint) => {
        if (stored !== undefined && refused.has(stored)) return { kind }
        const found = lookUpReply(stored, fingerprint)
        if (stored !== undefined && found.kind === 'conflict') refused.add(stored)
        return found
      },
    }
  })

/** A used key is new again if its reply fits; `times` counts how often it was looked up. */
const forget = (text: string, fits: (stored: CachedReply, times: number) => boolean): LieRow =>
  row(text, honest => {
    const lookedUp = new WeakMap<CachedReply, number>()
    return {
      lookUpReply: (stored, fingerprint) => {
        const found = honest.lookUpReply(stored, fingerprint)
        if (stored === undefined || found.kind !== 'replay') return found
        const times = (lookedUp.get(stored) ?? 0) + 1
        lookedUp.set(stored, times)
        return fits(stored, times) ? { kind: 'new' } : found
      },
    }
  })

type Opening = { readonly text: string; readonly hasAnswers: boolean }

/** The text that begins a chat, and whether it has gone on; null: no chat. */
function openingOf(body: unknown): Opening | null {
  const messages = toObject(body)?.messages
  if (!Array.isArray(messages)) return null
  const first = messages.find(message => toObject(message)?.role === 'user')
  return { text: JSON.stringify(first), hasAnswers: messages.some(message => toObject(message)?.role === 'assistant') }
}

/** Tells a lie how the latest chat began. */
function latestOpening(honest: Behavior): { readonly opening: () => Opening | null } & Pick<Behavior, 'chatBody'> {
  let latest: Opening | null = null
  return {
    opening: () => latest,
    chatBody: body => {
      latest = openingOf(body)
      return honest.chatBody(body)
    },
  }
}

const inLowerCase = (key: string): string => key.toLowerCase()

export const replayLies = {
  'rpc.replay.charge': {
    // The balance before a request, one price too low, can be the balance after it. It can also be a double charge.
    'replay-charged-again': alsoViolating(
      ['billing.balance-before', 'billing.conservation'],
      always('A replay is charged like the first request.', { replayChargePicoUsd: ({ costUsd }) => pico(costUsd) }),
    ),
    'key-stored-after-its-reply': row('A request whose original is still in progress runs again.', honest => {
      const { atMs, windowAt } = arrivalOf(honest)
      return {
        windowAt,
        lookUpReply: (stored, fingerprint) =>
          stored !== undefined && stored.fingerprint === fingerprint && atMs() < stored.readyMs
            ? { kind: 'new' }
            : honest.lookUpReply(stored, fingerprint),
      }
    }),
    'replay-charged-a-little': row('A replay is charged like a failing item.', (honest, { rpc }) => ({
      replayChargePicoUsd: () => honest.costPicoUsd(rpc.errorItemCredits),
    })),
  },
  'rpc.replay.header': {
    'replay-unmarked': alsoViolating(
      ['rpc.replay.charge', 'rpc.replay.expiry.kept', 'billing.conservation'],
      withoutHeaders('A replay has no replay header.', replayed),
    ),
    'every-call-marked': alsoViolating(
      ['rpc.replay.charge', 'billing.conservation'],
      replies('Calls without a key are marked as replays.', all(isNodeReply, not(hasKey)), addHeader(replayed, 'true')),
    ),
    'first-use-marked': alsoViolating(
      ['rpc.replay.charge', 'rpc.replay.per-user', 'billing.balance-before'],
      replies('The first use of a key is marked as a replay.', all(isNodeReply, hasKey), addHeader(replayed, 'true')),
    ),
    'keys-ignored-on-solana': alsoViolating(
      ['rpc.replay.charge', 'rpc.replay.expiry.kept', 'billing.conservation'],
      ignoreKeys('Keys are ignored on Solana.', ({ path }) => path.includes('solana')),
    ),
    'failed-call-forgotten': alsoViolating(
      ['rpc.replay.charge', 'rpc.replay.expiry.kept', 'billing.conservation'],
      forget('A call that fails is not stored for its key.', ({ text }) => /^\{.*"error":/.test(text)),
    ),
    'key-ends-with-its-sixth-replay': alsoViolating(
      ['rpc.replay.charge', 'rpc.replay.expiry.kept', 'billing.conservation'],
      forget('A key is new again after five replays.', (_, times) => times > 5),
    ),
    'latest-twenty-keys-kept': alsoViolating(
      ['rpc.replay.charge', 'rpc.replay.expiry.kept', 'billing.conservation'],
      keepLatest('Only the latest 20 keys of an account are kept.', 20),
    ),
    'conflict-takes-key': afterConflict('After a conflict, the first body of its key conflicts, too.', 'conflict'),
    'replay-marked-with-one': alsoViolating(
      ['rpc.replay.charge', 'rpc.replay.expiry.kept', 'billing.conservation'],
      header('The replay header is 1 instead of true.', replayed, '1'),
    ),
  },
  'rpc.replay.body': {
    'replay-runs-again': result('A replay runs again and returns a newer result.', 'replayed', reply => ({
      ...reply,
      text: reply.text.replace(/[0-9a-f](?="?[}\]])/, digit => (digit === '1' ? '2' : '1')),
    })),
    'replay-reformatted': result('A replay is reformatted JSON.', 'replayed', reply => {
      const value = parseJson(reply.text)
      return value === undefined ? reply : { ...reply, text: JSON.stringify(value, null, 1) }
    }),
  },
  'rpc.replay.conflict': {
    'conflict-from-cache': row('A used key with another body gets the cached reply.', honest => ({
      lookUpReply: lookUpAlways(honest),
    })),
    'conflict-runs': alsoViolating(
      ['rpc.replay.expiry.kept'],
      result('A used key with another body runs as a new request.', 'lookUpReply', found =>
        found.kind === 'conflict' ? ({ kind: 'new' } as const) : found,
      ),
    ),
    'params-not-compared': always('A used key with other parameters of the same calls gets the cached reply.', {
      comparedBody: body => callsIn(body).map(withoutParams).join(),
    }),
    'first-item-compared': always('A used key with another body gets the cached reply if the first item is the same.', {
      comparedBody: body => JSON.stringify(callsIn(body)[0]),
    }),
    'methods-not-compared': always('A used key with other methods and the same parameters gets the cached reply.', {
      comparedBody: body => callsIn(body).map(withoutMethod).join(),
    }),
    'ids-not-compared': always('A used key with other ids of the same calls gets the cached reply.', {
      comparedBody: body => callsIn(body).map(withoutId).join(),
    }),
    'conflict-is-409': replies(
      'A used key with another body returns 409.',
      all(hasStatus(400), says('Idempotency-Key was used')),
      setStatus(409),
    ),
  },
  'rpc.replay.any-key': {
    'replays-by-api-key': result(
      'Each API key of an account has its own idempotency keys.',
      'replayScope',
      (scope, _, { request }) => `${scope}/${request.headers.authorization}`,
    ),
  },
  'rpc.replay.per-user': {
    'keys-for-all': always('All accounts share idempotency keys.', { replayScope: () => 'all' }),
    'keys-for-all-wallets': result('All wallets share idempotency keys.', 'replayScope', (scope, { wallet }) =>
      wallet === undefined ? scope : 'wallets',
    ),
    'keys-by-tier': always('All accounts of a tier share idempotency keys.', { replayScope: ({ tier }) => tier }),
  },
  'rpc.replay.key': {
    'key-one-shorter': rejectKey('A key may have at most 254 characters.', key => key.length > 254),
    'key-of-eight-at-least': rejectKey('A key must have at least 8 characters.', key => key.length < 8),
    'key-cut-at-64': cacheAs('Only the first 64 characters of a key count.', key => key.slice(0, 64)),
    'key-cut-at-254': cacheAs('Only the first 254 characters of a key count.', key => key.slice(0, 254)),
    'key-cut-from-its-start': cacheAs('Only the last 254 characters of a key count.', key => key.slice(-254)),
    'key-without-case': cacheAs('The case of letters in a key does not count.', inLowerCase),
    'key-with-one-mark': cacheAs('Hyphens and underscores of a key are the same.', key => key.replaceAll('-', '_')),
    'key-without-case-replays': alsoViolating(
      ['rpc.replay.conflict'],
      row('The case of letters in a key does not count, and every used key gets the cached reply.', honest => ({
        cachedKey: inLowerCase,
        lookUpReply: lookUpAlways(honest),
      })),
    ),
    'key-without-underscore': rejectKey('A key must not have an underscore.', key => key.includes('_')),
  },
  'rpc.replay.bad-key': {
    'key-one-longer': acceptKey('A key may have 256 characters.', /^[\w-]{1,256}$/),
    'key-of-any-length': acceptKey('A key may have any number of characters.', /^[\w-]+$/),
    'key-with-dots': acceptKey('A key may have dots.', /^[\w.-]{1,255}$/),
    'key-with-spaces': acceptKey('A key may have spaces.', /^[\w -]{1,255}$/),
    'key-with-colons': acceptKey('A key may have colons.', /^[\w:-]{1,255}$/),
    'key-of-base64': acceptKey('A key may have the characters of base64.', /^[\w+/=-]{1,255}$/),
    'bad-key-is-none-for-batches': row('An invalid key of a batch is ignored.', honest => {
      let isOfBatch = false
      return {
        scope: (scope, state) => {
          isOfBatch = String(state.request.body).startsWith('[')
          return honest.scope(scope, state)
        },
        keyFate: key => {
          const fate = honest.keyFate(key)
          return fate === 'rejected' && isOfBatch ? 'ignored' : fate
        },
      }
    }),
    'empty-key-is-none': result('An empty key is ignored.', 'keyFate', (fate, key) => (key === '' ? 'ignored' : fate)),
    'bad-key-is-none': result('An invalid key is ignored.', 'keyFate', fate => (fate === 'used' ? 'used' : 'ignored')),
  },
  'rpc.replay.expiry.kept': {
    'key-expires-early': multiply('A key expires after half its lifetime.', 'replayTtlMs', 0.5),
    // Behind a far network, a request is repeated later than that.
    'key-kept-for-a-second': alsoViolating(
      ['rpc.replay.header'],
      always('A key expires after one second.', { replayTtlMs: 1_000 }),
    ),
    'conflict-forgets-key': afterConflict('After a conflict, its key is new again.', 'new'),
  },
  'rpc.replay.expiry.ends': {
    'key-never-expires': always('A key never expires.', { replayTtlMs: Number.POSITIVE_INFINITY }),
    'key-expires-late': multiply('A key expires after twice its lifetime.', 'replayTtlMs', 2),
  },
} satisfies Lies

/** Lies about replays of chat, which only a profile promises. */
export const chatReplayLies = {
  'rpc.replay.header': {
    'key-of-the-conversation': row(
      'A conversation has one idempotency key, so later turns get the reply to the first one.',
      honest => {
        const { chatBody, opening } = latestOpening(honest)
        return { chatBody, cachedKey: key => opening()?.text ?? key, lookUpReply: lookUpAlways(honest) }
      },
    ),
  },
  'rpc.replay.body': {
    'replay-of-an-earlier-turn': row(
      'A replay in a conversation gets the first answer of the conversation that was replayed.',
      honest => {
        const firsts = new Map<string, CachedReply>()
        const { chatBody, opening } = latestOpening(honest)
        return {
          chatBody,
          replayed: stored => {
            const reply = honest.replayed(stored)
            const { text, hasAnswers } = opening() ?? { text: '', hasAnswers: false }
            const first = firsts.get(text)
            if (first === undefined) firsts.set(text, reply)
            return hasAnswers ? (first ?? reply) : reply
          },
        }
      },
    ),
  },
} satisfies Lies

/** Lies about replays of streams, which only a profile promises. */
export const streamReplayLies = {
  'rpc.replay.header': {
    'keys-of-streams-ignored': alsoViolating(
      ['rpc.replay.charge', 'rpc.replay.expiry.kept', 'billing.conservation'],
      ignoreKeys('A stream runs again for its key.', ({ body }) => isStreamed(body)),
    ),
  },
  'rpc.replay.body': {
    'stream-replay-lacks-a-word': result(
      'The replay of a stream lacks the last piece of its text.',
      'replayed',
      reply => ({ ...reply, text: withoutLastPiece(reply.text) }),
    ),
  },
} satisfies Lies

const isStreamed = (body: Buffer | string): boolean => toObject(parseJson(String(body)))?.stream === true

/** The events of a stream without the last one that has a text. */
function withoutLastPiece(text: string): string {
  const events = text.split('\n\n')
  const last = events.findLastIndex(event => /"content":"[^"]/.test(event))
  return events.filter((_, at) => at !== last || last < 0).join('\n\n')
}
