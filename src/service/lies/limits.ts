import type { AccountTier, Contract, Model, ModelTier } from '../../contract/contract.ts'
import type { LogRow, Window } from '../account.ts'
import type { Behavior } from '../behavior.ts'
import type { Reply } from '../message.ts'
import { always, arrivalOf, input, raceMs, result } from './decisions.ts'
import { alsoViolating, type LieRow, type Lies, row } from './lie.ts'
import {
  all,
  asksForStream,
  changeReplies,
  dropHeaders,
  hasStatus,
  header,
  isAny,
  isErrorReply,
  isOf,
  isStream,
  keepFirst,
  plus,
  type ReplyChange,
  type ReplyTest,
  replies,
  replyText,
  setHeader,
  setStatus,
  withoutHeaders,
} from './replies.ts'

const limit = 'x-ratelimit-limit-requests'
const remaining = 'x-ratelimit-remaining-requests'
const reset = 'x-ratelimit-reset-requests'
const tokenLimit = 'x-ratelimit-limit-tokens'
const tokensRemaining = 'x-ratelimit-remaining-tokens'
const tokenReset = 'x-ratelimit-reset-tokens'

const otherTier = { default: 'partner', partner: 'default' } as const satisfies Record<AccountTier, AccountTier>

type Limits = Contract['accounts'][AccountTier][ModelTier]

/** The model that a reply names. */
const modelOf = ({ headers }: Reply, { models, headerPrefix }: Contract): Model | undefined =>
  models.find(({ id }) => id === headers[`${headerPrefix}model-id`])

/** States the limit of the other account tier for the model of a chat reply. */
const ofOtherAccounts =
  (header: string, amount: (limits: Limits) => number): ReplyChange =>
  (reply, state, contract) => {
    const tier = modelOf(reply, contract)?.tier
    if (state.account === null || !tier) return reply
    const limits = contract.accounts[otherTier[state.account.tier]][tier]
    return setHeader(header, String(amount(limits)))(reply, state, contract)
  }

/** States the request limit of one model tier for another. */
const asModelTier =
  (tier: ModelTier, other: ModelTier): ReplyChange =>
  (reply, state, contract) => {
    const { account } = state
    if (account === null || modelOf(reply, contract)?.tier !== tier) return reply
    const { requestsPerMinute } = contract.accounts[account.tier][other]
    return setHeader(limit, String(requestsPerMinute))(reply, state, contract)
  }

/** A duration or a Unix time, in the unit of the request reset. */
const stampUnits = ({ requestsReset }: Contract['limits'], ms: number): number =>
  requestsReset === 'unix-seconds' ? ms / 1000 : ms

/** States another request reset, later by a number of milliseconds that depends on the limits. */
const moveReset = (text: string, moveMs: (limits: Contract['limits']) => number): LieRow =>
  header(text, reset, (value, _, __, { limits }) => String(Number(value) + stampUnits(limits, moveMs(limits))))

const penaltyMs = 10_000

/** Little enough to look like another clock in a single response. */
const earlyMs = 2_500
const lateMs = 4_000

/** A window ends at another time than its stated reset. */
const windowsEnd =
  (endMs: (window: Window) => number) =>
  (honest: Behavior): Partial<Behavior> => ({
    windowAt: (previous, nowMs, windowMs) =>
      previous !== undefined && nowMs < endMs(previous) ? previous : honest.windowAt(undefined, nowMs, windowMs),
  })

/** A header has the value of another one. */
const shown = (text: string, name: string, other: string): LieRow =>
  header(text, name, (_, { headers }) => headers[other] ?? '')

/** Windows admit more requests than their limit, or fewer. */
const admit = (text: string, requests: (limit: number) => number): LieRow =>
  input(text, 'admits', (window, limit) => [window, requests(limit)])

/** A limit that changes once a window has ended. */
const fromSecondWindow = (text: string, change: number): LieRow =>
  row(text, honest => {
    const later = new WeakSet<Window>()
    return {
      windowAt: (previous, nowMs, windowMs) => {
        const window = honest.windowAt(previous, nowMs, windowMs)
        if (previous !== undefined && window !== previous) later.add(window)
        return window
      },
      admits: (window, requests) => honest.admits(window, later.has(window) ? requests + change : requests),
    }
  })

/** Adds the windows that rejected a request to `rejected`. */
const watchRejections =
  (rejected: WeakSet<Window>, { admits }: Behavior): Behavior['admits'] =>
  (window, limit) => {
    const isAdmitted = admits(window, limit)
    if (!isAdmitted) rejected.add(window)
    return isAdmitted
  }

