import type { ClauseReporter } from '../../findings/findings.ts'
import type { Obstacle } from '../../findings/obstacles.ts'
import { createOverlapBounds, createSortedQueue, type SumBounds } from '../overlap-bounds.ts'
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
import { createLeakyLevel } from './leaky-level.ts'
import type { Limit, LimitContext, LimitRequest } from './limit.ts'
import { clockResolutionMs, createResetCheck, isClockKnown, isSentAfter } from './resets.ts'
import { addKey, countOfKey, mayLackTokens, noCounts, type WindowRequest } from './window.ts'
import { createWindowLength } from './window-length.ts'

/** `mayCount`: whether it may use up the limit like an accepted request. Of 429s, those that may be for tokens do. */
type CountedRequest = LimitRequest & { readonly mayCount: boolean }

type Use = {
  /** Accepted requests, and those that may have counted. */
  readonly counted: number
  /** All other 429s, which count in some algorithms. */
  readonly rejected: number
  readonly maxTokens: number
  /** Requests with each API key but the first. Most accounts have only that. */
  readonly ofOtherKeys: readonly number[]
}

const unused: Use = { counted: 0, rejected: 0, maxTokens: 0, ofOtherKeys: noCounts }

const addRequest = (use: Use, { mayCount, key, maxTokens }: CountedRequest): Use => ({
  counted: use.counted + (mayCount ? 1 : 0),
  rejected: use.rejected + (mayCount ? 0 : 1),
  maxTokens: use.maxTokens + maxTokens,
  ofOtherKeys: key === 0 ? use.ofOtherKeys : addKey(use.ofOtherKeys, key),
})

const sentWith = (key: number, { counted, rejected, ofOtherKeys }: Use): number =>
  key > 0 ? countOfKey(ofOtherKeys, key) : ofOtherKeys.reduce((left, count) => left - count, counted + rejected)

const sentWithOthers = (key: number, use: Use): boolean => sentWith(key, use) < use.counted + use.rejected

type ResetGroup = { readonly resetMs: number; admitted: number; settled: number }

/** Resets that are remembered. Without windows, each response may state another. */
const maxGroups = 64
/** An early request can affect a counter of sliding windows until the end of the next window. */
const rememberedWindows = 2
/** With more requests than this in that time, no upper bound on use is asserted. */
const maxRemembered = 10_000
const maxCited = 500

/**
 * One limit of one caller, if its algorithm is unknown or is not that of fixed windows. Reports only what every algorithm
 * breaks: fixed windows forget their requests at the reset that they state, and all others forget at most a limit of
 * requests per window. Usage is therefore at least the lesser of two numbers: the requests since the window that the reset
 * implies began, and the level of a bucket that leaks at the rate of the limit.
 */
