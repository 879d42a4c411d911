import type { Contract } from '../../../contract/contract.ts'
import { limitForms } from '../../../contract/limit-headers/forms.ts'
import {
  endsAsAWhole,
  type FurtherLimit,
  furtherLimitsOf,
  windowsOf,
} from '../../../contract/limit-headers/further-limits.ts'
import { limitHeadersOf, limitParts } from '../../../contract/limit-headers/limit-headers.ts'
import { countsTokens } from '../../../contract/limiters.ts'
import { type ApplicableLimit, type StatedLimit, statedFurther } from '../../../observation/limit-scope.ts'
import type { Observation, ObservedResponse } from '../../../observation/observation.ts'
import { furtherUse } from '../../../observation/requests/further-use.ts'
import { isProbeRequest } from '../../../observation/requests/request.ts'
import { isAbuseBlock, isConcurrencyRejection, isOverLimit } from '../../../observation/response.ts'
import type { ClauseReporter } from '../../findings/findings.ts'
import { getOrAdd } from '../../merge.ts'
import type { AuditContext } from '../audit.ts'
import { createSortedQueue } from '../overlap-bounds.ts'
import { unknownUse } from './hidden.ts'
import { createLeakyLevel } from './limit-use.ts'
import { createPossibleUse, createSums, type FurtherUse } from './possible-use.ts'
import { type ClockOffset, clockResolutionMs } from './resets.ts'
import { describeEarly, type LimitRequest } from './window.ts'

type Reporter = ClauseReporter<'rate-limits'>

/** Refusals that wait for what the other limits say of them. Beyond, the oldest are forgotten. */
const maxOpenRefusals = 10_000

