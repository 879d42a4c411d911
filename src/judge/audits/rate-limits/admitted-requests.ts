import { hasFixedWindows } from '../../../contract/contract.ts'
import type { ClauseReporter } from '../../findings/findings.ts'
import { createSortedQueue } from '../overlap-bounds.ts'
import type { LimitContext } from './limit-record.ts'
import { addKey, createLeakyLevel, noCounts } from './limit-use.ts'
import { rememberedWindows } from './recent-requests.ts'
import { clockResolutionMs } from './resets.ts'
import type { LimitRequest } from './window.ts'

type ResetGroup = { readonly resetMs: number; admitted: number; settled: number }

/** Resets that are remembered. Without windows, each response may state another. */
const maxGroups = 64
/** More admitted requests than this are not stored. */
const maxRemembered = 10_000
const maxCited = 500
/** A response may count at most this many requests that were sent later, but arrived before it. */
const maxOverlap = 2

/**
 * The accepted requests of one limit, whatever its algorithm: how many certainly count when the next one is sent, and
 * whether they are more than the limit allows.
 */
export function createAdmittedRequests(
  { drawn: { name: scope }, contract, startedAtMs, offset }: LimitContext,
  maxAllowed: () => number,
  reporter: ClauseReporter<'rate-limits'>,
) {
  const { windowMs } = contract.limits
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
  const sameWindows = createSameWindows(windowMs, { startedAtMs, offset })

  /** Moves on to the time at which a request is sent. */
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

  /** The number of earlier requests that certainly count, whatever the algorithm. */
  function certainUse({ shownMs, resetMs }: LimitRequest): number {
    if (resetMs === null) return 0
    const windowStartMs = resetMs - windowMs + clockResolutionMs - startedAtMs - offset().min
    const since = settled.size() - settled.countBelow(windowStartMs)
    const inWindow = Math.max(since, groupOf(resetMs).settled)
    return hasFixedWindows(contract) ? inWindow : Math.min(inWindow, level.at(shownMs))
  }

  /**
   * Reports an accepted request beyond the limit. Returns whether it certainly is one. All accepted requests so far were
   * admitted between their sending and the last response.
   */
  function judgeEnforced(request: LimitRequest): boolean {
    const max = maxAllowed()
    admitted.insert(request)
    while ((admitted.at(0)?.sentMs ?? request.sentMs) < request.sentMs - rememberedWindows * windowMs) admitted.shift()
    if (admitted.size() > maxRemembered) admitted.shift()
    lastShownMs = Math.max(lastShownMs, request.shownMs)
    load.add(request.sentMs)
    if (request.resetMs !== null) groupOf(request.resetMs).admitted++
    // One more than a bucket holds may be the effect of rounding, and two windows may meet.
    const inBucket = load.at(lastShownMs) - 1
    const hasOthers = () => admitted.countBelow(request.sentMs) > 0
    const ofSameWindow = sameWindows.add(request, hasOthers)
    const certain = Math.max(Math.min(inBucket, inWindow(request) ?? inBucket - max), ofSameWindow)
    if (certain <= max) return false
    // A level has fractions; requests have none.
    const message = `${Math.ceil(certain)} requests of ${scope} were accepted, expected at most ${max} and then a 429`
    const byKey = isByKey(request)
    reporter.fail(byKey ? 'auth.keys-share-limits' : 'limit.requests.enforced', message, upTo(request))
    return !byKey || contract.limits.scope === 'account'
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
    return byKey.length > 1 && own !== null && remaining !== null && own - remaining <= Math.max(...byKey) + maxOverlap
  }

  return {
    settle,
    addUnsettled: (request: LimitRequest) => unsettled.insert(request),
    certainUse,
    /** How many requests a bucket may forget in this time. */
    leaked: hasFixedWindows(contract) ? () => 0 : level.leaked,
    judgeEnforced,
    upTo,
  }
}

/** The last windows, since requests overlap. */
const maxWindows = 8
/** In shorter windows, a whole second of the reset hides too much. */
const minWindowMs = 10_000
/** A reset that moves with the time of the response is another one by then. */
const lastingMs = 3_000

type SameWindow = {
  /** The end of the window before it, as far as it was stated. */
  earlierMs: number
  accepted: number
  readonly firstShownMs: number
  lastShownMs: number
  /** Whether other requests of the last two windows may count, too. */
  readonly hasOthers: boolean
}

type Clock = { readonly startedAtMs: number; readonly offset: () => { readonly min: number; readonly max: number } }

/**
 * Counts accepted requests whose responses state exactly the same end of their window. Whatever the algorithm, these are
 * no more than the limit: the reset of a bucket moves with each request, and a log frees nothing before the oldest request
 * expires. Left out are those that another window may have admitted, and those that were answered about the reset.
 */
export function createSameWindows(windowMs: number, { startedAtMs, offset }: Clock) {
  const windows = new Map<number, SameWindow>()

  function open(resetMs: number, shownMs: number, hasOthers: boolean): SameWindow {
    const opened = {
      earlierMs: Number.NEGATIVE_INFINITY,
      accepted: 0,
      firstShownMs: shownMs,
      lastShownMs: shownMs,
      hasOthers,
    }
    for (const [otherMs, other] of windows) {
      if (otherMs < resetMs) opened.earlierMs = Math.max(opened.earlierMs, otherMs)
      else other.earlierMs = Math.max(other.earlierMs, resetMs)
    }
    windows.set(resetMs, opened)
    const [oldest] = windows.keys()
    if (windows.size > maxWindows && oldest !== undefined) windows.delete(oldest)
    return opened
  }

  return {
    /** How many requests, with this one, the window of its reset has certainly admitted. `hasOthers`: see above. */
    add: ({ resetMs, sentMs, shownMs }: LimitRequest, hasOthers: () => boolean): number => {
      if (resetMs === null || windowMs < minWindowMs) return 0
      const window = windows.get(resetMs) ?? open(resetMs, shownMs, hasOthers())
      window.lastShownMs = Math.max(window.lastShownMs, shownMs)

      const { min, max } = offset()
      const startsAtMs = resetMs - windowMs - clockResolutionMs - startedAtMs - max
      const isOfEarlier = sentMs < startsAtMs || sentMs <= window.earlierMs + 2 * clockResolutionMs - startedAtMs - min
      const isBeforeReset = shownMs < resetMs - clockResolutionMs - startedAtMs - max
      if (isOfEarlier || !isBeforeReset) return 0
      window.accepted++
      const isLasting = window.lastShownMs - window.firstShownMs >= lastingMs
      return isLasting || !window.hasOthers ? window.accepted : 0
    },
  }
}
