import type { AccountTier, Contract, Model, ModelTier } from '../../contract/contract.ts'
import type { LogRow, Window } from '../account.ts'
import type { Behavior } from '../behavior.ts'
import type { Reply, RequestState } from '../message.ts'
import { isErrorReply, isStream, type Lies, lie, replyLie, replyText, withHeader, withoutHeaders } from './lie.ts'

const limit = 'x-ratelimit-limit-requests'

const remaining = 'x-ratelimit-remaining-requests'

const reset = 'x-ratelimit-reset-requests'

const tokenLimit = 'x-ratelimit-limit-tokens'

const tokensRemaining = 'x-ratelimit-remaining-tokens'

const tokenReset = 'x-ratelimit-reset-tokens'

const otherTier = { default: 'partner', partner: 'default' } as const satisfies Record<AccountTier, AccountTier>

/** The limits of the other account tier for the model of a chat reply. */
function otherLimits({ headers }: Reply, { account }: RequestState, { models, accounts, headerPrefix }: Contract) {
  const model: Model | undefined = models.find(({ id }) => id === headers[`${headerPrefix}model-id`])
  return account === null || !model?.tier ? undefined : accounts[otherTier[account.tier]][model.tier]
}

/** A lie that states the request limit of one model tier for another. */
const asModelTier =
  (tier: ModelTier, other: ModelTier) =>
  (reply: Reply, { account }: RequestState, { accounts, models, headerPrefix }: Contract): Reply => {
    const model = models.find(({ id }) => id === reply.headers[`${headerPrefix}model-id`])
    if (account === null || model?.tier !== tier) return reply
    return withHeader(reply, limit, String(accounts[account.tier][other].requestsPerMinute))
  }

const penaltyMs = 10_000

/** A duration or a Unix time, in the unit of the request reset. */
const stampUnits = ({ requestsReset }: Contract['limits'], ms: number): number =>
  requestsReset === 'unix-seconds' ? ms / 1000 : ms

/** Little enough to look like another clock in a single response. */
const earlyMs = 2_500
const lateMs = 4_000

const fifthMs = ({ startMs, resetMs }: Window): number => startMs + (resetMs - startMs) / 5

/** Whether a reply rejects a request because of a limit, and not because its caller is blocked. */
const isLimitReply = (reply: Reply): boolean => reply.status === 429 && replyText(reply).includes('Rate limit exceeded')

/** A limit that changes once a window has ended. */
const fromSecondWindow =
  (change: number) =>
  (honest: Behavior): Partial<Behavior> => {
    const later = new WeakSet<Window>()
    return {
      windowAt: (previous, nowMs, windowMs) => {
        const window = honest.windowAt(previous, nowMs, windowMs)
        if (previous !== undefined && window !== previous) later.add(window)
        return window
      },
      admits: (window, requests) => honest.admits(window, later.has(window) ? requests + change : requests),
    }
  }

/** A lie that changes the rows of the log. */
const rowsLie = (name: string, text: string, change: (rows: readonly LogRow[]) => readonly unknown[]) =>
  lie(name, text, () => ({ limitLogs: rows => ({ object: 'list', data: change(rows) }) }))

