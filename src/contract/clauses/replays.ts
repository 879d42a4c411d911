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
  'rpc.replay.key': {
    section: '4.3',
    says: 'A key may have 1 to 255 letters, digits, underscores and hyphens.',
    judges: ['probe'],
    needs: 'keys at the edges of the pattern',
  },
  'rpc.replay.bad-key': {
    section: '4.3',
    says: 'A key that does not match the pattern is answered with 400.',
    judges: ['probe'],
    basis: 'profile',
  },
  'rpc.replay.expiry.kept': {
    section: '4.3',
    says: 'An answer is kept for its key for 24 hours.',
    judges: ['idempotency'],
  },
  'rpc.replay.expiry.ends': {
    section: '4.3',
    says: 'After 24 hours a key is new again.',
    judges: ['idempotency'],
    needs: 'a profile with a short lifetime',
  },
  'rpc.replay.any-key': {
    section: '4.3',
    says: 'An idempotency key holds for all API keys of its user.',
    judges: ['idempotency'],
    needs: 'callers with several API keys, and replays with other-key',
  },
} as const satisfies Clauses
