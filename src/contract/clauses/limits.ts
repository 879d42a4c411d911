import type { ClauseRows } from '../clause.ts'

const fewFailures = 'no caller failed often enough'
const noBlock = 'no caller was blocked'

const blocks = ['abuse.all-requests', 'abuse.duration', 'abuse.ends', 'abuse.message'] as const

/** Rate limits and their headers. */
export const limitClauses = {
  'limit.requests.headers': [
    '4.4',
    'limit-headers',
    'Authenticated responses have the limit, remaining and reset of the request window, as numbers.',
    { hides: ['responses have no usable limit headers', ['limit.requests.limit', 'limit.requests.remaining', 'limit.requests.reset', 'limit.resources']] },
  ],
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
  'limit.requests.enforced': ['7', 'rate-limits', 'A request above the limit of its window gets a 429.', { unseen: 'no caller reached its limit' }],
  'retry.after-reset': [
    '7',
    'rate-limits',
    'A request sent after the reset time of a 429 is within the limits again.',
    { needs: 'a caller that exceeds a limit, and sends another request after its window' },
  ],
  'limit.requests.not-early': ['7', 'rate-limits', 'No request within the limits gets a 429.', { unseen: 'no limit rejected a request' }],
  'limit.tokens.headers': [
    '4.4',
    'limit-headers',
    'Inference responses have the limit, remaining and reset of the token window, as numbers.',
    {
      exercisedBy: 'chat',
      hides: ['responses have no usable token headers', ['limit.tokens.limit', 'limit.tokens.remaining', 'limit.tokens.reset', 'limit.tokens.enforced']],
    },
  ],
  'limit.tokens.limit': [
    '8',
    'limit-headers',
    'The token limit in responses is the one that the rate-limits endpoint publishes, or else that of the profile.',
    { source: 'target', exercisedBy: 'chat' },
  ],
  'limit.tokens.remaining': [
    '4.4',
    'rate-limits',
    'Remaining tokens are at most the limit minus the tokens used in the window.',
    { needs: 'a window that ends as a whole: by its stated end, or by limits.algorithm of the profile', exercisedBy: 'chat' },
  ],
  'limit.tokens.enforced': [
    '7',
    'rate-limits',
    'A request above the token limit of its window gets a 429.',
    { needs: 'a profile with a token limit that is cheap to reach', exercisedBy: 'chat' },
  ],
  'limit.tokens.reset': [
    '4.4',
    'limit-headers',
    'The token reset is a number of seconds, at most one window, or two while a sliding counter is full.',
    { exercisedBy: 'chat', hides: ['token resets are unusable', ['limit.tokens.remaining', 'limit.tokens.enforced']] },
  ],
  'limit.hang-up.freed': [
    '7',
    'rate-limits',
    'A completion that its client left, or has read slowly to its end, counts no longer among those in progress.',
    { source: 'profile', needs: 'a profile with chat.atOnce', exercisedBy: 'hang-up' },
  ],
  'limit.type': ['4.4', 'limit-headers', 'If a rate limit is enforced, its type is user, api_key or global.', { unseen: 'no limit rejected a request' }],
  'limit.rpc-429': [
    '7',
    'errors',
    'A 429 of the RPC proxy has a customMessage and X-RateLimit headers.',
    { exercisedBy: 'rpc', evenIfRefused: true, unseen: 'the RPC proxy rejected no request with 429' },
  ],
  'logs.layout': [
    '4.1',
    'lists',
    'The rate-limit log is a list of at most the last 50 rows, each with key, model, tier, type and time.',
    { source: 'profile', exercisedBy: 'rate-limit-logs', hides: ['the log is unreadable', ['logs.shows-429', 'logs.no-phantom']] },
  ],
  'logs.shows-429': [
    '4.1',
    'rate-limits',
    "The rate-limit log shows the account's requests that a limit rejected.",
    { needs: 'a caller that exceeded a limit, and requests the log', exercisedBy: 'rate-limit-logs' },
  ],
  'logs.no-phantom': [
    '4.1',
    'rate-limits',
    'The rate-limit log shows no other requests.',
    { needs: 'a caller that requests the log', exercisedBy: 'rate-limit-logs' },
  ],
} satisfies ClauseRows

/** The block after too many failures. */
export const abuseClauses = {
  'abuse.block': [
    '7',
    'abuse',
    'The 21st failed request of a caller in any 30 seconds blocks the caller.',
    { unseen: fewFailures, hides: ['no block began when it should', blocks] },
  ],
  'abuse.not-early': [
    '7',
    'abuse',
    'A caller is not blocked for 20 or fewer requests with a non-success status.',
    { unseen: fewFailures, hides: ['blocks began too early', ['abuse.block', 'abuse.counts', ...blocks]] },
  ],
  'abuse.counts': [
    '7',
    'abuse',
    'Every non-success status counts toward the block, and a success does not.',
    { unseen: fewFailures, hides: ['failures are counted in another way', blocks] },
  ],
  'abuse.all-requests': ['7', 'abuse', 'A block applies to all requests of the caller.', { unseen: noBlock }],
  'abuse.duration': ['7', 'abuse', 'A block lasts for 30 seconds.', { unseen: noBlock }],
  'abuse.ends': ['7', 'abuse', 'A block ends after 30 seconds.', { unseen: 'no caller sent a request after its block' }],
  'abuse.message': ['7', 'abuse', 'The error message during a block tells the caller to wait 30 s and retry.', { unseen: noBlock }],
} satisfies ClauseRows