export function createAnyLimit(context: LimitContext, reporter: ClauseReporter<'rate-limits'>): Limit {
  const { contract, drawn, startedAtMs, shared, offset, firstSentMs } = context
  const { windowMs } = contract.limits
  const { name: scope, requestsPerMinute: limit, tokensPerMinute: tokenLimit } = drawn
  const resets = createResetCheck({ scope, contract, startedAtMs, offset }, reporter)
  const bounds = createOverlapBounds<CountedRequest, Use>(unused, addRequest, judge)
  const hidden = createHiddenRequests()
  const length = createWindowLength(windowMs)
  const noHeaders = missingHeaders(contract)
  let stated: number | null = null
  let maxStated = 0
  let minStated = Number.POSITIVE_INFINITY
  let lastWindowMs = Number.NEGATIVE_INFINITY
  const sums = { windows: 0, accepted: 0, rejected: 0, unexpected429: 0, missing429: 0 }

  /** Accepted requests whose effect a later request may not have found yet. */
  const unsettled = createSortedQueue<LimitRequest>(({ settledMs }) => settledMs)
  /** Accepted requests of the last windows that every request from now on finds, by their sending. */
  const settled = createSortedQueue<LimitRequest>(({ sentMs }) => sentMs)
  const level = createLeakyLevel(() => maxAllowed() / windowMs)
  /** All accepted requests of the last windows, by their sending, and their level. */
  const admitted = createSortedQueue<LimitRequest>(({ sentMs }) => sentMs)
  const load = createLeakyLevel(() => maxAllowed() / windowMs)
  let lastShownMs = Number.NEGATIVE_INFINITY
  const sameResetMs = Math.min(clockResolutionMs, windowMs / 5)
  const groups: ResetGroup[] = []
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
  let promised: { readonly resetMs: number; readonly id: number } | null = null

  /** A response with another limit than the contract violates a clause of its own. */
  const maxAllowed = () => Math.max(limit ?? 0, maxStated) || Number.POSITIVE_INFINITY
  const minAllowed = () => Math.min(limit ?? Number.POSITIVE_INFINITY, minStated)

  function judge(request: CountedRequest, view: SumBounds<Use>) {
    settle(request.sentMs)
    const hasAll = forget(request)
    if (request.kind === 'accepted') judgeAccepted(request, view, hasAll)
    if (request.kind === 'rejected') judgeRejected(request, view, hasAll)
    if (request.mayCount) countedUntilMs = Math.max(countedUntilMs, request.shownMs)
    recent.insert(request)
    if (request.kind === 'accepted') unsettled.insert(request)
  }

  function settle(nowMs: number) {
    for (let first = unsettled.at(0); first !== undefined && first.settledMs <= nowMs; first = unsettled.at(0)) {
      unsettled.shift()
      level.add(first.sentMs)
      settled.insert(first)
      if (first.resetMs !== null) groupOf(first.resetMs).settled++
    }
    while ((settled.at(0)?.sentMs ?? nowMs) < nowMs - rememberedWindows * windowMs || settled.size() > maxRemembered)
      settled.shift()
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
    if (isRetry(request) && !isRetryDecided) reporter.pass('retry.after-reset')
    else noteHiddenRetry(request)
    isRetryDecided = true
    const own = request.stated
    judgeEnforced(request)
    if (own === null || remaining === null || (limit !== null && own !== limit)) {
      const obstacle = own === null || remaining === null ? noHeaders : wrongLimit
      if (obstacle === null) return
      reporter.unjudged('limit.requests.remaining', obstacle)
      if (sentWithOthers(key, certain)) reporter.unjudged('auth.keys-share-limits', obstacle)
      return
    }
    const used = own - remaining
    // Half of the requests of a bucket may be back before the response states what remains.
    const min = Math.max(0, Math.min(own, certainUse(request) + 1 - level.leaked(sentMs, shownMs)))
    const max = possible.counted + possible.rejected - forgotten.counted - forgotten.rejected
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
      reporter.fail('auth.keys-share-limits', message, upTo(request))
    } else {
      const range = hasAll ? `${Math.floor(min)} to ${max}` : `at least ${Math.floor(min)}`
      const message = `${remaining} of ${own} requests of ${scope} are stated as remaining, so ${used} were used, expected ${range}`
      reporter.fail('limit.requests.remaining', message, upTo(request))
    }
    if (used === 1) firsts.insert(request)
  }

  /** The number of earlier requests that certainly count, whatever the algorithm. */
  function certainUse({ shownMs, resetMs }: LimitRequest): number {
    if (resetMs === null) return 0
    const windowStartMs = resetMs - windowMs + clockResolutionMs - startedAtMs - offset().min
    const since = settled.size() - settled.countBelow(windowStartMs)
    return Math.min(Math.max(since, groupOf(resetMs).settled), level.at(shownMs))
  }

  /** All accepted requests so far were admitted between their sending and the last response. */
  function judgeEnforced(request: LimitRequest) {
    const max = maxAllowed()
    admitted.insert(request)
    while ((admitted.at(0)?.sentMs ?? request.sentMs) < request.sentMs - rememberedWindows * windowMs) admitted.shift()
    if (admitted.size() > maxRemembered) admitted.shift()
    lastShownMs = Math.max(lastShownMs, request.shownMs)
    load.add(request.sentMs)
    if (request.resetMs !== null) groupOf(request.resetMs).admitted++
    // One more than a bucket holds may be the effect of rounding, and two windows may meet.
    const inBucket = load.at(lastShownMs) - 1
    const certain = Math.min(inBucket, inWindow(request) ?? inBucket - max)
    if (certain <= max) return
    sums.missing429++
    const message = `${Math.floor(certain)} requests of ${scope} were accepted, expected at most ${max} and then a 429`
    reporter.fail(isByKey(request) ? 'auth.keys-share-limits' : 'limit.requests.enforced', message, upTo(request))
  }

  /** The accepted requests of the last window, which a finding cites, and then this one. */
  function upTo({ id, sentMs }: LimitRequest): readonly number[] {
    const last = admitted.countBelow(sentMs)
    const first = Math.max(admitted.countBelow(sentMs - windowMs), last - maxCited)
    return [...Array.from({ length: last - first }, (_, index) => admitted.at(first + index)?.id ?? id), id]
  }

  /** The accepted requests of the window that ends at the stated reset; infinite: no window does; null: it states none. */
  function inWindow({ resetMs, shownMs }: LimitRequest): number | null {
    if (resetMs === null) return null
    const { min, max } = offset()
    if (resetMs - startedAtMs - shownMs - max > windowMs + clockResolutionMs) return Number.POSITIVE_INFINITY
    const sameReset = groupOf(resetMs).admitted
    if (startedAtMs + lastShownMs + max > resetMs - clockResolutionMs) return sameReset
    const sinceMs = resetMs - windowMs + clockResolutionMs - startedAtMs - min
    return Math.max(sameReset, admitted.size() - admitted.countBelow(sinceMs))
  }

  /** The accepted requests whose responses state this reset. If there are windows, they share one. */
  function groupOf(resetMs: number): ResetGroup {
    const last = groups.at(-1)
    // Most responses state the reset of the one before.
    if (last?.resetMs === resetMs) return last
    const known = groups.findLast(group => Math.abs(group.resetMs - resetMs) <= sameResetMs)
    if (known !== undefined) return known
    const group = { resetMs, admitted: 0, settled: 0 }
    groups.push(group)
    if (groups.length > maxGroups) groups.shift()
    return group
  }

  const isByKey = ({ stated: own, remaining }: LimitRequest) => {
    let byKey: readonly number[] = noCounts
    for (let index = 0, each = admitted.at(0); each !== undefined; each = admitted.at(++index))
      byKey = addKey(byKey, each.key)
    return byKey.length > 1 && own !== null && remaining !== null && own - remaining <= Math.max(...byKey)
  }

  function judgeRejected(request: LimitRequest, { before, possible }: SumBounds<Use>, hasAll: boolean) {
    const { id, shownMs } = request
    const isAlone = countedUntilMs <= (refused?.sentMs ?? 0) && possible.counted === before.counted
    const used = mostUsedBefore(request, possible, hasAll)
    const isForTokens = mayLackTokens(request, tokenLimit, possible.maxTokens - forgotten.maxTokens)
    if (isRetry(request) && !isForTokens && !isRetryDecided && isAlone && refused !== null) {
      isRetryDecided = true
      sums.unexpected429++
      const message = `a 429 of ${scope} came after the reset that an earlier 429 stated, expected the request to be accepted`
      reporter.fail('retry.after-reset', message, [refused.id, id])
    } else if (used !== null) {
      if (used >= minAllowed()) reporter.pass('limit.requests.not-early')
      else if (isForTokens) {
        if (tokenLimit !== null) reporter.pass('limit.tokens.enforced')
        reporter.pass('limit.requests.not-early')
      } else {
        sums.unexpected429++
        const message = `a 429 came after at most ${used} of ${minAllowed()} requests of ${scope} were used, expected it only above the limit`
        reporter.fail('limit.requests.not-early', message, upTo(request))
      }
    } else reporter.unjudged('limit.requests.not-early', whyUseIsOpen(request))
    if (isForTokens) return
    noteHiddenRetry(request)
    firstRefusedMs = Math.min(firstRefusedMs, shownMs)
    if (refused === null || isLaterRefusal(request, refused)) refused = request
    isRetryDecided = false
  }

  /**
   * The most requests that may have counted when this one was rejected; null: unknown. Some algorithms count rejected
   * requests, too. But since a response that shows an unused limit, the first rejection has none before it, so the
   * others alone must have reached the limit.
   */
  function mostUsedBefore(request: LimitRequest, { counted, rejected }: Use, hasAll: boolean): number | null {
    if (shared || !areAllStored) return null
    const first = firstDuring(request)
    if (first !== null) return counted - forgotten.counted - countedBefore(first.sentMs)
    if (!hasAll) return null
    if (knownFromMs !== null && knownFromMs >= horizonOf(request.sentMs)) return counted - forgotten.counted
    const hasRejected = firstRefusedMs <= request.sentMs
    return counted - forgotten.counted + (hasRejected ? rejected - forgotten.rejected - 1 : 0)
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
