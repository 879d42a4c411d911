import type { ClauseReporter } from '../../findings/findings.ts'
import type { Obstacle } from '../../findings/obstacles.ts'
import type { LimitUse } from '../../results.ts'
import { createOverlapBounds, type RequestInterval, type SumBounds } from '../overlap-bounds.ts'
import { unknownLimit, unknownTokens, unknownUse, wrongLimit, wrongRemaining } from './hidden.ts'
import { addKey, type CountsByKey, countOfKey, createStatedLimit, hasOtherKeys, noCounts } from './limit-use.ts'

/** One request of a window, as its limit sees it. It is counted between its sending and the arrival of its headers. */
export type WindowRequest = RequestInterval & {
  readonly id: number
  /** The API key of the caller that it used. */
  readonly key: number
  /** Whether it was sent after the reset that a 429 of an earlier window stated. */
  readonly isRetry: boolean
  /**
   * accepted: it counts · rejected: a 429, which need not count · uncertain: another non-success, no response, or a
   * probe; it is open whether it counts
   */
  readonly kind: 'accepted' | 'rejected' | 'uncertain'
  /** Whether it was refused by an abuse block, whose end its reset may state. Missing: it was not. */
  readonly isBlocked?: boolean
  /** The limit and the remaining requests in the response; null if it states none. */
  readonly stated: number | null
  readonly remaining: number | null
  /** The maximum tokens of the request, and the remaining tokens in the response. */
  readonly maxTokens: number
  readonly tokensLeft: number | null
}

/** One request of a limit, before its window is known. */
export type LimitRequest = WindowRequest & {
  /** The reset time in the response, Unix milliseconds; null if it has none. */
  readonly resetMs: number | null
  /** When it is over by the wait that a 429 states, on our clock; null if it states none. */
  readonly retryMs: number | null
  /** Whether it may use up the limit like an accepted request. Of 429s, those that may be for tokens do. */
  readonly mayCount: boolean
  /** What a limit of a smaller scope would cover: requests with this key and for this network, for example. */
  readonly part: string
  /** What hides the window of the request; null: nothing, as far as it is known. */
  readonly hidden: Obstacle | null
}

type WindowOptions = {
  /** The name of the limit in reports. */
  readonly scope: string
  /** According to the contract; null if it has none. */
  readonly limit: number | null
  readonly tokenLimit: number | null
  /** Whether all use of the window is known: it began during the run, on accounts that are not shared. */
  readonly isComplete: () => boolean
  /** The maximum tokens of requests in the previous windows, since a token window may begin earlier. */
  readonly earlierTokens: () => number
  /** Requests of the previous window. */
  readonly earlierRequests: () => number
}

type WindowVerdict = Pick<LimitUse, 'decided429'> & { readonly unexpected429: number; readonly missing429: number }

export type LimitWindow = {
  /** Requests added later were sent at `watermarkMs` or later. */
  readonly add: (member: WindowRequest, watermarkMs: number) => void
  /** Call once, when no more requests can join. */
  readonly finish: () => WindowVerdict
}

/** `mayBeForTokens`: a 429 that may be for tokens, and so may count as a request. */
type CountedRequest = WindowRequest & { readonly mayBeForTokens: boolean }

/** The number of requests of each kind, and the tokens that they may have used. */
type WindowUse = {
  readonly accepted: number
  readonly rejected: number
  readonly rejectedForTokens: number
  readonly uncertain: number
  readonly maxTokens: number
  readonly acceptedByKey: CountsByKey
  readonly sentByKey: CountsByKey
}

const unused: WindowUse = {
  accepted: 0,
  rejected: 0,
  rejectedForTokens: 0,
  uncertain: 0,
  maxTokens: 0,
  acceptedByKey: noCounts,
  sentByKey: noCounts,
}

