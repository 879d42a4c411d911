import type { ClauseReporter } from '../../findings/findings.ts'
import type { Obstacle } from '../../findings/obstacles.ts'
import { createOverlapBounds, createSortedQueue, type SumBounds } from '../overlap-bounds.ts'
import { createAdmittedRequests, rememberedWindows } from './admitted-requests.ts'
import {
  createHiddenRequests,
  knownSums,
  lateRefusal,
  missingHeaders,
  unknownAlgorithm,
  unknownClock,
  unknownUse,
  unusableReset,
  wrongLimit,
} from './hidden.ts'
import type { Limit, LimitContext, LimitRequest } from './limit.ts'
import { addRequest, sentWith, sentWithOthers, type Use, unused } from './limit-use.ts'
import { clockResolutionMs, createResetCheck, isClockKnown, isSentAfter } from './resets.ts'
import { createStatedWindowsOfParts } from './stated-windows.ts'
import { mayLackTokens, type WindowRequest, whyRefusalIsOpen } from './window.ts'
import { createWindowLength } from './window-length.ts'

/** `mayCount`: whether it may use up the limit like an accepted request. Of 429s, those that may be for tokens do. */
type CountedRequest = LimitRequest & { readonly mayCount: boolean }

/** With more requests than this that may still affect others, no upper bound on use is asserted. */
const maxRemembered = 10_000

/**
 * One limit of one caller, if its algorithm is unknown or is not that of fixed windows. Reports only what every algorithm
 * breaks: fixed windows forget their requests at the reset that they state, and all others forget at most a limit of
 * requests per window. Usage is therefore at least the lesser of two numbers: the requests since the window that the reset
 * implies began, and the level of a bucket that leaks at the rate of the limit.
 */
