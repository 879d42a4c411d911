import type { Clauses } from '../clause.ts'

/** Headers of any answer. */
export const headerClauses = {
  'header.content-type': { section: '4.4', says: 'Every answer carries Content-Type.', judges: ['headers'] },
  'header.date': { section: '4.4', says: 'Every answer carries Date in the HTTP date format.', judges: ['headers'] },
  'header.date.instant': {
    section: '4.4',
    says: 'Date has the right day of the week, and is that of the answer.',
    judges: ['coherence'],
  },
  'header.cf-ray': { section: '4.4', says: 'Every answer carries CF-RAY.', judges: ['headers'] },
  'header.cf-ray.unique': { section: '4.4', says: 'CF-RAY identifies one request.', judges: ['uniqueness'] },
  'header.version': { section: '4.4', says: 'Every answer carries the service version.', judges: ['headers'] },
  'header.version.format': {
    section: '9',
    says: 'The service version is a date, a dot and time digits.',
    judges: ['headers'],
  },
  'header.model-id': { section: '4.4', says: 'Inference answers name the model used.', judges: ['headers'] },
  'header.model-id.asked': {
    section: '4.4',
    says: 'The model that an answer names is the one that was asked for.',
    judges: ['occasional-headers'],
  },
  'header.model-name.stable': {
    section: '4.4',
    says: 'A model has one display name.',
    judges: ['coherence'],
  },
  'header.model-name': {
    section: '4.4',
    says: 'Inference answers carry the display name of the model.',
    judges: ['headers'],
  },
  'header.balance.usd': {
    section: '4.4',
    says: 'Authenticated answers carry the USD balance as a decimal string.',
    judges: ['headers'],
  },
  'header.balance.diem': {
    section: '4.4',
    says: 'Authenticated answers carry the DIEM balance as a decimal string.',
    judges: ['headers'],
  },
} as const satisfies Clauses
