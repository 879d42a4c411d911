import type { ClauseRows } from '../clause.ts'

/** Rate limits and what their headers say. */
export const limitClauses = {
  'limit.requests.headers': ['4.4', 'limit-headers', 'Authenticated answers carry limit, remaining and reset of the request window, as numbers.'],
  'limit.requests.limit': ['8', 'limit-headers', "The request limit is that of the account's and the model's tier."],
  'limit.requests.remaining': ['4.4', 'rate-limits', 'Remaining requests are the limit less the requests of the window.'],
  'limit.requests.reset': ['4.4', 'rate-limits', 'The request reset is a Unix time ahead, at most one window away.'],
  'limit.requests.window': ['4.4', 'rate-limits', 'A request window lasts until its reset time.'],
  'limit.requests.enforced': ['7', 'rate-limits', 'A request beyond the limit of its window is answered with 429.'],
  'retry.after-reset': [
    '7',
    'rate-limits',
    'A request sent after the reset that a 429 named is within the limits again.',
    { needs: 'a caller who is beyond a limit, and calls again when its window is over' },
  ],
  'limit.requests.not-early': ['7', 'rate-limits', 'No request within the limits is answered with 429.'],
  'limit.tokens.headers': ['4.4', 'limit-headers', 'Inference answers carry limit, remaining and reset of the token window, as numbers.'],
  'limit.tokens.limit': ['8', 'limit-headers', "The token limit is that of the account's and the model's tier."],
  'limit.tokens.remaining': ['4.4', 'rate-limits', 'Remaining tokens are at most the limit less the tokens used in the window.'],
  'limit.tokens.enforced': [
    '7',
    'rate-limits',
    'A request beyond the token limit of its window is answered with 429.',
    { needs: 'a profile with a token limit that costs little to reach' },
  ],
  'limit.tokens.reset': ['4.4', 'limit-headers', 'The token reset is a number of seconds, at most one window.'],
  'limit.type': ['4.4', 'limit-headers', 'Where a rate limit is enforced, its type is user, api_key or global.'],
  'limit.rpc-429': ['7', 'errors', 'A 429 of the RPC proxy has a customMessage and X-RateLimit headers.'],
  'logs.layout': [
    '4.1',
    'lists',
    'The log of rate limits is a list of rows with key, model, tier, type and time, no more than the last 50.',
    { source: 'profile' },
  ],
  'logs.shows-429': [
    '4.1',
    'rate-limits',
    'The log of rate limits shows the requests of the account that were refused for a limit.',
    { needs: 'a caller who was beyond a limit, and asks for the log' },
  ],
  'logs.no-phantom': ['4.1', 'rate-limits', 'The log of rate limits shows nothing else.', { needs: 'a caller who asks for the log' }],
} satisfies ClauseRows

/** The block that follows too many failures. */
export const abuseClauses = {
  'abuse.block': ['7', 'abuse', 'More than 20 requests with a non-success status within 30 seconds block the caller.'],
  'abuse.not-early': ['7', 'abuse', 'No caller is blocked for 20 requests with a non-success status or fewer.'],
  'abuse.counts': ['7', 'abuse', 'Every non-success status counts towards the block, and a success does not.'],
  'abuse.all-requests': ['7', 'abuse', 'A block holds for all requests of the caller.'],
  'abuse.duration': ['7', 'abuse', 'A block lasts for 30 seconds.'],
  'abuse.ends': ['7', 'abuse', 'A block is over after 30 seconds.'],
  'abuse.message': ['7', 'abuse', 'A request during a block is answered with an error message that says to wait 30 s and retry.'],
} satisfies ClauseRows
