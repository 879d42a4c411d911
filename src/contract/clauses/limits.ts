import type { ClauseRows } from '../clause.ts'

/** Rate limits and their headers. */
export const limitClauses = {
  'limit.requests.headers': ['4.4', 'limit-headers', 'Authenticated responses have the limit, remaining and reset of the request window, as numbers.'],
  'limit.requests.limit': [
    '8',
    'limit-headers',
    'The request limit in responses is the one that the rate-limits endpoint publishes, or else that of the profile.',
    { source: 'target' },
  ],
  'limit.requests.remaining': ['4.4', 'rate-limits', 'Remaining requests are the limit minus the requests of the window.'],
  'limit.requests.reset': [
    '4.4',
    'rate-limits',
    'The request reset is a Unix time in the future, at most one window away, or two while a sliding counter is full.',
  ],
  'limit.requests.window': [
    '4.4',
    'rate-limits',
    'A request window lasts until its reset time.',
    { needs: 'a profile that names an algorithm of fixed windows: limits.algorithm' },
  ],
  'limit.requests.enforced': ['7', 'rate-limits', 'A request above the limit of its window gets a 429.'],
  'retry.after-reset': [
    '7',
    'rate-limits',
    'A request sent after the reset time of a 429 is within the limits again.',
    { needs: 'a caller that exceeds a limit, and sends another request after its window' },
  ],
  'limit.requests.not-early': ['7', 'rate-limits', 'No request within the limits gets a 429.'],
  'limit.tokens.headers': ['4.4', 'limit-headers', 'Inference responses have the limit, remaining and reset of the token window, as numbers.'],
  'limit.tokens.limit': [
    '8',
    'limit-headers',
    'The token limit in responses is the one that the rate-limits endpoint publishes, or else that of the profile.',
    { source: 'target' },
  ],
  'limit.tokens.remaining': [
    '4.4',
    'rate-limits',
    'Remaining tokens are at most the limit minus the tokens used in the window.',
    { needs: 'a profile that names an algorithm of fixed windows: limits.algorithm' },
  ],
  'limit.tokens.enforced': [
    '7',
    'rate-limits',
    'A request above the token limit of its window gets a 429.',
    { needs: 'a profile with a token limit that is cheap to reach' },
  ],
  'limit.tokens.reset': ['4.4', 'limit-headers', 'The token reset is a number of seconds, at most one window, or two while a sliding counter is full.'],
  'limit.type': ['4.4', 'limit-headers', 'If a rate limit is enforced, its type is user, api_key or global.'],
  'limit.rpc-429': ['7', 'errors', 'A 429 of the RPC proxy has a customMessage and X-RateLimit headers.'],
  'logs.layout': [
    '4.1',
    'lists',
    'The rate-limit log is a list of at most the last 50 rows, each with key, model, tier, type and time.',
    { source: 'profile' },
  ],
  'logs.shows-429': [
    '4.1',
    'rate-limits',
    "The rate-limit log shows the account's requests that a limit rejected.",
    { needs: 'a caller that exceeded a limit, and requests the log' },
  ],
  'logs.no-phantom': ['4.1', 'rate-limits', 'The rate-limit log shows no other requests.', { needs: 'a caller that requests the log' }],
} satisfies ClauseRows

/** The block after too many failures. */
export const abuseClauses = {
  'abuse.block': ['7', 'abuse', 'The 21st failed request of a caller in any 30 seconds blocks the caller.'],
  'abuse.not-early': ['7', 'abuse', 'A caller is not blocked for 20 or fewer requests with a non-success status.'],
  'abuse.counts': ['7', 'abuse', 'Every non-success status counts toward the block, and a success does not.'],
  'abuse.all-requests': ['7', 'abuse', 'A block applies to all requests of the caller.'],
  'abuse.duration': ['7', 'abuse', 'A block lasts for 30 seconds.'],
  'abuse.ends': ['7', 'abuse', 'A block ends after 30 seconds.'],
  'abuse.message': ['7', 'abuse', 'The error message during a block tells the caller to wait 30 s and retry.'],
} satisfies ClauseRows
