import type { Clauses } from '../clause.ts'

/** Answers that are compressed on the way. */
export const compressionClauses = {
  'chat.compression': {
    section: '4.2',
    says: 'An unstreamed completion is compressed with gzip or br, where the client accepts it.',
    judges: ['compression'],
  },
  'chat.compression.stream': { section: '4.2', says: 'A stream is not compressed.', judges: ['compression'] },
  'chat.compression.body': {
    section: '4.2',
    says: 'A compressed body is what its Content-Encoding says.',
    judges: ['compression'],
  },
  'header.content-encoding': {
    section: '4.4',
    says: 'An answer has a Content-Encoding only where the client sent Accept-Encoding.',
    judges: ['compression'],
  },
} as const satisfies Clauses
