import type { Clauses } from '../clause.ts'

/** Refusals: who may call, and what an error looks like. */
export const errorClauses = {
  'auth.bearer': { section: '5', says: 'A request whose key is not valid is answered with 401.', judges: ['probe'] },
  'error.object': {
    section: '7',
    says: 'A non-success answer has an error object as its body.',
    judges: ['error-answer'],
  },
} as const satisfies Clauses
