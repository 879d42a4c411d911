import type { Clauses } from '../clause.ts'

/** What leaves the balance. */
export const billingClauses = {
  'billing.balance-before': {
    section: '4.4',
    says: 'The balance headers show the balance before the request.',
    judges: ['ledger'],
  },
  'billing.conservation': {
    section: '1',
    says: 'What leaves the balance is what the answers say was charged.',
    judges: ['ledger'],
  },
} as const satisfies Clauses
