import type { ClauseRows } from '../clause.ts'

/** What a violation hides if charges or balances cannot be read. */
export const money = ['billing.balance-before', 'billing.conservation', 'billing.currency', 'rpc.refused.free', 'rpc.replay.charge'] as const

/** Idempotent replays. */
export const replayClauses = {
  'rpc.replay.header': [
    '4.3',
    'idempotency',
    'A repeated request with the same key and body gets Idempotent-Replayed: true; a first request does not.',
    {
      hides: [
        'replays are not marked as such',
        ['rpc.replay.body', 'rpc.replay.any-key', 'rpc.replay.expiry.kept', 'rpc.replay.expiry.ends', 'rpc.replay.charge'],
      ],
    },
  ],
  'rpc.replay.body': ['4.3', 'idempotency', 'A replay returns the cached response, byte for byte.'],
  'rpc.replay.charge': ['4.3', ['idempotency', 'ledger'], 'A replay is not charged.', { exercisedBy: 'replay' }],
  'rpc.replay.conflict': ['4.3', 'idempotency', 'A request with a used key and another body gets a 400.', { exercisedBy: 'replay-conflict' }],
  'rpc.replay.per-user': ['4.3', 'idempotency', 'An idempotency key belongs to one user.', { exercisedBy: 'replay-of-other-caller' }],
  'rpc.replay.key': [
    '4.3',
    ['probe', 'idempotency'],
    'A key may have 1 to 255 letters, digits, underscores and hyphens.',
    { needs: 'keys at the limits of the pattern' },
  ],
  'rpc.replay.bad-key': ['4.3', 'probe', 'A request with a key that does not match the pattern gets a 400.', { source: 'profile' }],
  'rpc.replay.expiry.kept': ['4.3', 'idempotency', 'A response stays cached for its key for 24 hours.', { exercisedBy: 'replay-later' }],
  'rpc.replay.expiry.ends': [
    '4.3',
    'idempotency',
    'After 24 hours a key counts as new again.',
    { needs: 'a profile with a short lifetime', exercisedBy: 'replay-later' },
  ],
  'rpc.replay.any-key': [
    '4.3',
    'idempotency',
    'An idempotency key is valid for all API keys of its user.',
    { needs: 'callers with several API keys, and replays with other-key', exercisedBy: 'replay-with-other-key' },
  ],
} satisfies ClauseRows

const unseen = {
  unseen: 'no caller got two responses that state its balance and the cost of what it requested between them',
} as const

/** Charges to the balance. */
export const billingClauses = {
  'billing.balance-before': ['4.4', 'ledger', 'The balance headers show the balance before the request.', unseen],
  'billing.conservation': ['1', 'ledger', 'The amount that leaves the balance is the amount that the responses claim.', unseen],
  'billing.hang-up.amount': [
    '1',
    'ledger',
    'A completion that its client leaves is charged as the profile says.',
    { source: 'profile', needs: 'a profile with billing.hangUp', exercisedBy: 'hang-up' },
  ],
  'billing.hang-up.once': [
    '1',
    'ledger',
    'A completion that its client leaves is charged once.',
    { source: 'profile', needs: 'a profile with billing.hangUp', exercisedBy: 'hang-up' },
  ],
  'billing.hang-up.late': [
    '1',
    'ledger',
    'Nothing is generated and charged any more once a client has left.',
    { source: 'profile', needs: 'a profile with billing.hangUp', exercisedBy: 'hang-up' },
  ],
  'billing.overdraft': [
    '7',
    'overdraft',
    'Requests get no more than the balance pays for, however many come at once: one of them at most overdraws it.',
    { source: 'profile', needs: 'a profile with billing.atOnce, and a caller whose balance is almost used up' },
  ],
  'billing.covered': [
    '7',
    'overdraft',
    'A request that the balance covers is not refused with a 402.',
    {
      source: 'profile',
      needs: 'a profile with billing.atOnce, and a caller whose balance is almost used up',
      evenIfRefused: true,
    },
  ],
  'billing.currency': ['2.4', 'ledger', 'The DIEM and USD costs that a completion states are taken from these two balances.'],
} satisfies ClauseRows
