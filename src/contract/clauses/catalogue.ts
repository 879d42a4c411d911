import type { Clauses } from '../clause.ts'

/** The lists that the service keeps. */
export const catalogueClauses = {
  'catalogue.networks': {
    section: '4.1',
    says: 'The network list names the slugs, sorted and without duplicates.',
    judges: ['catalogue'],
    basis: 'profile',
  },
  'catalogue.models': {
    section: '4.1',
    says: 'The model list is an object list whose members have an id.',
    judges: ['catalogue'],
    basis: 'profile',
  },
  'catalogue.rate-limits': {
    section: '4.1',
    says: "The rate-limit answer lists the caller's limits; they are those of the tier.",
    judges: ['catalogue'],
    basis: 'profile',
  },
} as const satisfies Clauses
