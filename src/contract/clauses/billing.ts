import type { ClauseRows } from '../clause.ts'

/** Idempotent replays. */
export const replayClauses = {
  'rpc.replay.header': ['4.3', 'idempotency', 'A repeated request with the same key and body says Idempotent-Replayed: true; a first one does not.'],
  'rpc.replay.body': ['4.3', 'idempotency', 'A replay returns the cached answer, byte for byte.'],
  'rpc.replay.charge': ['4.3', ['idempotency', 'ledger'], 'A replay is not charged.'],
  'rpc.replay.conflict': ['4.3', 'idempotency', 'A used key with another body is answered with 400.'],
  'rpc.replay.per-user': ['4.3', 'idempotency', 'An idempotency key belongs to one user.'],
  'rpc.replay.key': ['4.3', 'probe', 'A key may have 1 to 255 letters, digits, underscores and hyphens.', { needs: 'keys at the edges of the pattern' }],
  'rpc.replay.bad-key': ['4.3', 'probe', 'A key that does not match the pattern is answered with 400.', { source: 'profile' }],
  'rpc.replay.expiry.kept': ['4.3', 'idempotency', 'An answer is kept for its key for 24 hours.'],
  'rpc.replay.expiry.ends': ['4.3', 'idempotency', 'After 24 hours a key is new again.', { needs: 'a profile with a short lifetime' }],
  'rpc.replay.any-key': [
    '4.3',
    'idempotency',
    'An idempotency key holds for all API keys of its user.',
    { needs: 'callers with several API keys, and replays with other-key' },
  ],
} satisfies ClauseRows

/** What leaves the balance. */
export const billingClauses = {
  'billing.balance-before': ['4.4', 'ledger', 'The balance headers show the balance before the request.'],
  'billing.conservation': ['1', 'ledger', 'What leaves the balance is what the answers say was charged.'],
  'billing.currency': ['2.4', 'ledger', 'What a completion says that it cost in DIEM and in USD leaves these two balances.'],
} satisfies ClauseRows
