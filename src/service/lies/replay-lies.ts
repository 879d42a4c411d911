import { type Lie, type Lies, lie, replyLie } from './lie.ts'
import { isRelayed, textOf, withHeader, withoutHeaders } from './reply-edit.ts'

const refusing = (name: string, says: string, isRefused: (key: string) => boolean): Lie =>
  lie(name, says, honest => ({ keyFate: key => (isRefused(key) ? 'rejected' : honest.keyFate(key)) }))

const using = (name: string, says: string, isUsed: (key: string) => boolean): Lie =>
  lie(name, says, honest => ({ keyFate: key => (isUsed(key) ? 'used' : honest.keyFate(key)) }))

export const replayLies = {
  'rpc.replay.header': [
    replyLie(
      'replay-unmarked',
      'A replay is not marked as one.',
      reply => withoutHeaders(reply, 'idempotent-replayed'),
      ['rpc.replay.charge', 'rpc.replay.expiry.kept', 'billing.conservation'],
    ),
    replyLie(
      'first-use-marked',
      'The first use of a key is marked as a replay.',
      (reply, visit) =>
        isRelayed(reply, visit) && visit.request.headers['idempotency-key'] !== undefined
          ? { ...reply, headers: { ...reply.headers, 'idempotent-replayed': 'true' } }
          : reply,
      ['rpc.replay.charge', 'rpc.replay.per-user', 'billing.balance-before'],
    ),
    replyLie(
      'replay-marked-with-one',
      'The mark of a replay is 1.',
      reply => withHeader(reply, 'idempotent-replayed', '1'),
      ['rpc.replay.charge', 'rpc.replay.expiry.kept', 'billing.conservation'],
    ),
  ],
  'rpc.replay.body': [
    lie('replay-runs-again', 'A replay is run again, on a chain that has moved on.', honest => ({
      replayed: stored => {
        const meant = honest.replayed(stored)
        return { ...meant, text: meant.text.replace(/[0-9a-f](?="?[}\]])/, digit => (digit === '1' ? '2' : '1')) }
      },
    })),
    lie('replay-reformatted', 'A replay is parsed and printed anew.', honest => ({
      replayed: stored => {
        const meant = honest.replayed(stored)
        return { ...meant, text: JSON.stringify(JSON.parse(meant.text), null, 1) }
      },
    })),
  ],
  'rpc.replay.conflict': [
    lie('conflict-from-cache', 'A used key with another body is answered from the cache.', honest => ({
      lookUpReply: (stored, fingerprint) =>
        stored === undefined ? honest.lookUpReply(stored, fingerprint) : { kind: 'replay', reply: stored },
    })),
    lie('conflict-runs', 'A used key with another body is run as a new request.', honest => ({
      lookUpReply: (stored, fingerprint) => {
        const finding = honest.lookUpReply(stored, fingerprint)
        return finding.kind === 'conflict' ? { kind: 'new' } : finding
      },
    })),
    replyLie('conflict-is-409', 'A used key with another body is answered with 409.', reply =>
      reply.status === 400 && textOf(reply).includes('Idempotency-Key was used') ? { ...reply, status: 409 } : reply,
    ),
  ],
  'rpc.replay.any-key': [
    lie(
      'replays-by-api-key',
      'An idempotency key is looked up among those of the API key that it came with.',
      honest => ({
        replayScope: (account, visit) => `${honest.replayScope(account, visit)}/${visit.request.headers.authorization}`,
      }),
    ),
  ],
  'rpc.replay.per-user': [
    lie('keys-for-all', 'An idempotency key is looked up among those of all accounts.', () => ({
      replayScope: () => 'all',
    })),
    lie('keys-by-tier', 'An idempotency key is looked up among those of its account tier.', () => ({
      replayScope: ({ tier }) => tier,
    })),
  ],
  'rpc.replay.key': [
    refusing('key-one-shorter', 'A key may have 254 characters.', key => key.length > 254),
    refusing('key-of-eight-at-least', 'A key must have 8 characters.', key => key.length < 8),
    refusing('key-without-underscore', 'A key must not have an underscore.', key => key.includes('_')),
  ],
  'rpc.replay.bad-key': [
    using('key-one-longer', 'A key may have 256 characters.', key => /^[\w-]{1,256}$/.test(key)),
    using('key-of-any-length', 'A key may have any number of characters.', key => /^[\w-]+$/.test(key)),
    using('key-with-dots', 'A key may have dots.', key => /^[\w.-]{1,255}$/.test(key)),
    using('key-with-spaces', 'A key may have spaces.', key => /^[\w -]{1,255}$/.test(key)),
    using('key-with-colons', 'A key may have colons.', key => /^[\w:-]{1,255}$/.test(key)),
    using('key-of-base64', 'A key may have what base64 has.', key => /^[\w+/=-]{1,255}$/.test(key)),
    lie('empty-key-is-none', 'An empty key is as none at all.', honest => ({
      keyFate: key => (key === '' ? 'ignored' : honest.keyFate(key)),
    })),
    lie('bad-key-is-none', 'A key that does not match is as none at all.', honest => ({
      keyFate: key => (honest.keyFate(key) === 'used' ? 'used' : 'ignored'),
    })),
  ],
  'rpc.replay.expiry.kept': [
    lie('key-expires-early', 'A key expires in half of its lifetime.', honest => ({
      replayTtlMs: honest.replayTtlMs / 2,
    })),
    lie('key-kept-for-a-second', 'A key expires within a second.', () => ({ replayTtlMs: 1_000 })),
  ],
  'rpc.replay.expiry.ends': [
    lie('key-never-expires', 'A key never expires.', () => ({ replayTtlMs: Number.POSITIVE_INFINITY })),
    lie('key-expires-late', 'A key expires after twice its lifetime.', honest => ({
      replayTtlMs: honest.replayTtlMs * 2,
    })),
  ],
} as const satisfies Lies
