import type { ClauseReporter } from '../../findings/findings.ts'
import type { LimitResult } from '../../results.ts'
import type { WindowRequest } from './window.ts'

/**
 * Measures how long the windows of one limit lasted by their usage alone, without their resets: from the first request
 * of a window that was used up, to the first request of the next one.
 */
export function createWindowLength(windowMs: number): {
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