export function createAnyLimit(context: LimitContext, reporter: ClauseReporter<'rate-limits'>): Limit {
  const { contract, drawn, startedAtMs, shared, offset, firstSentMs, otherUse } = context
  const { windowMs } = contract.limits
  const { name: scope, requestsPerMinute: limit, tokensPerMinute: tokenLimit } = drawn
  const resets = createResetCheck({ scope, contract, startedAtMs, offset }, reporter)
  const bounds = createOverlapBounds<CountedRequest, Use>(unused, addRequest, judge)
  const hidden = createHiddenRequests()
  const length = createWindowLength(windowMs)
  const windows = createStatedWindowsOfParts({ scope, windowMs, startedAtMs }, reporter)
  const noHeaders = missingHeaders(contract)
  let stated: number | null = null
  let maxStated = 0
  let minStated = Number.POSITIVE_INFINITY
  let lastWindowMs = Number.NEGATIVE_INFINITY
  const sums = { windows: 0, accepted: 0, rejected: 0, unexpected429: 0, decided429: 0, missing429: 0 }

  /** Requests that may still affect others, by their responses, and the sum of those that cannot. */
  const recent = createSortedQueue<CountedRequest>(({ shownMs }) => shownMs)
  let forgotten = unused
  let maxTokensOfAll = 0
  let areAllStored = true
  /** No request from before this time affects later ones. Null: unknown. */
  let knownFromMs: number | null = null
  /** Requests that found no other counted. That holds for requests sent after their responses. */
  const firsts = createSortedQueue<LimitRequest>(({ shownMs }) => shownMs)
  let countedUntilMs = Number.NEGATIVE_INFINITY
  /** The last 429, and when the first one came. */
  let refused: LimitRequest | null = null
  let firstRefusedMs = Number.POSITIVE_INFINITY
  /** Whether a request after its reset has shown that the caller is within the limit again. */
  let isRetryDecided = true
  /** Whether one certainly after it was accepted. Nearer to it, one may have been accepted before. */
  let isRetryAccepted = true
  let promised: { readonly resetMs: number; readonly id: number } | null = null

  /** A response with another limit than the contract violates a clause of its own. */
  const maxAllowed = () => Math.max(limit ?? 0, maxStated) || Number.POSITIVE_INFINITY
  const minAllowed = () => Math.min(limit ?? Number.POSITIVE_INFINITY, minStated)

  const admitted = createAdmittedRequests(context, maxAllowed, reporter)

  function judge(request: CountedRequest, view: SumBounds<Use>) {
    admitted.settle(request.sentMs)
    const hasAll = forget(request)
    if (request.kind === 'accepted') judgeAccepted(request, view, hasAll)
    if (request.kind === 'rejected') judgeRejected(request, view, hasAll)
    if (request.mayCount) countedUntilMs = Math.max(countedUntilMs, request.shownMs)
    recent.insert(request)
    if (request.kind === 'accepted') admitted.addUnsettled(request)
  }

  /** Responses from before this time no longer affect a request that is sent at `sentMs`. */
  const horizonOf = (sentMs: number): number => sentMs - rememberedWindows * windowMs - clockResolutionMs

  /** Forgets the requests that cannot affect this one. Returns whether all others that can are known. */
  function forget({ sentMs }: LimitRequest): boolean {
    for (let first = firsts.at(0); first !== undefined && first.shownMs <= sentMs; first = firsts.at(0)) {
      knownFromMs = Math.max(knownFromMs ?? first.sentMs, first.sentMs)
      firsts.shift()
    }
    const fromMs = horizonOf(sentMs)
    const knownMs = Math.max(fromMs, knownFromMs ?? fromMs)
    for (let first = recent.at(0); first !== undefined && first.shownMs < knownMs; first = recent.at(0)) {
      forgotten = addRequest(forgotten, first)
      recent.shift()
    }
    if (recent.size() > maxRemembered) areAllStored = false
    if (!areAllStored) while (recent.size() > 0) recent.shift()
    return !shared && areAllStored && (knownFromMs !== null || fromMs >= firstSentMs)
  }

  function judgeAccepted(request: LimitRequest, { certain, possible }: SumBounds<Use>, hasAll: boolean) {
    const { key, remaining, sentMs, shownMs } = request
    if (isRetry(request) && !isRetryAccepted) {
      isRetryAccepted = true
      reporter.pass('retry.after-reset')
    } else noteHiddenRetry(request)
    isRetryDecided = true
    const own = request.stated
    if (admitted.judgeEnforced(request)) sums.missing429++
    if (own === null || remaining === null || (limit !== null && own !== limit)) {
      const obstacle = own === null || remaining === null ? noHeaders : wrongLimit
      if (obstacle === null) return
      reporter.unjudged('limit.requests.remaining', obstacle)
      if (sentWithOthers(key, certain)) reporter.unjudged('auth.keys-share-limits', obstacle)
      return
    }
    const used = own - remaining
    // Half of the requests of a bucket may be back before the response states what remains.
    const min = Math.max(0, Math.min(own, admitted.certainUse(request) + 1 - admitted.leaked(sentMs, shownMs)))
    const max = possible.counted + possible.rejected - forgotten.counted - forgotten.rejected + otherUse()
    const maxOfKey = sentWith(key, possible)
    const otherKeys = sentWithOthers(key, certain)
    if (used >= Math.floor(min) && (used <= max || !hasAll)) {
      if (otherKeys && used > maxOfKey) reporter.pass('auth.keys-share-limits')
      else if (otherKeys && request.hidden !== null) reporter.unjudged('auth.keys-share-limits', request.hidden)
      // Without its window, too few requests may be stated as used.
      if (request.hidden !== null) reporter.unjudged('limit.requests.remaining', request.hidden)
      else reporter.pass('limit.requests.remaining')
      // The first request of another key looks like the first of all.
    } else if (otherKeys && used >= 1 && used <= maxOfKey && (used < min || knownFromMs !== null)) {
      const message = `${used} requests of ${scope} are stated as used, which counts only one key, expected at least ${Math.floor(min)} for all keys`
      reporter.fail('auth.keys-share-limits', message, admitted.upTo(request))
    } else {
      const range = hasAll ? `${Math.floor(min)} to ${max}` : `at least ${Math.floor(min)}`
      const message = `${remaining} of ${own} requests of ${scope} are stated as remaining, so ${used} were used, expected ${range}`
      reporter.fail('limit.requests.remaining', message, admitted.upTo(request))
    }
    // With others that certainly count, its response is wrong or rounded.
    if (used === 1 && min <= 1) firsts.insert(request)
  }

  function judgeRejected(request: LimitRequest, { before, possible }: SumBounds<Use>, hasAll: boolean) {
    const { id, shownMs } = request
    const isAlone = countedUntilMs <= (refused?.sentMs ?? 0) && possible.counted === before.counted
    const used = mostUsedBefore(request, possible, hasAll)
    const isForTokens = mayLackTokens(request, tokenLimit, possible.maxTokens - forgotten.maxTokens)
    const open = whyRefusalIsOpen(request, minAllowed(), tokenLimit, isForTokens)
    const allow = () => {
      sums.decided429++
      reporter.pass('limit.requests.not-early')
    }
    if (isRetry(request) && !isForTokens && !isRetryDecided && isAlone && refused !== null) {
      isRetryDecided = true
      sums.decided429++
      sums.unexpected429++
      const message = `a 429 of ${scope} came after the reset that an earlier 429 stated, expected the request to be accepted`
      reporter.fail('retry.after-reset', message, [refused.id, id])
    } else if (used !== null && used >= minAllowed()) allow()
    // Without tokens, a 429 is right, however many requests were used.
    else if (isForTokens && open === null) {
      if (tokenLimit !== null) reporter.pass('limit.tokens.enforced')
      allow()
    } else if (used === null) reporter.unjudged('limit.requests.not-early', whyUseIsOpen(request))
    else if (open !== null) reporter.unjudged('limit.requests.not-early', open)
    else {
      sums.decided429++
      sums.unexpected429++
      const message = `a 429 came after at most ${used} of ${minAllowed()} requests of ${scope} were used, expected it only above the limit`
      reporter.fail('limit.requests.not-early', message, admitted.upTo(request))
    }
    if (isForTokens) return
    noteHiddenRetry(request)
    firstRefusedMs = Math.min(firstRefusedMs, shownMs)
    if (refused === null || isLaterRefusal(request, refused)) refused = request
    isRetryDecided = false
    isRetryAccepted = false
  }

  /**
   * The most requests that may have counted when this one was rejected; null: unknown. Some algorithms count rejected
   * requests, too. But since a response that shows an unused limit, the first rejection has none before it, so the
   * others alone must have reached the limit.
   */
  function mostUsedBefore(request: LimitRequest, { counted, rejected }: Use, hasAll: boolean): number | null {
    const known = counted - forgotten.counted + otherUse()
    const first = shared || !areAllStored ? null : firstDuring(request)
    if (first !== null) return known - countedBefore(first.sentMs)
    // Whatever else counts, these are enough.
    if (known >= minAllowed()) return known
    if (!hasAll) return null
    if (knownFromMs !== null && knownFromMs >= horizonOf(request.sentMs)) return known
    const hasRejected = firstRefusedMs <= request.sentMs
    return known + (hasRejected ? rejected - forgotten.rejected - 1 : 0)
  }

  /**
   * The last request that found no other counted, and that overlaps with this rejected one, but certainly came before it:
   * had it come later, the limit would have reset in between, and not after its response, as this 429 states.
   */
  function firstDuring({ resetMs }: LimitRequest): LimitRequest | null {
    let last: LimitRequest | null = null
    const untilMs = (resetMs ?? Number.NEGATIVE_INFINITY) - startedAtMs - offset().max - clockResolutionMs
    for (let index = 0, each = firsts.at(0); each !== undefined; each = firsts.at(++index))
      if (each.shownMs < untilMs && each.sentMs > (last?.sentMs ?? -1)) last = each
    return last
  }

  /** The requests in `recent` that counted, or may have, before this time. */
  function countedBefore(sentMs: number): number {
    let counted = 0
    for (let index = 0, each = recent.at(0); each !== undefined && each.shownMs < sentMs; each = recent.at(++index))
      if (each.mayCount) counted++
    return counted
  }

  /** Whether the service rejected this request after the other one. Where both overlap, the later reset tells. */
  function isLaterRefusal({ sentMs, resetMs }: LimitRequest, other: LimitRequest): boolean {
    if (sentMs >= other.shownMs || resetMs === null) return true
    return other.resetMs !== null && resetMs >= other.resetMs
  }

  /** The first request of a window states that no other was used. */
  function whyUseIsOpen({ stated: own }: LimitRequest): Obstacle {
    const obstacle = own === null ? noHeaders : hidden.most()
    return shared || obstacle === null ? unknownUse : obstacle
  }

  const isRetry = (request: LimitRequest): boolean =>
    refused?.resetMs != null && isSentAfter(request, refused.resetMs, startedAtMs, offset())

  /** A request after a 429 whose reset, or whose distance from now, is unknown. */
  function noteHiddenRetry(request: LimitRequest) {
    if (refused === null || request.sentMs < refused.shownMs) return
    if (refused.hidden !== null) return reporter.unjudged('retry.after-reset', refused.hidden)
    if (refused.resetMs === null || isClockKnown(offset()) || isRetry(request)) return
    if (isSentAfter(request, refused.resetMs, startedAtMs, { min: 0, max: 0 }))
      reporter.unjudged('retry.after-reset', unknownClock)
  }

  /** Whether a 429 states a reset that an earlier 429 stated too, and that was over when the request was sent. */
  function isLate(member: WindowRequest, resetMs: number): boolean {
    if (promised === null || member.kind !== 'rejected') return false
    if (Math.abs(resetMs - promised.resetMs) > clockResolutionMs) return false
    if (!isSentAfter(member, promised.resetMs, startedAtMs, offset())) return false
    const message = `a 429 of ${scope} came after its own reset time, which an earlier 429 also stated, expected the request to be accepted`
    reporter.fail('retry.after-reset', message, [promised.id, member.id])
    return true
  }

  /** What hides the window of a request; null: nothing, or nothing that its response owes. */
  function obstacleOf(member: WindowRequest, resetMs: number | null): Obstacle | null {
    if (resetMs === null) return noHeaders
    if (isLate(member, resetMs)) return lateRefusal
    return resets.judge(member, resetMs) ? null : unusableReset
  }

  return {
    add: (member, watermarkMs) => {
      const { resetMs } = member
      if (member.kind === 'accepted') sums.accepted++
      if (member.kind === 'rejected') sums.rejected++
      stated ??= member.stated
      if (member.stated !== null && member.kind !== 'uncertain') {
        maxStated = Math.max(maxStated, member.stated)
        minStated = Math.min(minStated, member.stated)
      }
      if (sums.accepted === 1) reporter.unjudged('limit.requests.window', unknownAlgorithm)
      const obstacle = obstacleOf(member, resetMs)
      const isUsable = resetMs !== null && obstacle === null
      hidden.add(member, obstacle)
      length.add(member)
      windows.of(member.part).add(member, offset().max)
      if (isUsable && member.kind === 'rejected') promised = { resetMs, id: member.id }
      if (isUsable && resetMs >= lastWindowMs + windowMs - clockResolutionMs) {
        lastWindowMs = resetMs
        sums.windows++
      }
      maxTokensOfAll += member.maxTokens
      const isForTokens = mayLackTokens(member, tokenLimit, maxTokensOfAll - forgotten.maxTokens)
      const counted = { ...member, mayCount: member.kind !== 'rejected' || isForTokens }
      bounds.add(obstacle === null ? counted : { ...counted, resetMs: null, hidden: obstacle }, watermarkMs)
    },
    finish: () => {
      bounds.finish()
      length.report(reporter)
      const most = hidden.most()
      if (most !== null && sums.accepted > maxAllowed()) reporter.unjudged('limit.requests.enforced', most)
      else if (sums.rejected > 0 && sums.missing429 === 0) reporter.pass('limit.requests.enforced')
    },
    result: () => ({
      caller: context.caller,
      scope,
      tier: drawn.tier,
      windowMs,
      limit: limit ?? stated,
      ...knownSums(sums, maxAllowed(), hidden.most() !== null),
      lasted: length.lasted(),
    }),
  }
}