const addRequest = (use: WindowUse, { kind, key, maxTokens, mayBeForTokens }: CountedRequest): WindowUse => ({
  accepted: use.accepted + (kind === 'accepted' ? 1 : 0),
  rejected: use.rejected + (kind === 'rejected' ? 1 : 0),
  rejectedForTokens: use.rejectedForTokens + (mayBeForTokens ? 1 : 0),
  uncertain: use.uncertain + (kind === 'uncertain' ? 1 : 0),
  maxTokens: use.maxTokens + maxTokens,
  acceptedByKey: kind === 'accepted' ? addKey(use.acceptedByKey, key) : use.acceptedByKey,
  sentByKey: addKey(use.sentByKey, key),
})

const maxNamed = 8
/** A finding cites at most this many requests before it. */
const maxBefore = 1_000

/** The requests whose responses stated the same reset time, and requests without one that may belong to the window. */
export function createLimitWindow(options: WindowOptions, reporter: ClauseReporter<'rate-limits'>): LimitWindow {
  const { scope, limit, tokenLimit } = options
  const { add: addStated, minAllowed, maxAllowed } = createStatedLimit(limit)
  let accepted = 0
  let acceptedByKey = noCounts
  /** The maximum number of used requests that a response stated. */
  let maxUsed = 0
  let rejected = 0
  let unexpected429 = 0
  let decided429 = 0
  let maxTokensOfAll = 0
  const excessRequests: number[] = []
  /** The first requests of the window, in the order of sending. */
  const before: number[] = []
  const bounds = createOverlapBounds<CountedRequest, WindowUse>(unused, addRequest, (member, view) => {
    if (member.kind === 'accepted') judgeAccepted(member, view)
    if (member.kind === 'rejected') judgeRejected(member, view)
    if (before.length < maxBefore) before.push(member.id)
  })

  function judgeAccepted(member: WindowRequest, { certain, possible }: SumBounds<WindowUse>) {
    accepted++
    acceptedByKey = addKey(acceptedByKey, member.key)
    if (member.isRetry) reporter.pass('retry.after-reset')
    if (accepted > maxAllowed() && excessRequests.length < maxNamed) excessRequests.push(member.id)
    const { stated, remaining, id, key } = member
    if (stated === null || remaining === null) return
    if (limit !== null && stated !== limit) return reporter.unjudged('limit.requests.remaining', wrongLimit)
    const used = stated - remaining
    maxUsed = Math.max(maxUsed, used)
    // The remaining requests are never stated as less than 0.
    const min = Math.min(stated, 1 + certain.accepted)
    // A rejected request, or one without a response, may count or not.
    const max = possible.accepted + possible.rejected + possible.uncertain
    const isComplete = options.isComplete()
    const foundOtherKeys = hasOtherKeys(certain.acceptedByKey, key)
    if (used >= min && (used <= max || !isComplete)) {
      if (foundOtherKeys) reporter.pass('auth.keys-share-limits')
      return reporter.pass('limit.requests.remaining')
    }
    const [minOfKey, maxOfKey] = [1 + countOfKey(certain.acceptedByKey, key), countOfKey(possible.sentByKey, key)]
    if (foundOtherKeys && used >= minOfKey && used <= maxOfKey) {
      return reporter.fail('auth.keys-share-limits', describeOneKey(used, scope, `${min}`), [...before, id])
    }
    // If the excess is most of the previous window's count, that window did not end.
    const tooMany = used - max
    if (tooMany > 1 && tooMany <= options.earlierRequests() && tooMany * 2 >= options.earlierRequests() - 1) {
      const message = `${used} requests of ${scope} are stated as used, but only ${max} were sent since the reset, expected none of the previous window`
      return reporter.fail('limit.requests.window', message, [...before, id])
    }
    reporter.unjudged('limit.requests.window', wrongRemaining)
    const range = !isComplete ? `at least ${min}` : min === max ? String(min) : `${min} to ${max}`
    reporter.fail('limit.requests.remaining', describeRemaining(member, scope, range), [...before, id])
  }

  function judgeRejected(member: CountedRequest, { possible }: SumBounds<WindowUse>) {
    rejected++
    if (!options.isComplete()) return reporter.unjudged('limit.requests.not-early', unknownUse)
    const rejectedForTokens = possible.rejectedForTokens - (member.mayBeForTokens ? 1 : 0)
    const used = possible.accepted + rejectedForTokens + possible.uncertain
    const isForTokens =
      used < minAllowed() && mayLackTokens(member, tokenLimit, possible.maxTokens + options.earlierTokens())
    const open = used < minAllowed() ? whyRefusalIsOpen(member, minAllowed(), tokenLimit, isForTokens) : null
    if (open !== null) return reporter.unjudged('limit.requests.not-early', open)
    decided429++
    if (isForTokens && tokenLimit !== null) reporter.pass('limit.tokens.enforced')
    if (isForTokens || used >= minAllowed()) return reporter.pass('limit.requests.not-early')
    unexpected429++
    if (member.isRetry && possible.accepted === 0)
      return reporter.fail('retry.after-reset', describeRejectedRetry(scope), [...before, member.id])
    reporter.fail('limit.requests.not-early', describeEarly(used, minAllowed(), scope), [...before, member.id])
  }

  return {
    add: (member, watermarkMs) => {
      addStated(member)
      maxTokensOfAll += member.maxTokens
      const mayBeForTokens =
        member.kind === 'rejected' && mayLackTokens(member, tokenLimit, maxTokensOfAll + options.earlierTokens())
      bounds.add({ ...member, mayBeForTokens }, watermarkMs)
    },
    finish: () => {
      bounds.finish()
      const missing429 = Math.max(0, accepted - maxAllowed())
      if (missing429 > 0) {
        const message = `${accepted} requests of ${scope} were accepted in one window, expected at most ${maxAllowed()}`
        const isByKey = acceptedByKey.length > 1 && maxUsed > 0 && maxUsed <= Math.max(...acceptedByKey)
        const ids = [...new Set([...before, ...excessRequests])]
        reporter.fail(isByKey ? 'auth.keys-share-limits' : 'limit.requests.enforced', message, ids, excessRequests)
      } else if (rejected > 0) reporter.pass('limit.requests.enforced')
      return { unexpected429, decided429, missing429 }
    },
  }
}

