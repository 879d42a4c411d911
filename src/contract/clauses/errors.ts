import type { Clauses } from '../clause.ts'

/** What an error looks like, and which refusal has which status. */
export const errorClauses = {
  'error.402': {
    section: '7',
    says: 'A request that the balance does not cover is answered with 402.',
    judges: ['probe'],
    needs: 'a key of an account without balance: TURNPIKE_EMPTY_KEY, or the reference service',
  },
  'error.object': {
    section: '7',
    says: 'A non-success answer has an error object as its body.',
    judges: ['error-answer'],
  },
  'error.400.object': {
    section: '7',
    says: 'The error object of a 400 is a detailed one: what it says beyond its message is of the known form.',
    judges: ['error-answer'],
  },
  'error.401.object': { section: '7', says: 'A 401 has a standard error object.', judges: ['error-answer'] },
  'error.402.object': {
    section: '7',
    says: 'A 402 has a standard error object, or says what payment is required.',
    judges: ['error-answer'],
    needs: 'a key of an account without balance: TURNPIKE_EMPTY_KEY, or the reference service',
  },
  'error.402.code': {
    section: '7',
    says: 'A 402 to a caller with a key has the code INSUFFICIENT_BALANCE.',
    judges: ['error-answer'],
    needs: 'a key of an account without balance: TURNPIKE_EMPTY_KEY, or the reference service',
  },
  'error.415.object': { section: '7', says: 'A 415 has a standard error object.', judges: ['error-answer'] },
  'error.429.object': { section: '7', says: 'A 429 has a standard error object.', judges: ['error-answer'] },
  'error.500.object': {
    section: '7',
    says: 'A 500 has a standard error object.',
    judges: ['error-answer'],
    needs: 'a fault of the target, as turnpike service --fault makes them',
  },
  'error.503.object': {
    section: '7',
    says: 'A 503 has a standard error object.',
    judges: ['error-answer'],
    needs: 'a fault of the target, as turnpike service --fault makes them',
  },
  'error.504.object': {
    section: '7',
    says: 'A 504 has a standard error object.',
    judges: ['error-answer'],
    needs: 'a fault of the target, as turnpike service --fault makes them',
  },
} as const satisfies Clauses
