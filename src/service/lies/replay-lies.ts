import { type Lies, lie, replyLie } from './lie.ts'
import { isRelayed, textOf, withHeader, withoutHeaders } from './reply-edit.ts'

export const replayLies = {
  'rpc.replay.header': [
    replyLie(
      'replay-unmarked',
      'A replay is not marked as one.',
      reply => withoutHeaders(reply, 'idempotent-replayed'),
      ['rpc.replay.charge', 'billing.conservation'],
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
      ['rpc.replay.charge', 'billing.conservation'],
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
      findStored: (stored, fingerprint) =>
        stored === undefined ? honest.findStored(stored, fingerprint) : { kind: 'replay', stored },
    })),
    lie('conflict-runs', 'A used key with another body is run as a new request.', honest => ({
      findStored: (stored, fingerprint) => {
        const finding = honest.findStored(stored, fingerprint)
        return finding.kind === 'conflict' ? { kind: 'new' } : finding
      },
    })),
    replyLie('conflict-is-409', 'A used key with another body is answered with 409.', reply =>
      reply.status === 400 && textOf(reply).includes('Idempotency-Key was used') ? { ...reply, status: 409 } : reply,
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
} as const satisfies Lies
