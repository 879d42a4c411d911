import type { Contract } from '../contract/contract.ts'
import { controlDraw, countersOf, type Draw, limiterOf, listDraw, resourceDraw } from '../contract/limiters.ts'
import { promisesAny } from '../contract/promises.ts'
import { parseUncut } from '../lib/json.ts'
import type { Account, FailureRecord, LimitRejection, ScopeLimits, Window } from './account.ts'
import type { Behavior } from './behavior.ts'
import { type Counter, createCounter } from './counters.ts'
import type { FurtherLimits } from './further-limits.ts'
import { errorReply, type Reply, type RequestState } from './message.ts'
import { namedModel } from './router.ts'

/** The result of admitting a request to its window. */
export type Admission = {
  readonly admitted: boolean
  readonly window: Window
  readonly limits: ScopeLimits
  /** When the request limit resets, in Unix milliseconds. */
  readonly resetMs: number
  /** Counts the requests, if they do not count in windows that end as a whole. */
  readonly counter: Counter | null
  /** Returns tokens that were reserved and not used. */
  readonly giveBack: (tokens: number) => void
}

/** The tokens that a request reserves. */
type ReservedTokens = { readonly input: number; readonly output: number }

export type Limiter = {
  /** Counts the request if the window admits it. Writes the limit headers in either case. */
  readonly enter: (state: RequestState, account: Account, draw: Draw) => Admission
  /** Reserves tokens. If they do not fit, returns false and no longer counts the request. */
  readonly reserve: (
    state: RequestState,
    account: Account,
    draw: Draw,
    admission: Admission,
    tokens: ReservedTokens,
  ) => boolean
  /** Writes the limit headers of a request that no limit admits until `untilMs`. */
  readonly block: (state: RequestState, account: Account, untilMs: number) => void
  /** Notes the rejection in the log. `limit` is the one that was reached. */
  readonly reject: (
    state: RequestState,
    draw: Draw,
    more?: Readonly<Record<string, unknown>>,
    limit?: LimitRejection['limit'],
  ) => Reply
}

export function limiter(contract: Contract, behavior: Behavior, further: FurtherLimits): Limiter {
  const { windowMs, algorithm, requestsReset, tokensReset, tokenHeaders } = contract.limits
  /** A service that promises nothing about limits has none. */
  const isLimited = promisesAny(contract, ['limit.*'])
  const counters = new WeakMap<Account, Map<string, Counter | null>>()
  /** When a request fits again into the limits of one, for `Retry-After`. */
  const fits = new WeakMap<RequestState, Readonly<Record<LimitRejection['limit'], number>>>()

  function counterOf(account: Account, scope: string, limit: number): Counter | null {
    const own = counters.get(account) ?? new Map<string, Counter | null>()
    counters.set(account, own)
    const known = own.get(scope)
    if (known !== undefined) return known
    const counter = createCounter(algorithm, { limit, windowMs })
    own.set(scope, counter)
    return counter
  }

  const writeHeaders = (state: RequestState, { window, limits, resetMs: requestsResetMs, counter }: Admission) => {
    if (!isLimited) return
    const { headers, arrivedMs } = state
    const { resetMs } = window
    fits.set(state, { RPM: counter?.fitsMs?.(arrivedMs) ?? requestsResetMs, TPM: resetMs })
    headers['x-ratelimit-limit-requests'] = String(limits.requests)
    headers['x-ratelimit-remaining-requests'] = String(Math.max(0, limits.requests - window.requests))
    headers['x-ratelimit-reset-requests'] = String(
      requestsReset === 'unix-seconds' ? Math.ceil(requestsResetMs / 1000) : Math.ceil(requestsResetMs),
    )
    if (limits.tokens === null || !tokenHeaders) return
    headers['x-ratelimit-limit-tokens'] = String(limits.tokens)
    headers['x-ratelimit-remaining-tokens'] = String(Math.max(0, limits.tokens - window.tokens))
    headers['x-ratelimit-reset-tokens'] = String(
      tokensReset === 'seconds' ? Math.max(1, Math.ceil((resetMs - arrivedMs) / 1000)) : resetMs,
    )
  }

  return {
    enter: (state, account, draw) => {
      const limits = behavior.limitsOf(draw, account)
      const [counted] = countersOf(draw, contract).counters
      const key = behavior.scope(counted ?? limiterOf(draw).name(draw), state)
      const previous = account.windows.get(key)
      const window = behavior.windowAt(previous, state.arrivedMs, windowMs)
      if (window !== previous) account.windows.set(key, window)
      const counter = counterOf(account, key, limits.requests)
      if (counter !== null) window.requests = counter.used(state.arrivedMs)
      const fitsMs = isLimited ? further.take(state, account, draw, { requests: 1 }) : null
      const admitted = !isLimited || (behavior.admits(window, limits.requests) && fitsMs === null)
      if (!admitted) further.takeBack(state)
      if (admitted) {
        window.requests++
        counter?.add(state.arrivedMs)
      }
      const resetMs = counter?.resetMs(state.arrivedMs) ?? window.resetMs
      const giveBack = (tokens: number) => {
        window.tokens -= tokens
        further.giveBack(state, tokens)
      }
      const admission = { admitted, window, limits, resetMs, counter, giveBack }
      writeHeaders(state, admission)
      if (fitsMs !== null) fits.set(state, { RPM: fitsMs, TPM: fitsMs })
      return admission
    },
    reserve: (state, account, draw, admission, { input, output }) => {
      const { window, limits, counter } = admission
      const tokens = input + output
      const isEnough = !isLimited || limits.tokens === null || behavior.admitsTokens(window, limits.tokens, tokens)
      const amounts = { tokens, 'input-tokens': input, 'output-tokens': output }
      const fitsMs = isEnough && isLimited ? further.take(state, account, draw, amounts) : null
      const isAdmitted = isEnough && fitsMs === null
      if (isAdmitted) window.tokens += tokens
      else {
        window.requests--
        counter?.takeBack()
        further.takeBack(state)
      }
      writeHeaders(state, admission)
      if (fitsMs !== null) fits.set(state, { RPM: fitsMs, TPM: fitsMs })
      return isAdmitted
    },
    block: (state, account, untilMs) => {
      const limits = { ...behavior.limitsOf(drawOf(state, contract), account), tokens: null }
      const window = { startMs: state.arrivedMs, resetMs: untilMs, requests: limits.requests, tokens: 0 }
      writeHeaders(state, { admitted: false, window, limits, resetMs: untilMs, counter: null, giveBack: () => {} })
    },
    reject: (state, draw, more = {}, limit = 'RPM') => {
      const { account, arrivedMs } = state
      const { loggedAs, name } = limiterOf(draw)
      const modelId = loggedAs?.(draw, contract) ?? name(draw)
      if (account !== null) behavior.logRejection(account.rejections, { modelId, limit, atMs: arrivedMs })
      state.headers['x-ratelimit-type'] = 'user'
      const fitsMs = fits.get(state)?.[limit]
      if (fitsMs !== undefined)
        state.headers['retry-after'] = String(Math.max(1, Math.ceil((fitsMs - arrivedMs) / 1000)))
      return errorReply(state, contract.limits.status, 'Rate limit exceeded', more)
    },
  }
}