/** One further limit, as one of its counters counts it. */
function createCounted(
  limit: FurtherLimit,
  name: string,
  possibleUse: ReturnType<typeof createPossibleUse>,
  reporter: Reporter,
  mayBeEarly: (use: FurtherUse, message: string) => void,
) {
  const { amount, windowMs, counts, units, algorithm } = limit
  const ofRequests = counts === 'requests'
  const clause = ofRequests ? 'limit.requests' : 'limit.tokens'
  const what = units !== null ? 'units' : counts.replace('-', ' ')
  /** A window that refuses as little as this is full. */
  const least = units === null ? 1 : Math.min(...Object.values(units))
  const pending = createSortedQueue<FurtherUse>(({ sentMs }) => sentMs)
  const unsettled = createSortedQueue<FurtherUse>(({ settledMs }) => settledMs)
  const settled = createSums(windowMs)
  const admitted = createSums(windowMs)
  let largest = amount
  const level = createLeakyLevel(() => largest / windowMs)
  const load = createLeakyLevel(() => largest / windowMs)
  let lastShownMs = Number.NEGATIVE_INFINITY
  /** The accepted ones whose responses state the same end. */
  let window = { endMs: Number.NEGATIVE_INFINITY, accepted: 0 }
  /** Refusals by when they were known, and when the last one of those that are was sent. */
  const refusals = createSortedQueue<FurtherUse>(({ shownMs }) => shownMs)
  let refusedMs: number | null = null
  /** The accepted ones that one window certainly has, by what it begins after. */
  const sinceBegan = { fromMs: Number.NEGATIVE_INFINITY, accepted: 0 }
  const sinceRefusal = { fromMs: Number.NEGATIVE_INFINITY, accepted: 0 }

  function settle(nowMs: number) {
    for (let first = refusals.at(0); first !== undefined && first.shownMs < nowMs; first = refusals.at(0)) {
      refusals.shift()
      refusedMs = Math.max(refusedMs ?? first.sentMs, first.sentMs)
    }
    for (let first = unsettled.at(0); first !== undefined && first.settledMs <= nowMs; first = unsettled.at(0)) {
      unsettled.shift()
      if (first.certain === 0) continue
      level.add(first.sentMs, first.certain)
      settled.add(first.sentMs, first.certain)
    }
    settled.forget(nowMs - 2 * windowMs)
    admitted.forget(nowMs - 2 * windowMs)
  }

  /** What certainly counts of the requests that had settled when this one was sent. */
  function certainUse({ shownMs, ends }: FurtherUse): number {
    const inBucket = Math.max(0, Math.floor(level.at(shownMs)))
    const inWindow = ends === null ? 0 : settled.since(ends.toMs - windowMs, 'without')
    if (algorithm === 'sliding-log') return settled.since(shownMs - windowMs, 'without')
    if (algorithm === 'token-bucket' || algorithm === 'gcra') return inBucket
    return endsAsAWhole(limit) ? inWindow : Math.min(inWindow, inBucket)
  }

  /** How much of accepted requests certainly counts, with this one. */
  function admittedUse(use: FurtherUse): number {
    const { sentMs, shownMs, ends, certain } = use
    admitted.add(sentMs, certain)
    load.add(sentMs, certain)
    lastShownMs = Math.max(lastShownMs, shownMs)
    const inLog = admitted.since(lastShownMs - windowMs, 'without')
    const inBucket = Math.ceil(load.at(lastShownMs) - 1)
    if (algorithm === 'sliding-log') return inLog
    if (algorithm === 'token-bucket' || algorithm === 'gcra') return inBucket
    // Two windows may meet.
    const inAny = inLog - amount
    if (ends === null && endsAsAWhole(limit)) return Math.max(inOneWindow(use), Math.min(inAny, inBucket))
    if (ends === null || !endsAsAWhole(limit) || windowMs < 5 * clockResolutionMs) return Math.min(inAny, inBucket)
    const isSame = Math.abs(ends.fromMs - window.endMs) <= clockResolutionMs
    window = { endMs: isSame ? window.endMs : ends.fromMs, accepted: (isSame ? window.accepted : 0) + certain }
    return Math.max(window.accepted, inAny)
  }

  /**
   * How much of accepted requests one window has, with this one, if it states no end. It may begin at a whole second. A window
   * that refuses is full, so the next one begins after the refusal. After a window without requests, one begins with the first.
   */
  function inOneWindow(use: FurtherUse): number {
    const count = (span: typeof sinceBegan, fromMs: number | null) => {
      if (fromMs === null) return 0
      if (fromMs !== span.fromMs) Object.assign(span, { fromMs, accepted: 0 })
      if (use.shownMs < fromMs + windowMs - clockResolutionMs) span.accepted += use.certain
      return span.accepted
    }
    const began = algorithm === 'fixed-window' ? possibleUse.windowBeganMs(use) : null
    return Math.max(count(sinceBegan, began), count(sinceRefusal, refusedMs))
  }

  function judge(use: FurtherUse) {
    const { id, kind, stated } = use
    settle(use.sentMs)
    if (kind === 'rejected' && use.isAlone && use.possible <= least) refusals.insert(use)
    if (stated.limit !== null) largest = Math.max(largest, stated.limit)
    judgeReset(use)
    const settledUse = certainUse(use)
    const most = possibleUse.atMost(use)
    const allowed = Math.max(amount, stated.limit ?? 0)
    if (kind === 'accepted') {
      const certain = ofRequests ? admittedUse(use) : settledUse
      if (certain > allowed) {
        const message = `${certain} of ${allowed} ${what} of ${name} were used when a request was accepted, expected a 429`
        reporter.fail(`${clause}.enforced`, message, [id])
      }
    }
    if (kind !== 'uncertain')
      judgeRemaining(use, Math.min(allowed, settledUse + (ofRequests && kind === 'accepted' ? use.certain : 0)), most)
    unsettled.insert(use)
  }

  /** A refusal that states nothing: without this request, `most` may have counted. */
  function judgeRefusal(use: FurtherUse, most: number | null) {
    if (most === null) return reporter.unjudged('limit.requests.not-early', unknownUse)
    if (most <= amount) return mayBeEarly(use, describeEarly(most - use.possible, amount, name, what))
    reporter.pass('limit.requests.enforced')
    reporter.pass('limit.requests.not-early')
  }

  function judgeRemaining(use: FurtherUse, least: number, most: number | null) {
    const { id, kind } = use
    const { remaining, limit: of } = use.stated
    if (remaining === null) {
      if (kind === 'rejected' && ofRequests && use.isByUnstatedLimit) judgeRefusal(use, most)
      return
    }
    const own = of ?? amount
    const used = own - remaining
    // A bucket may be refilled by a part of a request before its response is written.
    const slack = endsAsAWhole(limit) || algorithm === 'sliding-log' ? 0 : 1
    const isTooHigh = used < least - slack && remaining > 0
    const isTooLow = most !== null && used > most + slack
    if (!isTooHigh && !isTooLow) {
      if (kind === 'rejected' && remaining === 0) {
        reporter.pass(`${clause}.enforced`)
        if (most !== null) reporter.pass('limit.requests.not-early')
      } else if (least > 0 || most !== null) reporter.pass(`${clause}.remaining`)
      return
    }
    const range = most === null ? `at least ${least}` : `${least} to ${most}`
    const message = `${remaining} of ${own} ${what} of ${name} are stated as remaining, so ${used} were used, expected ${range}`
    const isEarly = isTooLow && kind === 'rejected' && remaining < 1
    reporter.fail(isEarly ? 'limit.requests.not-early' : `${clause}.remaining`, message, [id])
  }

  function judgeReset({ id, sentMs, shownMs, ends, stated }: FurtherUse) {
    if (!ofRequests || ends === null) return
    const mostMs = windowMs * (stated.remaining === 0 ? windowsOf(limit) : 1)
    if (ends.toMs + clockResolutionMs >= sentMs && ends.fromMs - shownMs <= mostMs + clockResolutionMs) return
    const message = `the reset of ${name} is ${Math.round((ends.fromMs - sentMs) / 1000)} s ahead, expected 0 to ${mostMs / 1000} s`
    reporter.fail('limit.requests.reset', message, [id])
  }

  const advance = (untilMs: number) => {
    for (let first = pending.at(0); first !== undefined && first.shownMs < untilMs; first = pending.at(0)) {
      pending.shift()
      judge(first)
    }
  }
  return {
    add: (use: FurtherUse, watermarkMs: number) => {
      pending.insert(use)
      advance(watermarkMs)
    },
    finish: () => advance(Number.POSITIVE_INFINITY),
  }
}

