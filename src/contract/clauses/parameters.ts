import type { Clauses } from '../clause.ts'

/** Service-specific options of completions. */
export const parameterClauses = {
  'parameters.accepted': {
    section: '2.3',
    says: 'Every documented option is taken with every documented value.',
    judges: ['parameters'],
  },
  'parameters.invalid': {
    section: '2.3',
    says: 'enable_web_search with another value than off, on and auto is answered with 400.',
    judges: ['probe'],
  },
  'parameters.echo': {
    section: '2.4',
    says: 'The echo of the options has booleans, texts, and the list of citations as documented.',
    judges: ['parameters'],
  },
  'parameters.echo.citations': {
    section: '2.4',
    says: 'Each of web_search_citations has title and url, and content and date are texts.',
    judges: ['parameters'],
  },
  'parameters.echo.sent': {
    section: '2.4',
    says: 'An option that was sent is echoed with its value.',
    judges: ['parameters'],
  },
  'parameters.echo.default': {
    section: '2.3',
    says: 'An option that was not sent is echoed with its default.',
    judges: ['parameters'],
  },
  'parameters.suffix': {
    section: '2.3',
    says: "An option behind the model's name is taken and applied as its member is.",
    judges: ['parameters'],
  },
  'parameters.thinking': {
    section: '2.3',
    says: 'strip_thinking_response and disable_thinking leave no think block in the content.',
    judges: ['parameters'],
  },
  'parameters.citations': {
    section: '2.3',
    says: 'Sources are cited in the documented form, where citations are asked for, and each is one that was found.',
    judges: ['parameters'],
  },
  'parameters.results-in-stream': {
    section: '2.3',
    says: 'Search results that are asked for in the stream are its first chunk.',
    judges: ['parameters'],
  },
  'parameters.documents': {
    section: '2.3',
    says: 'Search results that are asked for as documents are a tool call of the documented name.',
    judges: ['parameters'],
  },
  'parameters.scraping': {
    section: '2.3',
    says: 'Of the pages that a message names at most five are scraped.',
    judges: ['parameters'],
  },
  'parameters.price': {
    section: '2.3',
    says: 'What is searched or scraped costs extra by use, on top of the tokens and at the listed price.',
    judges: ['chat-answer', 'chat-stream'],
    basis: 'profile',
  },
} as const satisfies Clauses
