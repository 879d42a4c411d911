import type { Clauses } from '../clause.ts'

/** Rate limits and what their headers say. */
export const limitClauses = {
  'limit.requests.headers': {
    section: '4.4',
    says: 'Authenticated answers carry limit, remaining and reset of the request window, as numbers.',
    judges: ['limit-headers'],
  },
  'limit.requests.limit': {
    section: '8',
    says: "The request limit is that of the account's and the model's tier.",
    judges: ['limit-headers'],
  },
  'limit.requests.remaining': {
    section: '4.4',
    says: 'Remaining requests are the limit less the requests of the window.',
    judges: ['limiter'],
  },
  'limit.requests.reset': {
    section: '4.4',
    says: 'The request reset is a Unix time ahead, at most one window away.',
    judges: ['limiter'],
  },
  'limit.requests.window': {
    section: '4.4',
    says: 'A request window lasts until its reset time.',
    judges: ['limiter'],
  },
  'limit.requests.enforced': {
    section: '7',
    says: 'A request beyond the limit of its window is answered with 429.',
    judges: ['limiter'],
  },
  'retry.after-reset': {
    section: '7',
    says: 'A request sent after the reset that a 429 named is within the limits again.',
    judges: ['limiter'],
    needs: 'a caller who is beyond a limit, and calls again when its window is over',
  },
  'limit.requests.not-early': {
    section: '7',
    says: 'No request within the limits is answered with 429.',
    judges: ['limiter'],
  },
  'limit.tokens.headers': {
    section: '4.4',
    says: 'Inference answers carry limit, remaining and reset of the token window, as numbers.',
    judges: ['limit-headers'],
  },
  'limit.tokens.limit': {
    section: '8',
    says: "The token limit is that of the account's and the model's tier.",
    judges: ['limit-headers'],
  },
  'limit.tokens.remaining': {
    section: '4.4',
    says: 'Remaining tokens are at most the limit less the tokens used in the window.',
    judges: ['limiter'],
  },
  'limit.tokens.enforced': {
    section: '7',
    says: 'A request beyond the token limit of its window is answered with 429.',
    judges: ['limiter'],
    needs: 'a profile with a token limit that costs little to reach',
  },
  'limit.tokens.reset': {
    section: '4.4',
    says: 'The token reset is a number of seconds, at most one window.',
    judges: ['limit-headers'],
  },
  'limit.type': {
    section: '4.4',
    says: 'Where a rate limit is enforced, its type is user, api_key or global.',
    judges: ['limit-headers'],
  },
  'limit.rpc-429': {
    section: '7',
    says: 'A 429 of the RPC proxy has a customMessage and X-RateLimit headers.',
    judges: ['error-answer'],
  },
  'logs.layout': {
    section: '4.1',
    says: 'The log of rate limits is a list of rows with key, model, tier, type and time, no more than the last 50.',
    judges: ['catalogue'],
    basis: 'profile',
  },
  'logs.shows-429': {
    section: '4.1',
    says: 'The log of rate limits shows the requests of the account that were refused for a limit.',
    judges: ['limiter'],
    needs: 'a caller who was beyond a limit, and asks for the log',
  },
  'logs.no-phantom': {
    section: '4.1',
    says: 'The log of rate limits shows nothing else.',
    judges: ['limiter'],
    needs: 'a caller who asks for the log',
  },
} as const satisfies Clauses
