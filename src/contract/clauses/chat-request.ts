import type { Clauses } from '../clause.ts'

/** What a chat request may say, and what must be refused. */
export const chatRequestClauses = {
  'chat.request': {
    section: '2.1',
    says: 'A chat request has a model and a list of messages, and needs nothing else.',
    judges: ['probe', 'chat-request'],
  },
  'chat.request.message': {
    section: '2.2',
    says: 'A message has a role, and as content a text or a list of parts.',
    judges: ['probe', 'chat-request'],
  },
  'chat.request.text-part': {
    section: '2.2',
    says: 'A text part has the type text and a text of at least one character.',
    judges: ['probe', 'chat-request'],
  },
  'chat.request.cache-control': {
    section: '2.2',
    says: 'cache_control has the type ephemeral and no other.',
    judges: ['probe', 'chat-request'],
  },
  'chat.request.stream': { section: '2.1', says: 'stream is true or false.', judges: ['probe'] },
  'chat.request.frequency-penalty': {
    section: '2.1',
    says: 'frequency_penalty is a number from -2 to 2.',
    judges: ['probe', 'chat-request'],
  },
  'chat.request.max-temp': {
    section: '2.1',
    says: 'max_temp is a number from 0 to 2.',
    judges: ['probe', 'chat-request'],
  },
  'chat.request.logprobs': { section: '2.1', says: 'logprobs is true or false.', judges: ['probe', 'chat-request'] },
  'chat.request.top-logprobs': {
    section: '2.1',
    says: 'top_logprobs is a whole number from 0.',
    judges: ['probe', 'chat-request'],
  },
  'chat.request.max-completion-tokens': {
    section: '2.1',
    says: 'max_completion_tokens is a whole number.',
    judges: ['probe'],
  },
  'chat.request.max-tokens': {
    section: '2.1',
    says: 'max_tokens is a whole number; of 0 or less it is ignored.',
    judges: ['probe', 'chat-request'],
  },
  'chat.request.n': {
    section: '2.1',
    says: 'n is a whole number, and there are not more choices than that.',
    judges: ['probe', 'chat-request'],
  },
  'chat.request.prompt-cache-key': {
    section: '2.1',
    says: 'prompt_cache_key is a text.',
    judges: ['probe', 'chat-request'],
  },
  'chat.request.unknown-member': {
    section: '1',
    says: 'A member that is not documented may be sent, and does no harm.',
    judges: ['chat-request'],
    basis: 'profile',
  },
  'chat.logprobs': {
    section: '2.4',
    says: 'logprobs of a choice is null or an object of tokens with their log probabilities.',
    judges: ['chat-request'],
  },
  'chat.logprobs.asked': {
    section: '2.1',
    says: 'Log probabilities are given where they are asked for, by models that have them, and nowhere else.',
    judges: ['chat-request'],
  },
  'chat.logprobs.top': {
    section: '2.1',
    says: 'Each position has at most top_logprobs tokens with it.',
    judges: ['chat-request'],
  },
  'chat.prompt-logprobs': {
    section: '2.4',
    says: 'prompt_logprobs, where present, is null or an object.',
    judges: ['chat-request'],
  },
} as const satisfies Clauses
