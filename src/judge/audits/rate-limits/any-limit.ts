import { hasFixedWindows } from '../../../contract/contract.ts'
import { limitHeadersOf, retryAfterHeader } from '../../../contract/limit-headers/limit-headers.ts'
import type { ClauseReporter } from '../../findings/findings.ts'
import type { Obstacle } from '../../findings/obstacles.ts'
import { createOverlapBounds, type SumBounds } from '../overlap-bounds.ts'
import { createAdmittedRequests } from './admitted-requests.ts'
import {
  createHiddenRequests,
  lateRefusal,
  missingHeaders,
  unknownAlgorithm,
  unknownUse,
  unnamedWindows,
  unusableReset,
  wrongLimit,
} from './hidden.ts'
import { createLimitRecord, type Limit, type LimitContext } from './limit-record.ts'
import {
  addRequest,
  createBegunWindow,
  createRecentRequests,
  sentWith,
  sentWithOthers,
  type Use,
  unused,
} from './recent-requests.ts'
import { clockResolutionMs, createRefusals, createResetCheck, createRetryCheck, ownClock } from './resets.ts'
import {
  describeEarly,
  describeOneKey,
  describeRejectedRetry,
  describeRemaining,
  type LimitRequest,
  mayLackTokens,
  whyRefusalIsOpen,
} from './window.ts'

/**
 * One limit of one caller, if its algorithm is unknown or is not that of fixed windows. Reports only what every algorithm
 * breaks: fixed windows forget their requests at the reset that they state, and all others forget at most a limit of
 * requests per window. Usage is therefore at least the lesser of two numbers: the requests since the window that the reset
 * implies began, and the level of a bucket that leaks at the rate of the limit.
 *
 * Each request passes through `intake` when it is added, and through `judge` when all requests that it overlaps are known.
 * `admitted` bounds the use from below, `recent` from above, and `refusals` knows what earlier 429s promised.
 */
export function createAnyLimit(context: LimitContext, reporter: ClauseReporter<'rate-limits'>): Limit {
  const { contract, drawn } = context
  const { name: scope, requestsPerMinute: limit, tokensPerMinute: tokenLimit } = drawn
  const record = createLimitRecord(context, reporter)
  const { counts, stated } = record
  const intake = createIntake(context, record, reporter)
  const recent = createRecentRequests(context)
  const begun = createBegunWindow(context, ({ request, used }) => judgeUse(request, used))
  const admitted = createAdmittedRequests(context, stated.maxAllowed, reporter)
  const areWaitsStated = retryAfterHeader(limitHeadersOf(contract.limits)) !== null
  const refusals = createRefusals(areWaitsStated ? { ...context, offset: () => ownClock } : context, reporter)
  const bounds = createOverlapBounds<LimitRequest, Use>(unused, addRequest, judge)
  const noHeaders = missingHeaders(contract)
  let maxTokensOfAll = 0
  let countedUntilMs = Number.NEGATIVE_INFINITY

  function judge(request: LimitRequest, view: SumBounds<Use>) {
    admitted.settle(request.sentMs)
    recent.moveTo(request.sentMs)
    begun.add(request)
    if (request.kind === 'accepted') judgeAccepted(request, view)
    if (request.kind === 'rejected') judgeRejected(request, view)
    if (request.mayCount) countedUntilMs = Math.max(countedUntilMs, request.shownMs)
    recent.add(request)
    if (request.kind === 'accepted') admitted.addUnsettled(request)
  }

  function judgeAccepted(request: LimitRequest, { certain, possible }: SumBounds<Use>) {
    const { key, remaining, sentMs, shownMs, stated: own } = request
    refusals.addAccepted(request)
    if (admitted.judgeEnforced(request)) counts.missing429++
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
    const max = recent.mostUsed(possible)
    const atLeast = `at least ${Math.floor(min)}`
    const maxOfKey = sentWith(key, possible)
    const otherKeys = sentWithOthers(key, certain)
    if (used >= Math.floor(min) && (used <= max || !recent.hasAll())) {
      if (otherKeys && used > maxOfKey) reporter.pass('auth.keys-share-limits')
      else if (otherKeys && request.hidden !== null) reporter.unjudged('auth.keys-share-limits', request.hidden)
      // Without its window, too few requests may be stated as used.
      if (request.hidden !== null) reporter.unjudged('limit.requests.remaining', request.hidden)
      else reporter.pass('limit.requests.remaining')
      // The first request of another key looks like the first of all.
    } else if (otherKeys && used >= 1 && used <= maxOfKey && (used < min || recent.isStartKnown()))
      reporter.fail('auth.keys-share-limits', describeOneKey(used, scope, atLeast), admitted.upTo(request))
    else {
      const range = recent.hasAll() ? `${Math.floor(min)} to ${max}` : atLeast
      reporter.fail('limit.requests.remaining', describeRemaining(request, scope, range), admitted.upTo(request))
    }
    // With others that certainly count, its response is wrong or rounded.
    if (used === 1 && min <= 1) recent.addFirst(request)
  }

  /** `used`: the most requests that may have counted when this one was rejected. */
  function judgeUse(request: LimitRequest, used: number) {
    const allowed = stated.minAllowed()
    counts.decided429++
    if (used >= allowed) return reporter.pass('limit.requests.not-early')
    counts.unexpected429++
    reporter.fail('limit.requests.not-early', describeEarly(used, allowed, scope), admitted.upTo(request))
  }

  function judgeRejected(request: LimitRequest, { before, possible }: SumBounds<Use>) {
    const { id, sentMs } = request
    const allowed = stated.minAllowed()
    const used = recent.mostUsedBefore(request, possible, allowed, refusals.hasBefore(sentMs))
    const isForTokens = mayLackTokens(request, tokenLimit, recent.tokensOf(possible.maxTokens))
    const open = whyRefusalIsOpen(request, allowed, tokenLimit, isForTokens)
    const promise = isForTokens ? null : refusals.openPromise(request)
    const allow = () => judgeUse(request, allowed)
    const mostUsed = (sinceMs: number) => recent.mostUsedSince(sinceMs, possible)
    if (promise !== null && countedUntilMs <= promise.sentMs && possible.counted === before.counted) {
      refusals.decide()
      counts.decided429++
      counts.unexpected429++
      reporter.fail('retry.after-reset', describeRejectedRetry(scope), [promise.id, id])
    } else if (used !== null && used >= allowed) allow()
    // Without tokens, a 429 is right, however many requests were used.
    else if (isForTokens && open === null) {
      if (tokenLimit !== null) reporter.pass('limit.tokens.enforced')
      allow()
    } else if (used === null && open === null && begun.decides(request, mostUsed)) return
    else if (used === null) reporter.unjudged('limit.requests.not-early', whyUseIsOpen(request))
    else if (open !== null) reporter.unjudged('limit.requests.not-early', open)
    else judgeUse(request, used)
    if (!isForTokens) refusals.add(areWaitsStated ? { ...request, resetMs: request.retryMs, hidden: null } : request)
  }

  /** The first request of a window states that no other was used. */
  function whyUseIsOpen({ stated: own }: LimitRequest): Obstacle {
    const obstacle = own === null ? noHeaders : intake.hiding()
    return context.shared || obstacle === null ? unknownUse : obstacle
  }

  return {
    add: (member, watermarkMs) => {
      const request = intake.add(member)
      maxTokensOfAll += member.maxTokens
      const isForTokens = mayLackTokens(member, tokenLimit, recent.tokensOf(maxTokensOfAll))
      bounds.add(request.mayCount || !isForTokens ? request : { ...request, mayCount: true }, watermarkMs)
    },
    finish: () => {
      bounds.finish()
      const isOpen = record.finish(intake.hiding())
      if (!isOpen && counts.rejected > 0 && counts.missing429 === 0) reporter.pass('limit.requests.enforced')
    },
    result: () => record.result(intake.hiding()),
  }
}

