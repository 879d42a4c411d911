import type { Clauses } from '../clause.ts'

/** Headers that are there on some occasions only. */
export const occasionalHeaderClauses = {
  'header.booleans': {
    section: '4.4',
    says: 'A header that says whether something is so is true or false.',
    judges: ['occasional-headers'],
  },
  'header.timestamp': {
    section: '4.4',
    says: 'The timestamp of an answer is in ISO 8601.',
    judges: ['occasional-headers'],
  },
  'header.host-name': {
    section: '4.4',
    says: 'An answer that names its host names one.',
    judges: ['occasional-headers'],
  },
  'header.model-router': {
    section: '4.4',
    says: 'An inference answer that says how it was routed names the router.',
    judges: ['occasional-headers'],
  },
  'header.control-instance': {
    section: '4.4',
    says: 'An image that says which instance made it names one.',
    judges: ['occasional-headers'],
  },
  'header.deprecation.pair': {
    section: '4.4',
    says: 'The warning of a deprecated model and its date come together.',
    judges: ['occasional-headers'],
  },
  'header.deprecation.date': {
    section: '4.4',
    says: 'The date of a deprecated model is one of ISO 8601.',
    judges: ['occasional-headers'],
  },
  'header.deprecation.present': {
    section: '9',
    says: 'An answer of a deprecated model warns of its retirement.',
    judges: ['occasional-headers'],
    basis: 'profile',
  },
  'header.deprecation.absent': {
    section: '4.4',
    says: 'An answer of a model that stays does not warn of its retirement.',
    judges: ['occasional-headers'],
    basis: 'profile',
  },
  'header.retry-count': {
    section: '4.4',
    says: 'The number of retries is a whole one.',
    judges: ['occasional-headers'],
  },
  'header.balance-remaining': {
    section: '4.4',
    says: 'The balance of a wallet is shown to wallets alone.',
    judges: ['occasional-headers'],
  },
  'header.payment-required': {
    section: '4.4',
    says: 'Payment requirements are on a 402 alone, as JSON in base64.',
    judges: ['occasional-headers'],
  },
} as const satisfies Clauses
