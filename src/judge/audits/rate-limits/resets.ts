import { type Contract, maxResetMs } from '../../../contract/contract.ts'
import type { Observation } from '../../../observation/observation.ts'
import type { ClauseReporter } from '../../findings/findings.ts'
import { unknownClock } from './hidden.ts'
import type { LimitRequest, WindowRequest } from './window.ts'

/** Allows for resets in whole seconds, rounded up or down, and for resets recomputed for each response. */
export const clockResolutionMs = 1_000

/** A window, identified by its reset time in responses, in Unix milliseconds. */
export type ReportedWindow = {
  readonly resetMs: number
  /** When it was first named, and in which response. */
  namedMs: number
  namedBy: number
  isCutShort: boolean
  /** The keys of the requests whose responses named it. */
  readonly keys: Set<number>
  /** Whether a response was the first of the window. Then all other use is ours. */
  hasFirst: boolean
}

type RetryOptions = {
  /** The name of the limit in reports. */
  readonly scope: string
  readonly startedAtMs: number
  readonly offset: () => ClockOffset
}

type ResetOptions = RetryOptions & { readonly contract: Contract }

/** Judges reset times, as far as the target's clock is known. */
export function createResetCheck(
  { scope, contract, startedAtMs, offset }: ResetOptions,
  reporter: ClauseReporter<'rate-limits'>,
) {
  const { windowMs } = contract.limits
  let areRight = true
  return {
    /** Whether the reset time in a response is possible. */
    judge: ({ id, sentMs, shownMs, remaining, isBlocked }: WindowRequest, resetMs: number): boolean => {
      // After an impossible reset, a later one that is too far ahead does not show how the service counts.
      const maxMs = areRight ? maxResetMs(contract, remaining) : windowMs
      const { min, max } = offset()
      const earliestMs = startedAtMs + sentMs + min
      const latestMs = startedAtMs + shownMs + max
      const isRight = resetMs + clockResolutionMs >= earliestMs && resetMs - latestMs <= maxMs + clockResolutionMs
      if (isRight) reporter.pass('limit.requests.reset')
      else if (isBlocked !== true) {
        areRight = false
        const seconds = Math.round((resetMs - earliestMs) / 1000)
        const away = seconds < 0 ? `${-seconds} s ago` : `${seconds} s ahead`
        const message = `the reset of ${scope} is ${away}, expected 0 to ${maxMs / 1000} s ahead`
        reporter.fail('limit.requests.reset', message, [id])
      }
      return isRight
    },

    /** Whether a later window showed that one of these ordered windows was cut short. */
    judgeOrder: (windows: readonly ReportedWindow[]): boolean => {
      if (windows.length < 2) return false
      const nowMs = startedAtMs + offset().max
      let found = false
      for (const [index, window] of windows.entries()) {
        const early = windows.slice(index + 1).find(later => nowMs + later.namedMs + clockResolutionMs < window.resetMs)
        if (early === undefined || window.isCutShort) continue
        window.isCutShort = true
        found = true
        const seconds = Math.round((window.resetMs - nowMs - early.namedMs) / 1000)
        const isByKey = early.hasFirst && [...window.keys].every(key => !early.keys.has(key))
        const message = `a response named a new window of ${scope} ${seconds} s before the reset of the previous one, expected no new window before that reset`
        reporter.fail(isByKey ? 'auth.keys-share-limits' : 'limit.requests.window', message, [
          window.namedBy,
          early.namedBy,
        ])
      }
      return found
    },
  }
}

/** A rejection states when to retry. Judges requests sent after that time, as far as the target's clock is known. */
export function createRetryCheck(
  { scope, startedAtMs, offset }: RetryOptions,
  reporter: ClauseReporter<'rate-limits'>,
) {
  let promised: { readonly resetMs: number; readonly id: number } | null = null
  const isAfter = (member: WindowRequest, resetMs: number) => isSentAfter(member, resetMs, startedAtMs, offset())
  const promise = ({ id }: WindowRequest, resetMs: number) => {
    promised = { resetMs, id }
  }

  return {
    /** Whether the same window rejected it again after its stated end. Reports that. */
    isLate: (member: WindowRequest, resetMs: number): boolean => {
      if (promised === null || member.kind !== 'rejected') return false
      if (Math.abs(resetMs - promised.resetMs) > clockResolutionMs || !isAfter(member, promised.resetMs)) return false
      const message = `a 429 of ${scope} came after its own reset time, which an earlier 429 also stated, expected the request to be accepted`
      reporter.fail('retry.after-reset', message, [promised.id, member.id])
      return true
    },
    /** Remembers the reset that a 429 states. */
    promise,
    /** The request for its window, with whether it was sent after a stated reset. A 429 that was not is a new promise. */
    mark: (member: WindowRequest, resetMs: number): WindowRequest => {
      const isRetry =
        promised !== null && resetMs > promised.resetMs + clockResolutionMs && isAfter(member, promised.resetMs)
      if (member.kind === 'rejected' && !isRetry) promise(member, resetMs)
      return isRetry ? { ...member, isRetry } : member
    },
  }
}

