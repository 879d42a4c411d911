import type { Clauses } from '../clause.ts'

/** What an error looks like, and which refusal has which status. */
export const errorClauses = {
  'error.402': {
    section: '7',
    says: 'A request that the balance does not cover is answered with 402.',
    judges: ['probe'],
    needs: 'A key of an account without balance: TURNPIKE_EMPTY_KEY, or the reference service.',
  },
  'error.object': {
    section: '7',
    says: 'A non-success answer has an error object as its body.',
    judges: ['error-answer'],
  },
} as const satisfies Clauses
