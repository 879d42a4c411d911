import type { ClauseRows } from '../clause.ts'

/** Who may call. */
export const authClauses = {
  'auth.bearer': ['5', 'probe', 'A request whose key is not valid is answered with 401.'],
  'auth.missing': ['5', 'probe', 'A request without credentials is answered with 401.'],
  'auth.malformed': ['5', 'probe', 'A request with credentials of another scheme is answered with 401.'],
  'auth.paid-only': [
    '5',
    'probe',
    'A model reserved for paying users answers others with 401.',
    { needs: 'a key of such a user: TURNPIKE_FREE_USER_KEY, or the reference service' },
  ],
  'auth.keys-share-limits': [
    '5',
    'rate-limits',
    'All keys of an account draw on the same limits.',
    { needs: 'callers with several keys: keys-per-caller in the callers of the scenario' },
  ],
} satisfies ClauseRows
