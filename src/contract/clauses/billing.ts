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
  'billing.currency': {
    section: '2.4',
    says: 'What a completion says that it cost in DIEM and in USD leaves these two balances.',
    judges: ['ledger'],
  },
} as const satisfies Clauses