/** Records each request, and judges the reset that its response states. Without a usable one, its window is hidden. */
function createIntake(
  { contract, drawn, startedAtMs, offset }: LimitContext,
  record: ReturnType<typeof createLimitRecord>,
  reporter: ClauseReporter<'rate-limits'>,
) {
  const { windowMs } = contract.limits
  const { counts } = record
  const whyWindowsAreOpen = hasFixedWindows(contract) ? unnamedWindows : unknownAlgorithm
  const resets = createResetCheck({ scope: drawn.name, contract, startedAtMs, offset }, reporter)
  const retries = createRetryCheck({ scope: drawn.name, startedAtMs, offset }, reporter)
  const hidden = createHiddenRequests()
  const noHeaders = missingHeaders(contract)
  let lastWindowMs = Number.NEGATIVE_INFINITY

  /** What hides the window of a request; null: nothing, or headers that the target does not promise. */
  function obstacleOf(member: LimitRequest): Obstacle | null {
    if (member.resetMs === null) return noHeaders
    if (retries.isLate(member, member.resetMs)) return lateRefusal
    return resets.judge(member, member.resetMs) ? null : unusableReset
  }

  return {
    /** What hides most windows; null: nothing. */
    hiding: hidden.most,
    /** Returns the request, without its reset if that is unusable. */
    add: (member: LimitRequest): LimitRequest => {
      const obstacle = obstacleOf(member)
      hidden.add(member, obstacle)
      record.add(member)
      if (counts.accepted === 1) reporter.unjudged('limit.requests.window', whyWindowsAreOpen)
      if (obstacle !== null) return { ...member, resetMs: null, hidden: obstacle }
      const { resetMs } = member
      if (resetMs === null) return member
      if (member.kind === 'rejected') retries.promise(member, resetMs)
      if (resetMs >= lastWindowMs + windowMs - clockResolutionMs) {
        lastWindowMs = resetMs
        counts.windows++
      }
      return member
    },
  }
}
