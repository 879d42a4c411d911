import type { Clauses } from '../clause.ts'

/** What a chat request may say, and what must be refused. */
export const chatRequestClauses = {
  'chat.request': {
    section: '2.1',
    says: 'A chat request has a model and a list of messages.',
    judges: ['probe'],
  },
  'chat.request.message': {
    section: '2.2',
    says: 'A message has a role, and as content a text or a list of parts.',
    judges: ['probe'],
  },
  'chat.request.text-part': {
    section: '2.2',
    says: 'A text part has the type text and a text of at least one character.',
    judges: ['probe'],
  },
  'chat.request.cache-control': {
    section: '2.2',
    says: 'cache_control has the type ephemeral and no other.',
    judges: ['probe'],
  },
  'chat.request.stream': { section: '2.1', says: 'stream is true or false.', judges: ['probe'] },
  'chat.request.frequency-penalty': {
    section: '2.1',
    says: 'frequency_penalty is a number from -2 to 2.',
    judges: ['probe'],
  },
  'chat.request.max-temp': { section: '2.1', says: 'max_temp is a number from 0 to 2.', judges: ['probe'] },
  'chat.request.logprobs': { section: '2.1', says: 'logprobs is true or false.', judges: ['probe'] },
  'chat.request.top-logprobs': {
    section: '2.1',
    says: 'top_logprobs is a whole number from 0.',
    judges: ['probe'],
  },
  'chat.request.max-completion-tokens': {
    section: '2.1',
    says: 'max_completion_tokens is a whole number.',
    judges: ['probe'],
  },
  'chat.request.max-tokens': { section: '2.1', says: 'max_tokens is a whole number.', judges: ['probe'] },
  'chat.request.n': { section: '2.1', says: 'n is a whole number.', judges: ['probe'] },
  'chat.request.prompt-cache-key': { section: '2.1', says: 'prompt_cache_key is a text.', judges: ['probe'] },
} as const satisfies Clauses