/** The 429s of a limit whose windows are unknown, and whether requests after the last stated reset are accepted. */
export function createRefusals(
  { startedAtMs, offset }: Omit<RetryOptions, 'scope'>,
  reporter: ClauseReporter<'rate-limits'>,
) {
  let last: LimitRequest | null = null
  let firstMs = Number.POSITIVE_INFINITY
  /** Whether a request after its reset has shown that the caller is within the limit again. */
  let isDecided = true
  /** Whether one certainly after it was accepted. Nearer to it, one may have been accepted before. */
  let isAccepted = true

  const isRetry = (request: LimitRequest): boolean =>
    last?.resetMs != null && isSentAfter(request, last.resetMs, startedAtMs, offset())

  /** A request after a 429 whose reset, or whose distance from now, is unknown. */
  function noteHidden(request: LimitRequest) {
    if (last === null || request.sentMs < last.shownMs) return
    if (last.hidden !== null) return reporter.unjudged('retry.after-reset', last.hidden)
    if (last.resetMs === null || isClockKnown(offset()) || isRetry(request)) return
    if (isSentAfter(request, last.resetMs, startedAtMs, { min: 0, max: 0 }))
      reporter.unjudged('retry.after-reset', unknownClock)
  }

  return {
    add: (request: LimitRequest) => {
      noteHidden(request)
      firstMs = Math.min(firstMs, request.shownMs)
      if (last === null || isLaterRefusal(request, last)) last = request
      isDecided = false
      isAccepted = false
    },
    addAccepted: (request: LimitRequest) => {
      if (isRetry(request) && !isAccepted) {
        isAccepted = true
        reporter.pass('retry.after-reset')
      } else noteHidden(request)
      isDecided = true
    },
    /** Whether any came before this time. */
    hasBefore: (sentMs: number) => firstMs <= sentMs,
    /** The last one, if this request was sent after its reset and nothing has shown yet whether it was kept. */
    openPromise: (request: LimitRequest) => (!isDecided && isRetry(request) ? last : null),
    /** Call once the last promise was broken. */
    decide: () => {
      isDecided = true
    },
  }
}

/** Whether the service rejected this request after the other one. Where both overlap, the later reset tells. */
function isLaterRefusal({ sentMs, resetMs }: LimitRequest, other: LimitRequest): boolean {
  if (sentMs >= other.shownMs || resetMs === null) return true
  return other.resetMs !== null && resetMs >= other.resetMs
}

const isSentAfter = ({ sentMs }: WindowRequest, resetMs: number, startedAtMs: number, { min }: ClockOffset): boolean =>
  startedAtMs + sentMs + min > resetMs + clockResolutionMs

/** How far the target's clock may be ahead of ours, in milliseconds: within [min, max]. */
export type ClockOffset = { readonly min: number; readonly max: number }

/** Whether a Date header told the clock of the target. */
export const isClockKnown = ({ min, max }: ClockOffset): boolean => max - min < 2 * maxOffsetMs

/** Clocks drift apart, so an offset is valid for one such period and the next. */
const periodMs = 300_000
/** A stamp has whole seconds. */
const stampResolutionMs = 1_000
/** Without a usable Date, the target's clock may be off by this much. */
const maxOffsetMs = 10_000

/**
 * Bounds the clock offset of the limits from Date headers. A stamp is a second between the sending of the request and the
 * arrival of the headers, or up to `dateAgeMs` older. So each response gives an interval, and all together give a narrow
 * one. The limits may use another clock than the stamps, which is off by at most `clockToleranceMs`.
 */
export function createTargetClock(
  startedAtMs: number,
  { dateAgeMs, clockToleranceMs }: Pick<Contract['limits'], 'dateAgeMs' | 'clockToleranceMs'>,
) {
  let period = 0
  let earlier = anyOffset
  let current = anyOffset
  let offset: ClockOffset = { min: -maxOffsetMs, max: maxOffsetMs }
  const oldestMs = stampResolutionMs + dateAgeMs
  let lastStamp = ''
  let lastStampMs = Number.NaN

  return {
    add: ({ response, sentMs, headersMs }: Pick<Observation, 'response' | 'sentMs' | 'headersMs'>) => {
      if (response === null || sentMs === null || headersMs === null) return
      const stamp = response.headers.date ?? ''
      if (stamp !== lastStamp) {
        lastStamp = stamp
        lastStampMs = Date.parse(stamp)
      }
      if (Number.isNaN(lastStampMs)) return
      const now = Math.floor(sentMs / periodMs)
      if (now > period) {
        earlier = now === period + 1 ? current : anyOffset
        current = anyOffset
        period = now
      }
      const least = lastStampMs - (startedAtMs + headersMs)
      const most = lastStampMs + oldestMs - (startedAtMs + sentMs)
      // Few responses narrow the interval.
      if (least <= current.min && most >= current.max) return
      current = { min: Math.max(current.min, least), max: Math.min(current.max, most) }
      const min = Math.max(earlier.min, current.min)
      const max = Math.min(earlier.max, current.max)
      // After a clock step, the intervals do not overlap. Then the clock may be as before or after the step.
      const [from, to] = min <= max ? [min, max] : [max - oldestMs, min + oldestMs]
      offset = { min: from - clockToleranceMs, max: to + clockToleranceMs }
    },
    offset: (): ClockOffset => offset,
  }
}

/** The offset of our own clock, which is that of all times that responses state as a time from now. */
export const ownClock: ClockOffset = { min: 0, max: 0 }

/** The offset of an unknown clock. */
export const anyOffset: ClockOffset = { min: Number.NEGATIVE_INFINITY, max: Number.POSITIVE_INFINITY }