export const describeOneKey = (used: number, scope: string, expected: string): string =>
  `${used} requests of ${scope} are stated as used, which counts only one key, expected ${expected} for all keys`

export const describeRemaining = (
  { stated, remaining }: Pick<WindowRequest, 'stated' | 'remaining'>,
  scope: string,
  expected: string,
): string =>
  `${remaining} of ${stated} requests of ${scope} are stated as remaining, so ${(stated ?? 0) - (remaining ?? 0)} were used, expected ${expected}`

export const describeRejectedRetry = (scope: string): string =>
  `a 429 of ${scope} came after the reset that an earlier 429 stated, expected the request to be accepted`

export const describeEarly = (used: number, allowed: number, scope: string, what = 'requests'): string =>
  `a 429 came after at most ${used} of ${allowed} ${what} of ${scope} were used, expected it only above the limit`

/**
 * By the remaining tokens in the response, or else by the maximum tokens of all requests sent before. Without a known
 * limit, any request that uses tokens may lack them.
 */
export function mayLackTokens(
  { maxTokens, tokensLeft }: WindowRequest,
  tokenLimit: number | null,
  possibleTokens: number,
): boolean {
  if (tokensLeft !== null) return tokensLeft < maxTokens
  return maxTokens > 0 && possibleTokens > (tokenLimit ?? 0)
}

/** Why a 429 below a limit may be right: the limit, or the number of remaining tokens, is unknown; null: neither. */
export function whyRefusalIsOpen(
  { tokensLeft }: WindowRequest,
  limit: number,
  tokenLimit: number | null,
  isForTokens: boolean,
): Obstacle | null {
  if (isForTokens) return tokensLeft === null && tokenLimit === null ? unknownTokens : null
  return limit === Number.POSITIVE_INFINITY ? unknownLimit : null
}
