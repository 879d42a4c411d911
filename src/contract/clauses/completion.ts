import type { Clauses } from '../clause.ts'

/** What a completion says of its end, its message and its tokens beyond what each must have. */
export const completionClauses = {
  'chat.choice.stop-reason': {
    section: '2.4',
    says: 'stop_reason is null, stop or length, and does not contradict finish_reason.',
    judges: ['chat-answer', 'chat-stream'],
  },
  'chat.choice.tool-calls': {
    section: '2.4',
    says: 'A choice that ends with tool_calls has some.',
    judges: ['chat-answer', 'chat-stream'],
  },
  'chat.choice.length': {
    section: '2.4',
    says: 'A choice is cut for its length at its bound, and not before.',
    judges: ['chat-answer', 'chat-stream'],
    basis: 'profile',
  },
  'chat.message.members': {
    section: '2.4',
    says: 'name, reasoning_content, reasoning_details, thought_signature and tool_calls of a message have their types.',
    judges: ['chat-answer'],
  },
  'chat.usage.details': {
    section: '2.4',
    says: 'completion_tokens_details is null or has whole reasoning_tokens, not more than were generated.',
    judges: ['chat-answer', 'chat-stream'],
  },
  'chat.stream.index': {
    section: '4.2',
    says: 'A chunk names the choice that it adds to by its position.',
    judges: ['chat-stream'],
    basis: 'profile',
  },
  'chat.stream.delta': {
    section: '4.2',
    says: 'What a chunk adds to a message has the types of a message.',
    judges: ['chat-stream'],
    basis: 'profile',
  },
} as const satisfies Clauses