/** When the window of a statement ends. A time from now is on our clock, another one on that of the target. */
function endsOf(
  { at }: FurtherLimit,
  { reset }: StatedLimit,
  sentMs: number,
  shownMs: number,
  startedAtMs: number,
  { min, max }: ClockOffset,
): FurtherUse['ends'] {
  if (reset === null || at.reset === null) return null
  return limitForms[at.reset.form].states === 'wait'
    ? { fromMs: sentMs + reset - clockResolutionMs, toMs: shownMs + reset + clockResolutionMs }
    : {
        fromMs: reset - startedAtMs - max - clockResolutionMs,
        toMs: reset - startedAtMs - min + clockResolutionMs,
      }
}

/**
 * Judges the limits that a profile promises beside those of requests and tokens, each by itself: what it admits, and what
 * it states as remaining, against what may have been used and what certainly was.
 */
export function createFurtherJudge(context: AuditContext, offset: () => ClockOffset, reporter: Reporter) {
  const { contract, startedAtMs } = context
  const limits = furtherLimitsOf(contract.limits)
  const possible = new Map<string, ReturnType<typeof createPossibleUse>>()
  const counted = new Map<string, ReturnType<typeof createCounted>>()
  const at = limitHeadersOf(contract.limits)
  const isUnstated = limitParts.every(part => at.requests[part] === null && at.tokens[part] === null)
  /** By request, how many limits have too much left to refuse it. */
  const notRefusing = new Map<number, number>()
  let firstSentMs: number | null = null

  function mayBeEarly({ id }: FurtherUse, message: string) {
    const count = (notRefusing.get(id) ?? 0) + 1
    notRefusing.set(id, count)
    const [oldest = id] = notRefusing.keys()
    if (notRefusing.size > maxOpenRefusals) notRefusing.delete(oldest)
    if (count === limits.length) reporter.fail('limit.requests.not-early', message, [id])
  }

  function addTo(limit: FurtherLimit, observation: Observation, drawn: ApplicableLimit, member: LimitRequest) {
    const { id, caller, endMs, response } = observation
    const { sentMs, shownMs, key } = member
    const ofRequests = limit.counts === 'requests'
    const isCounted = limit.units === null ? drawn.limiter !== 'control' : drawn.limiter === 'rpc'
    if (!ofRequests && !countsTokens(drawn.limiter)) return null
    const stated = statedFurther(response?.headers ?? {}, limit)
    const kind = isRefused(observation, contract) ? 'rejected' : member.kind
    const { certain, most, reserved } = furtherUse(observation, limit)
    const isByUnstatedLimit = isUnstated && drawn.requestsPerMinute === null && drawn.tokensPerMinute === null
    const use: FurtherUse = {
      id,
      kind,
      sentMs,
      shownMs,
      settledMs: ofRequests ? shownMs : (endMs ?? shownMs) + contract.billing.settleMs,
      certain: kind === 'accepted' ? certain : 0,
      possible: most,
      reserved,
      stated,
      isByUnstatedLimit,
      isAlone: isByUnstatedLimit && limits.length === 1,
      ends: endsOf(limit, stated, sentMs, shownMs, startedAtMs, offset()),
    }
    const ofCaller = getOrAdd(possible, `${limit.name} ${caller}`, () =>
      createPossibleUse(limit, context, firstSentMs ?? 0),
    )
    ofCaller.add(use)
    // It is open whether a limit counts requests for lists, too, or a limit of units those that are no RPC calls.
    if (!isCounted) return null
    // If each key may have limits of its own, only the use of this key is certain.
    const counter = `${limit.name} ${caller} ${drawn.finest}${contract.limits.scope === 'account' ? '' : ` ${key}`}`
    const one = getOrAdd(counted, counter, () =>
      createCounted(limit, `${drawn.name} (${limit.name})`, ofCaller, reporter, mayBeEarly),
    )
    return { one, use }
  }

  return {
    /** `drawn`: null if no limit of the document counts the request. */
    add: (observation: Observation, drawn: ApplicableLimit, member: LimitRequest, watermarkMs: number) => {
      if (limits.length === 0) return
      firstSentMs ??= member.sentMs
      for (const limit of limits) {
        const added = addTo(limit, observation, drawn, member)
        added?.one.add(added.use, watermarkMs)
      }
    },
    finish: () => {
      for (const one of counted.values()) one.finish()
    },
  }
}

/** Whether a limit of any kind refused a request. */
const isRefused = ({ request, response, outcome }: Observation, contract: Contract): boolean =>
  response !== null &&
  isOverLimit(response, contract) &&
  outcome.kind !== 'failed' &&
  !isProbeRequest(request) &&
  !isAbuseBlock(response, contract) &&
  !isConcurrencyRejection(response, contract)

/** Whether a further limit may be what refused a request: it states that too little is left, or nothing. */
export function mayRefuse(observation: Observation, { headers }: ObservedResponse, { limits }: Contract): boolean {
  return furtherLimitsOf(limits).some(limit => {
    const { remaining } = statedFurther(headers, limit)
    return remaining === null || remaining < furtherUse(observation, limit).reserved
  })
}