/** What a request would count against. */
export function drawOf({ route, request }: RequestState, { models }: Contract): Draw {
  switch (route.kind) {
    case 'chat':
      return chatDraw(models, namedModel(parseUncut(request.body)))
    case 'rpc':
      return { limiter: 'rpc', network: route.network }
    case 'resource':
      return resourceDraw(route.resource.path, route.resource.draws)
    case 'models':
    case 'networks':
    case 'rate-limits':
    case 'rate-limit-logs':
    case 'balance':
      return listDraw(route.kind)
    default:
      return controlDraw
  }
}

/** What a chat request for a model counts against. An unknown model has no limits of its own. */
export function chatDraw(models: Contract['models'], name: string): Draw {
  const model = models.find(({ id }) => id === name)
  return model === undefined ? controlDraw : { limiter: 'chat', model: model.id, modelTier: model.tier }
}

type AbuseBlock = {
  /** The error reply to a blocked account; null if it is not blocked. */
  readonly rejectBlocked: (state: RequestState, account: Account) => Reply | null
  /** Records the outcome. Error replies are sent without delay, so a request fails when it arrives. */
  readonly record: (state: RequestState, account: Account, reply: Reply, isBlocked: boolean) => void
}

export function abuseBlock(contract: Contract, behavior: Behavior, limits: Limiter): AbuseBlock {
  const { abuse } = contract
  /** A service that promises nothing about blocks does not block. */
  const isGuarded = promisesAny(contract, ['abuse.*'])
  const recordOf = (state: RequestState, account: Account): FailureRecord => {
    const scope = behavior.failureScope(state)
    const known = account.records.get(scope)
    if (known !== undefined) return known
    const record: FailureRecord = { failedMs: [], blockedUntilMs: 0, blocks: 0 }
    account.records.set(scope, record)
    return record
  }

  return {
    rejectBlocked: (state, account) => {
      const record = recordOf(state, account)
      if (state.arrivedMs >= record.blockedUntilMs) return null
      record.blockedUntilMs = behavior.blockedUntilMs(record.blockedUntilMs, state.arrivedMs)
      limits.block(state, account, record.blockedUntilMs)
      state.headers['retry-after'] = String(Math.ceil((record.blockedUntilMs - state.arrivedMs) / 1000))
      return errorReply(state, abuse.status, behavior.blockMessage)
    },
    record: (state, account, { status }, isBlocked) => {
      if (!isGuarded || (isBlocked && !behavior.blockedCount)) return
      const { arrivedMs } = state
      const record = recordOf(state, account)
      const failedMs = record.failedMs.filter(atMs => behavior.isRemembered(arrivedMs - atMs, status))
      record.failedMs = failedMs
      if (!behavior.isFailure(status)) return
      record.failedMs = [...failedMs, ...Array(behavior.failureWeight(status)).fill(arrivedMs)]
      if (behavior.toleratesFailures(record.failedMs.length, record.blocks)) return
      record.blockedUntilMs = arrivedMs + behavior.blockMs(record.blocks++)
      record.failedMs = []
    },
  }
}