export const limitLies = {
  'limit.requests.headers': [
    replyLie('no-limits-on-errors', 'Errors have no request limit headers.', reply =>
      isErrorReply(reply) ? withoutHeaders(reply, limit, remaining, reset) : reply,
    ),
    replyLie('no-limits-on-rpc', 'RPC responses have no request limit headers.', (reply, { route }) =>
      route.kind === 'rpc' ? withoutHeaders(reply, limit, remaining, reset) : reply,
    ),
    replyLie('limit-with-unit', 'The request limit has a unit.', reply =>
      withHeader(reply, limit, value => `${value}/min`),
    ),
  ],
  'limit.requests.limit': [
    replyLie(
      'limit-of-the-other-accounts',
      'The stated request limit is that of the other account tier.',
      (reply, state, contract) => {
        const limits = otherLimits(reply, state, contract)
        return limits === undefined ? reply : withHeader(reply, limit, String(limits.requestsPerMinute))
      },
    ),
    replyLie(
      'medium-models-as-small',
      'The stated request limit of medium models is that of small ones.',
      asModelTier('M', 'S'),
    ),
    replyLie(
      'large-models-as-medium',
      'The stated request limit of large models is that of medium ones.',
      asModelTier('L', 'M'),
    ),
    replyLie(
      'limit-one-lower',
      'The stated request limit is one too low.',
      reply => withHeader(reply, limit, value => String(Number(value) - 1)),
      ['limit.requests.remaining', 'limit.resources'],
    ),
  ],
  'limit.requests.remaining': [
    replyLie('remaining-never-falls', 'Remaining requests always equal the limit.', reply =>
      withHeader(reply, remaining, reply.headers[limit] ?? ''),
    ),
    replyLie('remaining-without-this-one', 'Remaining requests do not count the current request.', reply =>
      withHeader(reply, remaining, value => String(Number(value) + 1)),
    ),
    replyLie('remaining-one-too-few', 'Remaining requests count the current request twice.', reply =>
      withHeader(reply, remaining, value => String(Math.max(0, Number(value) - 1))),
    ),
  ],
  'limit.requests.reset': [
    replyLie(
      'reset-in-another-unit',
      'The request reset is in milliseconds instead of seconds, and the reverse.',
      (reply, _, { limits }) =>
        withHeader(reply, reset, value =>
          String(limits.requestsReset === 'unix-seconds' ? Number(value) * 1000 : Math.floor(Number(value) / 1000)),
        ),
    ),
    replyLie('reset-behind', 'The request reset is the start of the window.', (reply, _, { limits }) =>
      withHeader(reply, reset, value => String(Number(value) - stampUnits(limits, limits.windowMs))),
    ),
    replyLie('reset-too-far', 'The request reset is a window too late.', (reply, _, { limits }) =>
      withHeader(reply, reset, value => String(Number(value) + stampUnits(limits, limits.windowMs))),
    ),
    replyLie('reset-as-time-left', 'The request reset is the time left.', (reply, { arrivedMs }, { limits }) =>
      withHeader(reply, reset, value => String(Math.ceil(Number(value) - stampUnits(limits, arrivedMs)))),
    ),
  ],
  'limit.requests.window': [
    lie('window-cut-short', 'A window ends after a fifth of its length.', honest => ({
      windowAt: (previous, nowMs, windowMs) =>
        honest.windowAt(previous !== undefined && nowMs >= fifthMs(previous) ? undefined : previous, nowMs, windowMs),
    })),
    lie(
      'half-of-a-window-carried-over',
      'A window begins with half of the usage of the previous one.',
      honest => ({
        windowAt: (previous, nowMs, windowMs) => {
          const window = honest.windowAt(previous, nowMs, windowMs)
          if (previous !== undefined && window !== previous) window.requests = Math.floor(previous.requests / 2)
          return window
        },
      }),
      // Such a window is full before its own requests reach the limit.
      ['limit.requests.not-early'],
    ),
    lie('window-ends-early', 'A window ends two and a half seconds before its stated reset.', honest => ({
      windowAt: (previous, nowMs, windowMs) =>
        honest.windowAt(
          previous !== undefined && nowMs >= previous.resetMs - earlyMs ? undefined : previous,
          nowMs,
          windowMs,
        ),
    })),
    lie('window-that-slides', 'Every request postpones the reset of its window.', honest => ({
      windowAt: (previous, nowMs, windowMs) => {
        const fresh = honest.windowAt(undefined, nowMs, windowMs)
        const open = previous !== undefined && nowMs < previous.resetMs
        return open ? { ...previous, resetMs: fresh.resetMs } : fresh
      },
    })),
  ],
  'limit.requests.enforced': [
    lie('one-request-too-many', 'A window admits one request more than its limit.', honest => ({
      admits: (window, requests) => honest.admits(window, requests + 1),
    })),
    lie('one-request-too-many-later', 'Every window but the first admits one request more.', fromSecondWindow(1)),
    lie('a-tenth-too-many', 'A window admits a tenth more than its limit.', honest => ({
      admits: (window, requests) => honest.admits(window, Math.ceil(requests * 1.1)),
    })),
    lie('no-request-limit', 'The request limit is not enforced.', () => ({ admits: () => true })),
    replyLie(
      'forbidden-above-the-limit',
      'A request above its limit gets a 403.',
      reply => (isLimitReply(reply) ? { ...reply, status: 403 } : reply),
      ['logs.no-phantom'],
    ),
    replyLie(
      'unavailable-above-the-limit',
      'A request above its limit gets a 503.',
      reply => (isLimitReply(reply) ? { ...reply, status: 503 } : reply),
      ['logs.no-phantom'],
    ),
  ],
  'retry.after-reset': [
    replyLie(
      'reset-announced-early',
      'The request reset is eight seconds before the end of its window.',
      (reply, _, { limits }) => withHeader(reply, reset, value => String(Number(value) - stampUnits(limits, 8_000))),
      ['limit.requests.reset'],
    ),
    lie(
      'refuses-past-the-reset',
      'A rejected caller stays rejected until ten seconds after the stated reset.',
      honest => {
        const rejected = new WeakSet<Window>()
        return {
          admits: (window, limit) => {
            const isAdmitted = honest.admits(window, limit)
            if (!isAdmitted) rejected.add(window)
            return isAdmitted
          },
          windowAt: (previous, nowMs, windowMs) =>
            previous !== undefined && rejected.has(previous) && nowMs < previous.resetMs + penaltyMs
              ? previous
              : honest.windowAt(previous, nowMs, windowMs),
        }
      },
    ),
    lie('window-ends-late', 'A window ends four seconds after its stated reset.', honest => ({
      windowAt: (previous, nowMs, windowMs) =>
        previous !== undefined && nowMs < previous.resetMs + lateMs
          ? previous
          : honest.windowAt(previous, nowMs, windowMs),
    })),
    lie(
      'penalty-window',
      'A rejected caller is rejected again in the first ten seconds of the next window.',
      honest => {
        const rejected = new WeakSet<Window>()
        const closedUntilMs = new WeakMap<Window, number>()
        let atMs = 0
        return {
          admits: (window, limit) => {
            const isAdmitted = honest.admits(window, limit)
            if (!isAdmitted) rejected.add(window)
            return isAdmitted && atMs >= (closedUntilMs.get(window) ?? 0)
          },
          windowAt: (previous, nowMs, windowMs) => {
            atMs = nowMs
            const window = honest.windowAt(previous, nowMs, windowMs)
            if (previous !== undefined && window !== previous && rejected.has(previous))
              closedUntilMs.set(window, nowMs + penaltyMs)
            return window
          },
        }
      },
      ['limit.requests.not-early'],
    ),
  ],
  'limit.requests.not-early': [
    lie('one-request-too-few', 'A window admits one request fewer than its limit.', honest => ({
      admits: (window, requests) => honest.admits(window, requests - 1),
    })),
    lie('one-request-too-few-later', 'Every window but the first admits one request fewer.', fromSecondWindow(-1)),
    lie(
      'sudden-429',
      'Every tenth request returns 429.',
      honest => {
        let request = 0
        return { admits: (window, requests) => ++request % 10 !== 0 && honest.admits(window, requests) }
      },
      ['retry.after-reset'],
    ),
  ],
  'limit.tokens.headers': [
    replyLie('no-token-limits-on-streams', 'Streams have no token limit headers.', reply =>
      isStream(reply) ? withoutHeaders(reply, tokenLimit, tokensRemaining, tokenReset) : reply,
    ),
    replyLie('no-token-reset', 'Responses have no token reset.', reply => withoutHeaders(reply, tokenReset)),
  ],
  'limit.tokens.limit': [
    replyLie(
      'token-limit-of-the-other-accounts',
      'The stated token limit is that of the other account tier.',
      (reply, state, contract) => {
        const limits = otherLimits(reply, state, contract)
        return limits === undefined ? reply : withHeader(reply, tokenLimit, String(limits.tokensPerMinute))
      },
    ),
    replyLie(
      'usual-tokens-for-partners',
      'The stated token limit of the smallest models is the same for all accounts.',
      (reply, _, { accounts, models, headerPrefix }) => {
        const model = models.find(({ id }) => id === reply.headers[`${headerPrefix}model-id`])
        return model?.tier === 'XS' ? withHeader(reply, tokenLimit, String(accounts.default.XS.tokensPerMinute)) : reply
      },
    ),
    replyLie('token-limit-in-thousands', 'The token limit is in thousands.', reply =>
      withHeader(reply, tokenLimit, value => String(Number(value) / 1000)),
    ),
  ],
  'limit.tokens.remaining': [
    replyLie('remaining-tokens-never-fall', 'Remaining tokens always equal the limit.', reply =>
      withHeader(reply, tokensRemaining, reply.headers[tokenLimit] ?? ''),
    ),
    lie('tokens-given-back', 'A completed request returns all its reserved tokens to the window.', () => ({
      usedTokens: () => 0,
    })),
    lie('only-prompts-count', 'A completed request uses the tokens of its prompt only.', () => ({
      usedTokens: usage => usage.prompt_tokens,
    })),
  ],
  'limit.tokens.enforced': [
    lie('no-token-limit', 'The token limit is not enforced.', () => ({ admitsTokens: () => true })),
    lie('ten-times-the-tokens', 'A window admits ten times the tokens of its limit.', honest => ({
      admitsTokens: (window, limit, tokens) => honest.admitsTokens(window, limit * 10, tokens),
    })),
  ],
  'limit.tokens.reset': [
    replyLie('token-reset-as-unix-time', 'The token reset is the Unix time of the request reset.', reply =>
      withHeader(reply, tokenReset, reply.headers[reset] ?? ''),
    ),
    replyLie('token-reset-too-far', 'The token reset is a window too late.', (reply, _, { limits }) =>
      withHeader(reply, tokenReset, value =>
        String(Number(value) + limits.windowMs / (limits.tokensReset === 'seconds' ? 1000 : 1)),
      ),
    ),
  ],
  'logs.layout': [
    rowsLie('log-times-in-words', 'The times in the log are in words.', rows =>
      rows.map(row => ({ ...row, timestamp: 'a minute ago' })),
    ),
    lie('log-in-an-array', 'The log is an array.', () => ({ limitLogs: rows => rows })),
    lie('log-without-end', 'The log has more rows than documented.', honest => ({
      limitLogs: rows => honest.limitLogs(rows.flatMap(row => Array.from({ length: 60 }, () => row))),
    })),
  ],
  'logs.shows-429': [
    lie('log-of-chat-alone', 'Requests rejected by the RPC proxy are not logged.', (honest, { limitLogs }) => ({
      logRejection: (rejections, rejection) => {
        if (rejection.modelId !== limitLogs.rpcId) honest.logRejection(rejections, rejection)
      },
    })),
    lie('log-of-the-first-refusal', 'Only one rejected request per minute is logged.', honest => ({
      logRejection: (rejections, rejection) => {
        const minute = Math.floor(rejection.atMs / 60_000)
        const isLogged = rejections.some(({ atMs }) => Math.floor(atMs / 60_000) === minute)
        if (!isLogged) honest.logRejection(rejections, rejection)
      },
    })),
  ],
  'logs.no-phantom': [
    rowsLie('refusals-logged-twice', 'Every rejected request is in the log twice.', rows =>
      rows.flatMap(row => [row, row]),
    ),
    lie('admitted-requests-logged', 'The log contains a request that was admitted.', (honest, { limitLogs }) => ({
      finish: (reply, state) => {
        const { account, route, arrivedMs } = state
        const { 'x-ratelimit-remaining-requests': left } = reply.headers
        if (reply.status === 200 && route.kind === 'rpc' && account !== null && left === '50')
          honest.logRejection(account.rejections, {
            modelId: limitLogs.rpcId,
            limit: 'RPM',
            atMs: arrivedMs,
          })
        return honest.finish(reply, state)
      },
    })),
  ],
} satisfies Lies
