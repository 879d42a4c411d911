import type { FurtherLimit } from '../../contract/limit-headers/further-limits.ts'
import type { FurtherStatement } from '../further-limits.ts'
import { always, result } from './decisions.ts'
import { alsoViolating, type LieRow, type Lies } from './lie.ts'

type Change = (stated: FurtherStatement, limit: FurtherLimit) => FurtherStatement | null

const ofRequests = ({ counts }: FurtherLimit): boolean => counts === 'requests'
const ofInput = ({ counts }: FurtherLimit): boolean => counts === 'input-tokens'
const ofOutput = ({ counts }: FurtherLimit): boolean => counts === 'output-tokens'

/** Some further limits state something else. */
const stated = (text: string, fits: (limit: FurtherLimit) => boolean, change: Change): LieRow =>
  result(text, 'furtherStated', (said, given, limit) => (said !== null && fits(limit) ? change(given, limit) : said))

const neverFalls: Change = (said, { amount }) => ({ ...said, remaining: amount })
const doubled: Change = said => ({ ...said, limit: said.limit * 2 })

/** A 429 that states that enough is left of each limit seems to come too early. */
const early = ['limit.requests.not-early'] as const

/** Lies about the limits that only a profile has. Without such limits, they are none. */
export const furtherLies = {
  'limit.requests.headers': {
    'burst-not-stated': stated('A further limit of requests is not stated.', ofRequests, () => null),
  },
  'limit.requests.limit': {
    'burst-stated-twice-as-large': alsoViolating(
      ['limit.requests.remaining', ...early],
      stated('A further limit of requests is stated as twice as large.', ofRequests, doubled),
    ),
  },
  'limit.requests.remaining': {
    'burst-never-falls': alsoViolating(
      early,
      stated('What remains of a further limit of requests is its amount.', ofRequests, neverFalls),
    ),
  },
  'limit.requests.enforced': {
    // An overdrawn bucket is full again after more than a window.
    'burst-admits-all': alsoViolating(
      ['limit.requests.reset'],
      always('A further limit of requests refuses none.', {
        furtherAdmits: (used, amount, limit) => ofRequests(limit) || used + amount <= limit.amount,
      }),
    ),
  },
  'limit.tokens.headers': {
    'output-tokens-not-stated': stated('The limit of output tokens is not stated.', ofOutput, () => null),
  },
  'limit.tokens.limit': {
    'input-tokens-stated-twice-as-many': alsoViolating(
      ['limit.tokens.remaining'],
      stated('The limit of input tokens is stated as twice as many.', ofInput, doubled),
    ),
  },
  'limit.tokens.remaining': {
    'output-tokens-never-fall': stated('The remaining output tokens are all of them.', ofOutput, neverFalls),
    'input-tokens-count-half': alsoViolating(
      ['limit.tokens.enforced'],
      always('Input tokens count half.', {
        furtherUse: (amount, limit) => (ofInput(limit) ? Math.floor(amount / 2) : amount),
      }),
    ),
    'input-tokens-stated-by-half': stated('Half of the remaining input tokens are stated.', ofInput, said => ({
      ...said,
      remaining: Math.floor(said.remaining / 2),
    })),
  },
  'limit.tokens.enforced': {
    'input-tokens-without-limit': always('The limit of input tokens refuses none.', {
      furtherAdmits: (used, amount, limit) => ofInput(limit) || used + amount <= limit.amount,
    }),
  },
} satisfies Lies
