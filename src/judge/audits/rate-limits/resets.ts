import type { Observation } from '../../../observation/observation.ts'
import type { Say } from '../../checks/findings.ts'
import type { WindowRequest } from './window.ts'

/** Stamps of whole seconds, rounded either way, and a reset that is computed anew for each answer. */
export const clockResolutionMs = 1_000

/** A window as answers named it by its reset, in Unix milliseconds. */
export type ReportedWindow = {
  readonly resetMs: number
  /** When, and by whose answer, it was first named. */
  namedMs: number
  namedBy: number
  isCutShort: boolean
  /** Those with which the requests came that named it. */
  readonly keys: Set<number>
  /** Whether an answer said that it was the window's first: then whatever else was used is ours. */
  hasFirst: boolean
}

type ResetOptions = {
  /** What reports call the limit. */
  readonly scope: string
  readonly windowMs: number
  readonly startedAtMs: number
  readonly offset: () => ClockOffset
}

/** Judges reset times, as far as the target's clock is known. */
export function createResetCheck(
  { scope, windowMs, startedAtMs, offset }: ResetOptions,
  say: Say<'rate-limits'>,
): {
  /** Whether the reset that an answer named can be right. */
  readonly judge: (member: WindowRequest, resetMs: number) => boolean
  /** Whether one of the windows, which are in order, was found to be cut short by a later one. */
  readonly judgeOrder: (windows: readonly ReportedWindow[]) => boolean
} {
  return {
    judge: ({ id, sentMs, shownMs }, resetMs) => {
      const { min, max } = offset()
      const earliestMs = startedAtMs + sentMs + min
      const latestMs = startedAtMs + shownMs + max
      const isRight = resetMs + clockResolutionMs >= earliestMs && resetMs - latestMs <= windowMs + clockResolutionMs
      if (isRight) say.kept('limit.requests.reset')
      else {
        const seconds = Math.round((resetMs - earliestMs) / 1000)
        const away = seconds < 0 ? `${-seconds} s ago` : `${seconds} s ahead`
        const message = `the reset of ${scope} is ${away}, expected 0 to ${windowMs / 1000} s ahead`
        say.broken('limit.requests.reset', message, [id])
      }
      return isRight
    },

    judgeOrder: windows => {
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
        const message = `a new window of ${scope} was named ${seconds} s before the reset of the one before, expected it not to begin earlier`
        say.broken(isByKey ? 'auth.keys-share-limits' : 'limit.requests.window', message, [
          window.namedBy,
          early.namedBy,
        ])
      }
      return found
    },
  }
}

/** A refusal says when to retry. Judges the requests that come after that, as far as the target's clock is known. */
export function createRetryCheck(
  { scope, startedAtMs, offset }: Omit<ResetOptions, 'windowMs'>,
  say: Say<'rate-limits'>,
): {
  /** Whether it was refused once more, by the same window, when that should have been over. Says so. */
  readonly isLate: (member: WindowRequest, resetMs: number) => boolean
  /** The request as its window is to see it, with whether it follows a promise. */
  readonly mark: (member: WindowRequest, resetMs: number) => WindowRequest
} {
  let promised: { readonly resetMs: number; readonly id: number } | null = null
  const isAfter = ({ sentMs }: WindowRequest, resetMs: number) =>
    startedAtMs + sentMs + offset().min > resetMs + clockResolutionMs

  return {
    isLate: (member, resetMs) => {
      if (promised === null || member.kind !== 'rejected') return false
      if (Math.abs(resetMs - promised.resetMs) > clockResolutionMs || !isAfter(member, promised.resetMs)) return false
      const message = `a 429 of ${scope} came after the reset that it names, and that an earlier one had named, expected the request to be admitted`
      say.broken('retry.after-reset', message, [promised.id, member.id])
      return true
    },
    mark: (member, resetMs) => {
      const isRetry =
        promised !== null && resetMs > promised.resetMs + clockResolutionMs && isAfter(member, promised.resetMs)
      if (member.kind === 'rejected' && !isRetry) promised = { resetMs, id: member.id }
      return isRetry ? { ...member, isRetry } : member
    },
  }
}

/** How far the target's clock can be ahead of ours, in milliseconds: somewhere in [min, max]. */
export type ClockOffset = { readonly min: number; readonly max: number }

type TargetClock = {
  readonly add: (observation: Pick<Observation, 'response' | 'sentMs' | 'headersMs'>) => void
  readonly offset: () => ClockOffset
}

/** Two clocks drift apart, so what was seen is believed for one of these periods and the next. */
const periodMs = 300_000
/** A stamp shows whole seconds, and a busy server writes the same one a little too long. */
const stampGrainMs = 1_500
/** Without a single usable Date, the target's clock may be this far off. */
const maxOffsetMs = 10_000

/**
 * Bounds the offset from Date headers. A stamp is a second that the target saw between the sending of the request and
 * the arrival of the headers, so each answer leaves an interval, and all of them together a narrow one.
 */
export function createTargetClock(startedAtMs: number): TargetClock {
  let period = 0
  let earlier = anyOffset
  let current = anyOffset
  let offset: ClockOffset = { min: -maxOffsetMs, max: maxOffsetMs }
  let lastStamp = ''
  let lastStampMs = Number.NaN

  return {
    add: ({ response, sentMs, headersMs }) => {
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
      current = {
        min: Math.max(current.min, lastStampMs - (startedAtMs + headersMs)),
        max: Math.min(current.max, lastStampMs + stampGrainMs - (startedAtMs + sentMs)),
      }
      const min = Math.max(earlier.min, current.min)
      const max = Math.min(earlier.max, current.max)
      // A clock that was stepped leaves nothing in common: it may stand as before or as after the step.
      offset = min <= max ? { min, max } : { min: max - stampGrainMs, max: min + stampGrainMs }
    },
    offset: () => offset,
  }
}

const anyOffset: ClockOffset = { min: Number.NEGATIVE_INFINITY, max: Number.POSITIVE_INFINITY }