/** Whether a reply rejects a request because of a limit, and not because its caller is blocked. */
const isLimitReply: ReplyTest = reply => reply.status === 429 && replyText(reply).includes('Rate limit exceeded')

/** Another status for what a limit rejects. */
const aboveLimitIs = (what: string, status: number, fits: ReplyTest = isAny): LieRow =>
  alsoViolating(
    ['logs.no-phantom'],
    replies(`${what} above its limit gets a ${status}.`, all(isLimitReply, fits), setStatus(status)),
  )

const changeRows = (text: string, change: (rows: readonly LogRow[]) => readonly unknown[]): LieRow =>
  always(text, { limitLogs: rows => ({ object: 'list', data: change(rows) }) })

const withoutLimits = dropHeaders(limit, remaining, reset)

export const limitLies = {
  'limit.requests.headers': {
    'no-limits-on-errors': replies('Errors have no request limit headers.', isErrorReply, withoutLimits),
    'no-limits-on-bad-requests': replies('Bad requests have no request limit headers.', hasStatus(400), withoutLimits),
    'no-limits-on-402': replies('A 402 has no request limit headers.', hasStatus(402), withoutLimits),
    'no-limits-on-rpc': replies('RPC responses have no request limit headers.', isOf('rpc'), withoutLimits),
    'limit-with-unit': header('The request limit has a unit.', limit, value => `${value}/min`),
  },
  'limit.requests.limit': {
    'limit-of-the-other-accounts': replies(
      'The stated request limit is that of the other account tier.',
      isAny,
      ofOtherAccounts(limit, ({ requestsPerMinute }) => requestsPerMinute),
    ),
    'medium-models-as-small': replies(
      'The stated request limit of medium models is that of small ones.',
      isAny,
      asModelTier('M', 'S'),
    ),
    'large-models-as-medium': replies(
      'The stated request limit of large models is that of medium ones.',
      isAny,
      asModelTier('L', 'M'),
    ),
    'limit-one-lower': alsoViolating(
      ['limit.requests.remaining', 'limit.resources'],
      header('The stated request limit is one too low.', limit, plus(-1)),
    ),
  },
  'limit.requests.remaining': {
    'remaining-never-falls': shown('Remaining requests always equal the limit.', remaining, limit),
    'remaining-without-this-one': header('Remaining requests do not count the current request.', remaining, plus(1)),
    'remaining-one-too-few': header('Remaining requests count the current request twice.', remaining, value =>
      String(Math.max(0, Number(value) - 1)),
    ),
  },
  'limit.requests.reset': {
    'reset-in-another-unit': header(
      'The request reset is in milliseconds instead of seconds, and the reverse.',
      reset,
      (value, _, __, { limits }) =>
        String(limits.requestsReset === 'unix-seconds' ? Number(value) * 1000 : Math.floor(Number(value) / 1000)),
    ),
    'reset-behind': alsoViolating(
      ['limit.requests.remaining'],
      moveReset('The request reset is the start of the window.', ({ windowMs }) => -windowMs),
    ),
    'reset-too-far': moveReset('The request reset is a window too late.', ({ windowMs }) => windowMs),
    'reset-as-time-left': header('The request reset is the time left.', reset, (value, _, { arrivedMs }, { limits }) =>
      String(Math.ceil(Number(value) - stampUnits(limits, arrivedMs))),
    ),
  },
  'limit.requests.window': {
    'window-cut-short': row(
      'A window ends after a fifth of its length.',
      windowsEnd(({ startMs, resetMs }) => startMs + (resetMs - startMs) / 5),
    ),
    'half-of-a-window-carried-over': alsoViolating(
      ['limit.requests.not-early', 'limit.requests.remaining'],
      result('A window begins with half of the usage of the previous one.', 'windowAt', (window, previous) => {
        if (previous !== undefined && window !== previous) window.requests = Math.floor(previous.requests / 2)
        return window
      }),
    ),
    'window-ends-early': row(
      'A window ends two and a half seconds before its stated reset.',
      windowsEnd(({ resetMs }) => resetMs - earlyMs),
    ),
    'window-that-slides': alsoViolating(
      ['limit.requests.remaining'],
      row('Every request postpones the reset of its window.', honest => ({
        windowAt: (previous, nowMs, windowMs) => {
          const fresh = honest.windowAt(undefined, nowMs, windowMs)
          const open = previous !== undefined && nowMs < previous.resetMs
          return open ? { ...previous, resetMs: fresh.resetMs } : fresh
        },
      })),
    ),
  },
  'limit.requests.enforced': {
    'one-request-too-many': admit('A window admits one request more than its limit.', limit => limit + 1),
    'one-request-too-many-later': fromSecondWindow('Every window but the first admits one request more.', 1),
    'a-tenth-too-many': admit('A window admits a tenth more than its limit.', limit => Math.ceil(limit * 1.1)),
    'five-more-of-tiers-s-and-m': admit('Tiers S and M admit 5 more.', of => of + ([50, 75].includes(of) ? 5 : 0)),
    'no-limit-of-tier-xs': admit('Tier XS has no limit.', of => (of === 500 ? Number.POSITIVE_INFINITY : of)),
    'limit-checked-then-counted': row(
      'Requests that arrive within 5 ms of each other do not count against each other.',
      honest => {
        const admittedMs = new WeakMap<Window, readonly number[]>()
        const { atMs, windowAt } = arrivalOf(honest)
        return {
          windowAt,
          admits: (window, limit) => {
            const times = admittedMs.get(window) ?? []
            const isAdmitted = times.filter(ms => ms < atMs() - raceMs).length < limit
            if (isAdmitted) admittedMs.set(window, [...times, atMs()])
            return isAdmitted
          },
        }
      },
    ),
    'streams-counted-apart': alsoViolating(
      ['limit.requests.remaining', 'limit.tokens.remaining'],
      result('Streamed and unstreamed completions have windows of their own.', 'scope', (scope, _, { request }) =>
        asksForStream(request) ? `${scope} streamed` : scope,
      ),
    ),
    'no-request-limit': always('The request limit is not enforced.', { admits: () => true }),
    'forbidden-above-the-limit': aboveLimitIs('A request', 403),
    'unavailable-above-the-limit': aboveLimitIs('A request', 503),
    'streams-unavailable-above-the-limit': aboveLimitIs('A streamed completion', 503, (_, { request }) =>
      asksForStream(request),
    ),
  },
  'retry.after-reset': {
    'reset-announced-early': alsoViolating(
      ['limit.requests.reset'],
      moveReset('The request reset is eight seconds before the end of its window.', () => -8_000),
    ),
    'refuses-past-the-reset': row(
      'A rejected caller stays rejected until ten seconds after the stated reset.',
      honest => {
        const rejected = new WeakSet<Window>()
        return {
          admits: watchRejections(rejected, honest),
          windowAt: (previous, nowMs, windowMs) =>
            previous !== undefined && rejected.has(previous) && nowMs < previous.resetMs + penaltyMs
              ? previous
              : honest.windowAt(previous, nowMs, windowMs),
        }
      },
    ),
    'window-ends-late': row(
      'A window ends four seconds after its stated reset.',
      windowsEnd(({ resetMs }) => resetMs + lateMs),
    ),
    'penalty-window': alsoViolating(
      ['limit.requests.not-early'],
      row('A rejected caller is rejected again in the first ten seconds of the next window.', honest => {
        const rejected = new WeakSet<Window>()
        const admits = watchRejections(rejected, honest)
        const closedUntilMs = new WeakMap<Window, number>()
        let atMs = 0
        return {
          admits: (window, limit) => admits(window, limit) && atMs >= (closedUntilMs.get(window) ?? 0),
          windowAt: (previous, nowMs, windowMs) => {
            atMs = nowMs
            const window = honest.windowAt(previous, nowMs, windowMs)
            if (previous !== undefined && window !== previous && rejected.has(previous))
              closedUntilMs.set(window, nowMs + penaltyMs)
            return window
          },
        }
      }),
    ),
  },
  'limit.requests.not-early': {
    'one-request-too-few': admit('A window admits one request fewer than its limit.', limit => limit - 1),
    'one-request-too-few-later': fromSecondWindow('Every window but the first admits one request fewer.', -1),
    'five-fewer-of-tiers-s-and-m': admit('Tiers S and M admit 5 fewer.', of => of - ([50, 75].includes(of) ? 5 : 0)),
    'partners-rejected-as-others': admit('Partners are rejected at the usual limit of tier S.', limit =>
      limit === 150 ? 75 : limit,
    ),
    'sudden-429': alsoViolating(
      ['retry.after-reset'],
      row('Every tenth request returns 429.', honest => {
        let request = 0
        return { admits: (window, requests) => ++request % 10 !== 0 && honest.admits(window, requests) }
      }),
    ),
  },
  'limit.tokens.headers': {
    'no-token-limits-on-streams': replies(
      'Streams have no token limit headers.',
      isStream,
      dropHeaders(tokenLimit, tokensRemaining, tokenReset),
    ),
    'no-token-reset': withoutHeaders('Responses have no token reset.', tokenReset),
  },
  'limit.tokens.limit': {
    'token-limit-of-the-other-accounts': replies(
      'The stated token limit is that of the other account tier.',
      isAny,
      ofOtherAccounts(tokenLimit, ({ tokensPerMinute }) => tokensPerMinute),
    ),
    'usual-tokens-for-partners': replies(
      'The stated token limit of the smallest models is the same for all accounts.',
      (reply, _, contract) => modelOf(reply, contract)?.tier === 'XS',
      setHeader(tokenLimit, (_, __, ___, { accounts }) => String(accounts.default.XS.tokensPerMinute)),
    ),
    'token-limit-in-thousands': header('The token limit is in thousands.', tokenLimit, value =>
      String(Number(value) / 1000),
    ),
  },
  'limit.tokens.remaining': {
    'remaining-tokens-never-fall': shown('Remaining tokens always equal the limit.', tokensRemaining, tokenLimit),
    'tokens-remaining-constant': row(
      'Remaining tokens are always those of the first response.',
      changeReplies(isAny, keepFirst(tokensRemaining)),
    ),
    'remaining-tokens-above-the-limit': header(
      'Remaining tokens are 500 more than the limit.',
      tokensRemaining,
      (_, { headers }) => String(Number(headers[tokenLimit] ?? '0') + 500),
    ),
    'tokens-given-back': alsoViolating(
      ['limit.tokens.enforced'],
      always('A completed request returns all its reserved tokens to the window.', { usedTokens: () => 0 }),
    ),
    'only-prompts-count': always('A completed request uses the tokens of its prompt only.', {
      usedTokens: usage => usage.prompt_tokens,
    }),
  },
  'limit.tokens.enforced': {
    'no-token-limit': always('The token limit is not enforced.', { admitsTokens: () => true }),
    'ten-times-the-tokens': input(
      'A window admits ten times the tokens of its limit.',
      'admitsTokens',
      (window, limit, tokens) => [window, limit * 10, tokens],
    ),
  },
  'limit.tokens.reset': {
    'token-reset-as-unix-time': shown('The token reset is the Unix time of the request reset.', tokenReset, reset),
    'token-reset-too-far': header('The token reset is a window too late.', tokenReset, (value, _, __, { limits }) =>
      String(Number(value) + limits.windowMs / (limits.tokensReset === 'seconds' ? 1000 : 1)),
    ),
  },
  'logs.layout': {
    'log-times-in-words': changeRows('The times in the log are in words.', rows =>
      rows.map(row => ({ ...row, timestamp: 'a minute ago' })),
    ),
    'log-in-an-array': always('The log is an array.', { limitLogs: rows => rows }),
    'log-without-end': input('The log has more rows than documented.', 'limitLogs', rows => [
      rows.flatMap(row => Array.from({ length: 60 }, () => row)),
    ]),
  },
  'logs.shows-429': {
    'log-of-chat-alone': row('Requests rejected by the RPC proxy are not logged.', (honest, { limitLogs }) => ({
      logRejection: (rejections, rejection) => {
        if (rejection.modelId !== limitLogs.rpcId) honest.logRejection(rejections, rejection)
      },
    })),
    'log-of-the-first-refusal': row('Only one rejected request per minute is logged.', honest => ({
      logRejection: (rejections, rejection) => {
        const minute = Math.floor(rejection.atMs / 60_000)
        const isLogged = rejections.some(({ atMs }) => Math.floor(atMs / 60_000) === minute)
        if (!isLogged) honest.logRejection(rejections, rejection)
      },
    })),
  },
  'logs.no-phantom': {
    'refusals-logged-twice': changeRows('Every rejected request is in the log twice.', rows =>
      rows.flatMap(row => [row, row]),
    ),
    'admitted-requests-logged': row('The log contains a request that was admitted.', (honest, { limitLogs }) => ({
      finish: (reply, state) => {
        const { account, route, arrivedMs } = state
        if (reply.status === 200 && route.kind === 'rpc' && account !== null && reply.headers[remaining] === '50')
          honest.logRejection(account.rejections, { modelId: limitLogs.rpcId, limit: 'RPM', atMs: arrivedMs })
        return honest.finish(reply, state)
      },
    })),
  },
} satisfies Lies
