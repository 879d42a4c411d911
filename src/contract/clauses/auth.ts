import type { Clauses } from '../clause.ts'

const noCredentials = 'a key of such a user: TURNPIKE_UNPAYING_KEY, or the reference service'

/** Who may call. */
export const authClauses = {
  'auth.bearer': { section: '5', says: 'A request whose key is not valid is answered with 401.', judges: ['probe'] },
  'auth.missing': { section: '5', says: 'A request without credentials is answered with 401.', judges: ['probe'] },
  'auth.malformed': {
    section: '5',
    says: 'A request with credentials of another scheme is answered with 401.',
    judges: ['probe'],
  },
  'auth.paid-only': {
    section: '5',
    says: 'A model reserved for paying users answers others with 401.',
    judges: ['probe'],
    needs: noCredentials,
  },
  'auth.keys-share-limits': {
    section: '5',
    says: 'All keys of an account draw on the same limits.',
    judges: ['limiter'],
    needs: 'callers with several keys: keys-each in the callers of the scenario',
  },
} as const satisfies Clauses
