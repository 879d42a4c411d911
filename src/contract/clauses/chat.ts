import type { Clauses } from '../clause.ts'

/** Completions. */
export const chatClauses = {
  'chat.content-type': {
    section: '4.2',
    says: 'An unstreamed completion is application/json.',
    judges: ['chat-answer'],
  },
  'chat.media-type': {
    section: '4.2',
    says: 'A chat request that is not application/json is answered with 415.',
    judges: ['probe'],
  },
  'chat.id': { section: '2.4', says: 'A completion has a string id.', judges: ['chat-answer', 'chat-stream'] },
  'chat.object': { section: '2.4', says: 'The object of a completion is chat.completion.', judges: ['chat-answer'] },
  'chat.created': {
    section: '2.4',
    says: 'created is the Unix time at which the request was made.',
    judges: ['chat-answer', 'chat-stream'],
  },
  'chat.model': { section: '2.4', says: 'A completion names the model used.', judges: ['chat-answer', 'chat-stream'] },
  'chat.choice': {
    section: '2.4',
    says: 'A choice has an integer index, a message, and the key logprobs.',
    judges: ['chat-answer'],
  },
  'chat.choice.finish-reason': {
    section: '2.4',
    says: 'finish_reason is stop, length or tool_calls.',
    judges: ['chat-answer', 'chat-stream'],
  },
  'chat.message': {
    section: '2.4',
    says: 'The message of a choice is an assistant or tool message with content or tool_calls.',
    judges: ['chat-answer'],
  },
  'chat.usage': {
    section: '2.4',
    says: 'usage has integer prompt_tokens, completion_tokens and total_tokens.',
    judges: ['chat-answer', 'chat-stream'],
  },
  'chat.usage.sum': {
    section: '2.4',
    says: 'Total tokens are prompt tokens plus completion tokens.',
    judges: ['chat-answer', 'chat-stream'],
  },
  'chat.usage.cached': {
    section: '2.4',
    says: 'prompt_tokens_details is null or counts cached and written tokens, which are part of the prompt.',
    judges: ['chat-answer', 'chat-stream'],
  },
  'chat.max-completion-tokens': {
    section: '2.1',
    says: 'max_completion_tokens bounds the generated tokens, reasoning included.',
    judges: ['chat-answer', 'chat-stream'],
  },
  'chat.cost': {
    section: '2.4',
    says: 'cost, where present, has diem and usd, both numbers not below zero.',
    judges: ['chat-answer', 'chat-stream'],
  },
  'chat.cost.amount': {
    section: '2.4',
    says: 'cost is tokens times the list price of the model.',
    judges: ['chat-answer', 'chat-stream'],
    basis: 'profile',
  },
  'chat.cost.cached': {
    section: '2.4',
    says: 'Tokens that came from a cache, or were written to one, cost what the list says of them.',
    judges: ['chat-answer', 'chat-stream'],
    basis: 'profile',
  },
} as const satisfies Clauses
