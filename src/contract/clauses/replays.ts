import type { Clauses } from '../clause.ts'

/** Idempotent replays. */
export const replayClauses = {
  'rpc.replay.header': {
    section: '4.3',
    says: 'A repeated request with the same key and body says Idempotent-Replayed: true; a first one does not.',
    judges: ['idempotency'],
  },
  'rpc.replay.body': {
    section: '4.3',
    says: 'A replay returns the cached answer, byte for byte.',
    judges: ['idempotency'],
  },
  'rpc.replay.charge': { section: '4.3', says: 'A replay is not charged.', judges: ['idempotency', 'ledger'] },
  'rpc.replay.conflict': {
    section: '4.3',
    says: 'A used key with another body is answered with 400.',
    judges: ['idempotency'],
  },
  'rpc.replay.per-user': { section: '4.3', says: 'An idempotency key belongs to one user.', judges: ['idempotency'] },
} as const satisfies Clauses
