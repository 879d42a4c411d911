import { clockResolutionMs } from './resets.ts'
import type { LimitRequest } from './window.ts'

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
