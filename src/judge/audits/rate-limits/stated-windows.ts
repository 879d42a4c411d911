import type { ClauseReporter } from '../../findings/findings.ts'
import { getOrAdd } from '../../merge.ts'
import { clockResolutionMs } from './resets.ts'
import type { WindowRequest } from './window.ts'

type Stated = WindowRequest & { readonly resetMs: number | null }

/** The responses that state one reset. */
type Group = {
  /** The earliest statement of the reset, in Unix milliseconds: services may round each one anew. */
  resetMs: number
  readonly firstShownMs: number
  readonly firstId: number
  /** The last response that shows that the reset stays the same while requests are used; null: none yet. */
  constantUntilMs: number | null
}

/** A reset that stays the same for this long is not computed from the time of the request. */
const constantMs = 1_500
/** Two resets are each rounded to a second, up or down. */
const roundingMs = 2 * clockResolutionMs

type Options = { readonly scope: string; readonly windowMs: number; readonly startedAtMs: number }

type StatedWindows = {
  /** In the order of sending. `maxOffsetMs`: how far the target's clock may be ahead. */
  readonly add: (member: Stated, maxOffsetMs: number) => void
}

/** Distinct parts of a limit. Those beyond are not judged. */
const maxParts = 256

/**
 * Compares the resets of one limit with each other and with the run's own clock. So it finds windows that last longer or
 * shorter than stated without knowing the clock of the target, whatever the algorithm.
 * A service may count each part of a limit for itself, so each is compared on its own.
 */
export function createStatedWindowsOfParts(
  options: Options,
  reporter: ClauseReporter<'rate-limits'>,
): { readonly of: (part: string) => StatedWindows } {
  const parts = new Map<string, StatedWindows>()
  return {
    of: part =>
      parts.has(part) || parts.size < maxParts
        ? getOrAdd(parts, part, () => createStatedWindows(options, reporter))
        : notJudged,
  }
}

const notJudged: StatedWindows = { add: () => {} }

function createStatedWindows(
  { scope, windowMs, startedAtMs }: Options,
  reporter: ClauseReporter<'rate-limits'>,
): StatedWindows {
  let group: Group | null = null
  /** The one before, until the first request of the next window shows that it is over. */
  let previous: Group | null = null
  /** The windows since the first one, each of which ended before the next request. */
  let chain: { readonly resetMs: number; readonly id: number; windows: number } | null = null

  function addAccepted(member: Stated, resetMs: number, used: number, maxOffsetMs: number) {
    const { sentMs, shownMs, id } = member
    if (group !== null && isOf(group, resetMs)) {
      group.resetMs = Math.min(group.resetMs, resetMs)
      noteConstant(group, member)
    } else if (group === null || sentMs >= group.firstShownMs) {
      previous = group
      group = { resetMs, firstShownMs: shownMs, firstId: id, constantUntilMs: null }
    }
    // A bucket states when it is full again, so only a reset that is far away is the end of a new window.
    const isFar = resetMs - startedAtMs - shownMs - maxOffsetMs >= windowMs / 2
    if (used !== 1 || !isFar || previous === null || !isOf(group, resetMs)) return
    if (previous.constantUntilMs !== null && sentMs >= previous.constantUntilMs) judgeStart(member, resetMs, previous)
    previous = null
  }

  /** Whether a response states the reset of this group. */
  const isOf = (known: Group, resetMs: number): boolean => Math.abs(resetMs - known.resetMs) <= clockResolutionMs

  function noteConstant(known: Group, { sentMs, shownMs }: Stated) {
    if (sentMs > known.firstShownMs + constantMs) known.constantUntilMs = Math.max(known.constantUntilMs ?? 0, shownMs)
  }

  /** A window that begins with this request begins after all windows before it. */
  function judgeStart({ id }: Stated, resetMs: number, last: Group) {
    chain ??= { resetMs: last.resetMs, id: last.firstId, windows: 0 }
    chain.windows++
    const earlyMs = chain.resetMs + chain.windows * windowMs - resetMs
    if (earlyMs <= roundingMs) return
    const seconds = Math.round(earlyMs / 1000)
    const windows = chain.windows === 1 ? 'a window' : `${chain.windows} windows`
    const message = `${windows} of ${scope} ended ${seconds} s before the stated reset: the next one states a reset ${Math.round((resetMs - chain.resetMs) / 1000)} s later, expected at least ${(chain.windows * windowMs) / 1000} s`
    reporter.fail('limit.requests.window', message, [chain.id, id])
    chain = null
  }

  function judgeRejected(member: Stated, resetMs: number) {
    const { sentMs, id } = member
    if (group === null || !isOf(group, resetMs)) return
    noteConstant(group, member)
    const lateMs = sentMs - group.firstShownMs - windowMs
    if (lateMs <= clockResolutionMs) return
    const seconds = Math.round((sentMs - group.firstShownMs) / 1000)
    const message = `a 429 of ${scope} came ${seconds} s after a response that stated the same reset, expected the reset within ${windowMs / 1000} s of that response`
    reporter.fail('retry.after-reset', message, [group.firstId, id])
  }

  return {
    add: (member, maxOffsetMs) => {
      const { kind, stated, remaining, resetMs } = member
      if (stated === null || remaining === null || resetMs === null) return
      if (kind === 'accepted') addAccepted(member, resetMs, stated - remaining, maxOffsetMs)
      else if (kind === 'rejected') judgeRejected(member, resetMs)
    },
  }
}
