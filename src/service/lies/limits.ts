import type { AccountTier, Contract, Model, ModelTier } from '../../contract/contract.ts'
import type { LogRow, Window } from '../account.ts'
import type { Reply, RequestState } from '../message.ts'
import { isError, isStream, type Lies, lie, replyLie, textOf, withHeader, withoutHeaders, withText } from './lie.ts'

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
  return account === null || model === undefined ? undefined : accounts[otherTier[account.tier]][model.tier]
}

/** A lie that gives models of one tier the limits of another. */
const asRow =
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

const fifthMs = ({ startMs, resetMs }: Window): number => startMs + (resetMs - startMs) / 5

/** A block that comes late, or never, also miscounts failures. */
const late = ['abuse.block', 'abuse.counts'] as const

const early = ['abuse.not-early', 'abuse.counts'] as const

/** A lie about the rows of the log. */
const rowsLie = (name: string, text: string, change: (rows: readonly LogRow[]) => readonly unknown[]) =>
  lie(name, text, () => ({ limitLogs: rows => ({ object: 'list', data: change(rows) }) }))

export const limitLies = {
  'limit.requests.headers': [
    replyLie('no-limits-on-errors', 'Errors have no request limit headers.', reply =>
      isError(reply) ? withoutHeaders(reply, limit, remaining, reset) : reply,
    ),
    replyLie('no-limits-on-rpc', 'RPC answers have no request limit headers.', (reply, { route }) =>
      route.kind === 'rpc' ? withoutHeaders(reply, limit, remaining, reset) : reply,
    ),
    replyLie('limit-with-unit', 'The request limit is a rate with its unit.', reply =>
      withHeader(reply, limit, value => `${value}/min`),
    ),
  ],
  'limit.requests.limit': [
    replyLie(
      'limit-of-the-other-accounts',
      'The request limit is that of the other account tier.',
      (reply, visit, contract) => {
        const limits = otherLimits(reply, visit, contract)
        return limits === undefined ? reply : withHeader(reply, limit, String(limits.requestsPerMinute))
      },
    ),
    replyLie('medium-models-as-small', 'The request limit of medium models is that of small ones.', asRow('M', 'S')),
    replyLie('large-models-as-medium', 'The request limit of large models is that of medium ones.', asRow('L', 'M')),
    replyLie(
      'limit-one-lower',
      'The request limit is stated one lower than it is.',
      reply => withHeader(reply, limit, value => String(Number(value) - 1)),
      ['limit.requests.remaining', 'limit.resources'],
    ),
  ],
  'limit.requests.remaining': [
    replyLie('remaining-never-falls', 'Remaining requests are always the limit.', reply =>
      withHeader(reply, remaining, reply.headers[limit] ?? ''),
    ),
    replyLie('remaining-without-this-one', 'Remaining requests do not count the request at hand.', reply =>
      withHeader(reply, remaining, value => String(Number(value) + 1)),
    ),
    replyLie('remaining-one-too-few', 'Remaining requests count the request at hand twice.', reply =>
      withHeader(reply, remaining, value => String(Math.max(0, Number(value) - 1))),
    ),
  ],
  'limit.requests.reset': [
    replyLie(
      'reset-in-another-unit',
      'The request reset is in milliseconds where seconds are due, and the reverse.',
      (reply, _, { limits }) =>
        withHeader(reply, reset, value =>
          String(limits.requestsReset === 'unix-seconds' ? Number(value) * 1000 : Math.floor(Number(value) / 1000)),
        ),
    ),
    replyLie('reset-behind', 'The request reset is where the window began.', (reply, _, { limits }) =>
      withHeader(reply, reset, value => String(Number(value) - stampUnits(limits, limits.windowMs))),
    ),
    replyLie('reset-too-far', 'The request reset is a window too late.', (reply, _, { limits }) =>
      withHeader(reply, reset, value => String(Number(value) + stampUnits(limits, limits.windowMs))),
    ),
    replyLie('reset-as-time-left', 'The request reset is the time that is left.', (reply, { arrivedMs }, { limits }) =>
      withHeader(reply, reset, value => String(Math.ceil(Number(value) - stampUnits(limits, arrivedMs)))),
    ),
  ],
  'limit.requests.window': [
    lie('window-cut-short', 'A window makes room for the next when a fifth of it is over.', honest => ({
      windowAt: (previous, nowMs, windowMs) =>
        honest.windowAt(previous !== undefined && nowMs >= fifthMs(previous) ? undefined : previous, nowMs, windowMs),
    })),
    lie('half-of-a-window-carried-over', 'A window begins with half of what was used in the one before.', honest => ({
      windowAt: (previous, nowMs, windowMs) => {
        const window = honest.windowAt(previous, nowMs, windowMs)
        if (previous !== undefined && window !== previous) window.requests = Math.floor(previous.requests / 2)
        return window
      },
    })),
    lie('window-that-slides', 'Every request puts off the reset of its window.', honest => ({
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
    lie('a-tenth-too-many', 'A window admits a tenth more than its limit.', honest => ({
      admits: (window, requests) => honest.admits(window, Math.ceil(requests * 1.1)),
    })),
    lie('no-request-limit', 'No request is ever refused for its number.', () => ({ admits: () => true })),
  ],
  'retry.after-reset': [
    lie(
      'refuses-past-the-reset',
      'Whoever was refused is so until ten seconds after the reset that was named.',
      honest => {
        const refused = new WeakSet<Window>()
        return {
          admits: (window, limit) => {
            const isAdmitted = honest.admits(window, limit)
            if (!isAdmitted) refused.add(window)
            return isAdmitted
          },
          windowAt: (previous, nowMs, windowMs) =>
            previous !== undefined && refused.has(previous) && nowMs < previous.resetMs + penaltyMs
              ? previous
              : honest.windowAt(previous, nowMs, windowMs),
        }
      },
    ),
    lie('penalty-window', 'Whoever was refused gets nothing in the first ten seconds of the next window.', honest => {
      const refused = new WeakSet<Window>()
      const closedUntilMs = new WeakMap<Window, number>()
      let atMs = 0
      return {
        admits: (window, limit) => {
          const isAdmitted = honest.admits(window, limit)
          if (!isAdmitted) refused.add(window)
          return isAdmitted && atMs >= (closedUntilMs.get(window) ?? 0)
        },
        windowAt: (previous, nowMs, windowMs) => {
          atMs = nowMs
          const window = honest.windowAt(previous, nowMs, windowMs)
          if (previous !== undefined && window !== previous && refused.has(previous))
            closedUntilMs.set(window, nowMs + penaltyMs)
          return window
        },
      }
    }),
  ],
  'limit.requests.not-early': [
    lie('one-request-too-few', 'A window admits one request less than its limit.', honest => ({
      admits: (window, requests) => honest.admits(window, requests - 1),
    })),
    lie('sudden-429', 'Every tenth request is answered with 429.', honest => {
      let request = 0
      return { admits: (window, requests) => ++request % 10 !== 0 && honest.admits(window, requests) }
    }),
  ],
  'limit.tokens.headers': [
    replyLie('no-token-limits-on-streams', 'Streams have no token limit headers.', reply =>
      isStream(reply) ? withoutHeaders(reply, tokenLimit, tokensRemaining, tokenReset) : reply,
    ),
    replyLie('no-token-reset', 'The token reset is left out.', reply => withoutHeaders(reply, tokenReset)),
  ],
  'limit.tokens.limit': [
    replyLie(
      'token-limit-of-the-other-accounts',
      'The token limit is that of the other account tier.',
      (reply, visit, contract) => {
        const limits = otherLimits(reply, visit, contract)
        return limits === undefined ? reply : withHeader(reply, tokenLimit, String(limits.tokensPerMinute))
      },
    ),
    replyLie(
      'usual-tokens-for-partners',
      'The token limit of the smallest models is the same for all accounts.',
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
    replyLie('remaining-tokens-never-fall', 'Remaining tokens are always the limit.', reply =>
      withHeader(reply, tokensRemaining, reply.headers[tokenLimit] ?? ''),
    ),
    lie('tokens-given-back', 'A completed request gives back all the tokens that were set aside for it.', () => ({
      usedTokens: () => 0,
    })),
    lie('only-prompts-count', 'A completed request leaves its prompt counted, and not its completion.', () => ({
      usedTokens: usage => usage.prompt_tokens,
    })),
  ],
  'limit.tokens.enforced': [
    lie('no-token-limit', 'No request is ever refused for its tokens.', () => ({ admitsTokens: () => true })),
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
  'abuse.block': [
    lie('block-never', 'Nobody is ever blocked.', () => ({ toleratesFailures: () => true }), late),
    lie(
      'block-one-failure-late',
      'The failure that should block does not, and the next one does.',
      honest => ({ toleratesFailures: failures => honest.toleratesFailures(failures - 1) }),
      late,
    ),
    lie(
      'block-after-fifty',
      'Only more than 50 failures block.',
      () => ({ toleratesFailures: failures => failures <= 50 }),
      late,
    ),
  ],
  'abuse.not-early': [
    lie(
      'block-one-failure-early',
      'The last failure that should be tolerated blocks.',
      honest => ({ toleratesFailures: failures => honest.toleratesFailures(failures + 1) }),
      early,
    ),
    lie(
      'block-after-ten',
      'More than 10 failures block.',
      () => ({ toleratesFailures: failures => failures <= 10 }),
      early,
    ),
  ],
  'abuse.counts': [
    lie('only-client-errors-count', 'A 429 does not count as a failure.', honest => ({
      isFailure: status => status !== 429 && honest.isFailure(status),
    })),
    lie('only-bad-requests-count', 'Nothing but a 400 counts as a failure.', () => ({
      isFailure: status => status === 400,
    })),
    lie('media-types-do-not-count', 'A 415 does not count as a failure.', honest => ({
      isFailure: status => status !== 415 && honest.isFailure(status),
    })),
    lie(
      'every-request-counts',
      'Requests count towards the block whatever their status.',
      () => ({ isFailure: () => true }),
      ['abuse.not-early'],
    ),
  ],
  'abuse.all-requests': [
    lie(
      'block-by-endpoint',
      'Failures are counted for each part of the service, and block that part.',
      () => ({ failureScope: ({ route }) => route.kind }),
      ['abuse.counts'],
    ),
  ],
  'abuse.duration': [
    lie('block-of-ten-seconds', 'A block lasts for 10 seconds.', () => ({ blockMs: 10_000 })),
    lie('block-two-seconds-short', 'A block lasts 2 seconds less than it should.', honest => ({
      blockMs: honest.blockMs - 2_000,
    })),
  ],
  'abuse.ends': [
    lie('block-of-a-minute', 'A block lasts for 60 seconds.', () => ({ blockMs: 60_000 })),
    lie('block-two-seconds-long', 'A block lasts 2 seconds more than it should.', honest => ({
      blockMs: honest.blockMs + 2_000,
    })),
    lie('block-prolonged', 'Every request during a block begins it anew.', honest => ({
      blockedUntilMs: (_, arrivedMs) => arrivedMs + honest.blockMs,
    })),
  ],
  'abuse.message': [
    replyLie('block-without-wait', 'The answer of a block does not say how long to wait.', (reply, _, { abuse }) =>
      textOf(reply).includes(abuse.opening) ? withText(reply, JSON.stringify({ error: abuse.opening })) : reply,
    ),
    replyLie(
      'block-of-another-length-said',
      'The answer of a block says to wait for a minute.',
      (reply, _, { abuse }) =>
        textOf(reply).includes(abuse.opening) ? withText(reply, textOf(reply).replace(/wait \d+s/, 'wait 60s')) : reply,
    ),
    replyLie(
      'block-as-rate-limit',
      'The answer of a block is that of a rate limit.',
      (reply, _, { abuse }) =>
        textOf(reply).includes(abuse.opening) ? withText(reply, '{"error":"Rate limit exceeded"}') : reply,
      ['limit.requests.not-early', 'limit.type', 'limit.rpc-429', 'limit.requests.headers'],
    ),
  ],
  'logs.layout': [
    rowsLie('log-times-in-words', 'The times of the log are in words.', rows =>
      rows.map(row => ({ ...row, timestamp: 'a minute ago' })),
    ),
    lie('log-in-an-array', 'The log is an array.', () => ({ limitLogs: rows => rows })),
    lie('log-without-end', 'The log shows more rows than it says.', honest => ({
      limitLogs: rows => honest.limitLogs(rows.flatMap(row => Array.from({ length: 60 }, () => row))),
    })),
  ],
  'logs.shows-429': [
    lie('log-of-chat-alone', 'Refusals of the RPC proxy are not logged.', (honest, { limitLogs }) => ({
      logRefusal: (refusals, refusal) => {
        if (refusal.modelId !== limitLogs.rpcId) honest.logRefusal(refusals, refusal)
      },
    })),
    lie('log-of-the-first-refusal', 'One refusal of each minute is logged.', honest => ({
      logRefusal: (refusals, refusal) => {
        const minute = Math.floor(refusal.atMs / 60_000)
        const isLogged = refusals.some(({ atMs }) => Math.floor(atMs / 60_000) === minute)
        if (!isLogged) honest.logRefusal(refusals, refusal)
      },
    })),
  ],
  'logs.no-phantom': [
    rowsLie('refusals-logged-twice', 'Every refusal is in the log twice.', rows => rows.flatMap(row => [row, row])),
    lie('admitted-requests-logged', 'The log shows a request that was admitted.', (honest, { limitLogs }) => ({
      finish: (reply, visit) => {
        const { account, route, arrivedMs } = visit
        const { 'x-ratelimit-remaining-requests': left } = reply.headers
        if (reply.status === 200 && route.kind === 'rpc' && account !== null && left === '50')
          honest.logRefusal(account.refusals, {
            modelId: limitLogs.rpcId,
            limit: 'RPM',
            atMs: arrivedMs,
          })
        return honest.finish(reply, visit)
      },
    })),
  ],
} satisfies Lies
