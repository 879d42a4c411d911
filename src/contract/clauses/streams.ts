import type { Clauses } from '../clause.ts'

/** Streamed completions. */
export const streamClauses = {
  'chat.stream.content-type': {
    section: '4.2',
    says: 'A streamed completion is an event stream.',
    judges: ['chat-stream'],
    basis: 'profile',
  },
  'chat.stream.chunk': {
    section: '4.2',
    says: 'Every event is a JSON chunk of one completion: one id, one model.',
    judges: ['chat-stream'],
    basis: 'profile',
  },
  'chat.stream.finish': {
    section: '4.2',
    says: 'A stream states its finish reason once, and no token follows it.',
    judges: ['chat-stream'],
    basis: 'profile',
  },
  'chat.stream.usage': {
    section: '4.2',
    says: 'A stream states its usage once.',
    judges: ['chat-stream'],
    basis: 'profile',
  },
  'chat.stream.done': {
    section: '4.2',
    says: 'A stream ends with the done marker, and nothing follows it.',
    judges: ['chat-stream'],
    basis: 'profile',
  },
} as const satisfies Clauses
