import type { Clauses } from '../clause.ts'

/** The block that follows too many failures. */
export const abuseClauses = {
  'abuse.block': {
    section: '7',
    says: 'More than 20 requests with a non-success status within 30 seconds block the caller.',
    judges: ['abuse'],
  },
  'abuse.not-early': {
    section: '7',
    says: 'No caller is blocked for 20 requests with a non-success status or fewer.',
    judges: ['abuse'],
  },
  'abuse.counts': {
    section: '7',
    says: 'Every non-success status counts towards the block, and a success does not.',
    judges: ['abuse'],
  },
  'abuse.all-requests': {
    section: '7',
    says: 'A block holds for all requests of the caller.',
    judges: ['abuse'],
  },
  'abuse.duration': { section: '7', says: 'A block lasts for 30 seconds.', judges: ['abuse'] },
  'abuse.ends': { section: '7', says: 'A block is over after 30 seconds.', judges: ['abuse'] },
  'abuse.message': {
    section: '7',
    says: 'A request during a block is answered with an error message that says to wait 30 s and retry.',
    judges: ['abuse'],
  },
} as const satisfies Clauses
