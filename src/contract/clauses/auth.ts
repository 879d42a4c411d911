import type { ClauseRows } from '../clause.ts'

/** Authentication. */
export const authClauses = {
  'auth.bearer': ['5', 'probe', 'A request with an invalid key gets a 401.'],
  'auth.missing': ['5', 'probe', 'A request without credentials gets a 401, or a 402 that offers payment.'],
  'auth.malformed': ['5', 'probe', 'A request with credentials of another scheme gets a 401, or a 402 that offers payment.'],
  'auth.paid-only': [
    '5',
    'probe',
    'A request for a model reserved for paying users gets a 401 if its user does not pay.',
    { needs: 'a key of such a user: TURNPIKE_FREE_USER_KEY, or the reference service' },
  ],
  'auth.keys-share-limits': [
    '5',
    'rate-limits',
    'All keys of an account share the same limits.',
    { needs: 'callers with several keys (keys-per-caller in the scenario), and a profile with limits.scope: account' },
  ],
} satisfies ClauseRows
