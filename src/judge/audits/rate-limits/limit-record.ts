import type { ApplicableLimit } from '../../../observation/limit-scope.ts'
import type { ClauseReporter } from '../../findings/findings.ts'
import type { Obstacle } from '../../findings/obstacles.ts'
import type { LimitResult, LimitUse } from '../../results.ts'
import type { AuditContext } from '../audit.ts'
import { createStatedLimit } from './limit-use.ts'
import type { ClockOffset } from './resets.ts'
import { createStatedWindowsOfParts } from './stated-windows.ts'
import type { LimitRequest, WindowRequest } from './window.ts'

/** One limit of one caller. */
export type Limit = {
  readonly add: (member: LimitRequest, watermarkMs: number) => void
  readonly finish: () => void
  readonly result: () => LimitUse
}

export type LimitContext = AuditContext & {
  readonly caller: string
  readonly drawn: ApplicableLimit
  readonly offset: () => ClockOffset
  /** When the first request of the run was sent. Earlier use is unknown. */
  readonly firstSentMs: number
  /** How many requests of the caller to other endpoints may count, too. */
  readonly otherUse: () => number
}

/**
 * What is counted of one limit of one caller and what its responses state, whatever its algorithm. Its owner adds to
 * `counts` what it decides; a count above 0 is certain.
 */
export function createLimitRecord(
  { caller, drawn, contract, startedAtMs, offset }: LimitContext,
  reporter: ClauseReporter<'rate-limits'>,
) {
  const { windowMs } = contract.limits
  const { name: scope, tier, requestsPerMinute } = drawn
  const counts = { windows: 0, accepted: 0, rejected: 0, unexpected429: 0, decided429: 0, missing429: 0 }
  const stated = createStatedLimit(requestsPerMinute)
  const length = createWindowLength(windowMs)
  const windows = createStatedWindowsOfParts({ scope, windowMs, startedAtMs }, reporter)
  return {
    counts,
    stated,
    /** In the order of sending. */
    add: (member: LimitRequest) => {
      if (member.kind !== 'uncertain') counts[member.kind]++
      stated.add(member)
      length.add(member)
      windows.of(member.part).add(member, offset().max)
    },
    /** `obstacle`: what hides most windows; null: nothing. Returns whether it also hides if the limit was enforced. */
    finish: (obstacle: Obstacle | null): boolean => {
      length.report(reporter)
      if (obstacle === null || counts.accepted <= stated.maxAllowed()) return false
      reporter.unjudged('limit.requests.enforced', obstacle)
      return true
    },
    result: (obstacle: Obstacle | null): LimitUse => {
      const { windows, accepted, rejected, unexpected429, decided429, missing429 } = counts
      const isHidden = obstacle !== null
      const isMissingOpen =
        stated.maxAllowed() === Number.POSITIVE_INFINITY || (isHidden && accepted > stated.maxAllowed())
      return {
        caller,
        scope,
        tier,
        windowMs,
        limit: stated.shown(),
        windows: isHidden ? null : windows,
        accepted,
        rejected,
        unexpected429: isHidden && rejected > 0 && unexpected429 === 0 ? null : unexpected429,
        decided429,
        missing429: isMissingOpen && missing429 === 0 ? null : missing429,
        lasted: length.lasted(),
      }
    },
  }
}

/**
 * Measures how long the windows of one limit lasted by their usage alone, without their resets: from the first request
 * of a window that was used up, to the first request of the next one.
 */
function createWindowLength(windowMs: number): {
  /** In the order of sending. */
  readonly add: (member: WindowRequest) => void
  readonly lasted: () => LimitResult['lasted']
  readonly report: (reporter: ClauseReporter<'rate-limits'>) => void
} {
  let first: WindowRequest | null = null
  /** The last request that certainly belongs to the same window. */
  let last: WindowRequest | null = null
  let isUsedUp = false
  let mostUsed = 0
  let lastShownMs = Number.NEGATIVE_INFINITY
  let lasted: LimitResult['lasted'] = null

  function note(minMs: number, maxMs: number) {
    const [min, max] = [Math.max(minMs, lasted?.minMs ?? 0), Math.min(maxMs, lasted?.maxMs ?? maxMs)]
    // Windows of different lengths have no bounds in common.
    lasted = min <= max ? { minMs: min, maxMs: max } : { minMs: Math.min(minMs, min), maxMs: Math.max(maxMs, max) }
  }

  return {
    add: member => {
      const { kind, stated, remaining, sentMs, shownMs } = member
      if (kind === 'uncertain' || stated === null || remaining === null) return
      const used = stated - remaining
      // Of overlapping requests, a later one may state less.
      const hasFallen = last !== null && used < mostUsed && sentMs >= lastShownMs
      const isFirst = kind === 'accepted' && used === 1
      if (hasFallen && isUsedUp && first !== null && last !== null && 2 * used < stated)
        note(Math.max(0, last.sentMs - first.shownMs), shownMs - first.sentMs)
      if (hasFallen || (isFirst && first === null)) {
        // The first request of the next window may have no response.
        first = isFirst ? member : null
        last = null
        isUsedUp = false
        mostUsed = 0
      }
      // A request that overlaps the first one may belong to the previous window.
      if (first === null || (member !== first && sentMs < first.shownMs)) return
      isUsedUp ||= remaining === 0
      if (used >= mostUsed && (last === null || sentMs >= last.sentMs)) last = member
      mostUsed = Math.max(mostUsed, used)
      lastShownMs = Math.max(lastShownMs, shownMs)
    },
    lasted: () => lasted,
    report: reporter => {
      if (lasted === null) return
      const [min, max] = [lasted.minMs / 1000, lasted.maxMs / 1000]
      const measured = { what: 'By its usage, the window lasted', min, max, unit: 's', documented: windowMs / 1000 }
      for (const clause of ['limit.requests.reset', 'limit.requests.window', 'retry.after-reset'] as const)
        reporter.measured(clause, measured)
    },
  }
}
