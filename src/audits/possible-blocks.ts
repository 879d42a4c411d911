import type { AbuseRules, Attempt } from './attempt.ts'
import { createSortedQueue } from './sorted-queue.ts'

/** When a caller may have been blocked, by all failures that may have counted. */
export type PossibleBlocks = {
  /** Tells of a failure before it is its turn. */
  readonly foresee: (failure: Attempt) => void
  /** Takes a failure when all that was sent before its answer has been foreseen. */
  readonly note: (failure: Attempt) => void
  /** Takes a request that was to fail, and may have been blocked as the last failure of those that block. */
  readonly begins: (blocked: Attempt) => boolean
  /** No block from before the run was in force at that instant. */
  readonly showFree: (shownMs: number) => void
  /** Whether a block may have been in force while the request was looked at. */
  readonly allows: (blocked: Attempt) => boolean
  /** The failures that may count against a request. */
  readonly count: (attempt: Attempt) => number
  /** When the last possible block is over for sure. */
  readonly untilMs: () => number
  /** When the last possible block that was over before `sentMs` ended; null where there was none. */
  readonly overBefore: (sentMs: number) => number | null
}

/** More failures than so many at a time are not remembered, and then nothing is called early. */
const mostFailures = 500
const mostSpans = 8

type Span = { readonly fromMs: number; readonly untilMs: number }

export function createPossibleBlocks(rules: AbuseRules & { readonly grainMs: number }): PossibleBlocks {
  const { failures: limit, windowMs, blockMs, firstSentMs, grainMs, shared } = rules
  const reachMs = windowMs + grainMs
  const failures = createSortedQueue<Attempt>(({ sentMs }) => sentMs)
  let spans: readonly Span[] = []
  let isFlooded = false
  /** A block that began before the run. */
  let earlierUntilMs = firstSentMs + blockMs + grainMs

  /** Failures that can have been within one window with something between the two instants. */
  function countBetween(fromMs: number, toMs: number): number {
    let count = 0
    for (let index = 0, each = failures.at(0); each !== undefined && each.sentMs <= toMs; each = failures.at(++index))
      if (each.shownMs >= fromMs - reachMs) count++
    return count
  }

  /** Failures from before the run may be in the same window. */
  const isOpen = (fromMs: number): boolean => isFlooded || shared || fromMs - reachMs < firstSentMs

  function begin(fromMs: number, latestMs: number) {
    const span = { fromMs, untilMs: latestMs + blockMs + grainMs }
    const last = spans.at(-1)
    if (last === undefined || last.untilMs < fromMs) spans = [...spans, span].slice(-mostSpans)
    else spans = [...spans.slice(0, -1), { ...last, untilMs: Math.max(last.untilMs, span.untilMs) }]
  }

  return {
    foresee: failure => {
      failures.insert(failure)
      if (failures.size() <= mostFailures) return
      failures.shift()
      isFlooded = true
    },
    note: ({ sentMs, shownMs }) => {
      const oldMs = sentMs - windowMs - blockMs - 2 * grainMs
      while ((failures.at(0)?.shownMs ?? oldMs) < oldMs) failures.shift()
      if (!isOpen(sentMs) && countBetween(sentMs, shownMs) <= limit) return
      begin(sentMs, shownMs)
    },
    begins: ({ isToFail, sentMs, shownMs }) => {
      if (!isToFail || countBetween(sentMs, shownMs) < limit) return false
      begin(sentMs, shownMs)
      return true
    },
    showFree: shownMs => {
      earlierUntilMs = Math.min(earlierUntilMs, shownMs)
    },
    allows: ({ sentMs, shownMs }) => {
      if (isFlooded || sentMs < earlierUntilMs) return true
      if (spans.some(({ fromMs, untilMs }) => fromMs <= shownMs && sentMs <= untilMs)) return true
      // The failure that was the cause may have been sent after the request, and overtaken it.
      const overtaking = failures.at(failures.countBelow(sentMs))
      if (overtaking === undefined || overtaking.sentMs > shownMs) return false
      return isOpen(sentMs) || countBetween(sentMs, shownMs) > limit
    },
    count: ({ sentMs, shownMs }) => countBetween(sentMs, shownMs),
    untilMs: () => Math.max(earlierUntilMs, spans.at(-1)?.untilMs ?? Number.NEGATIVE_INFINITY),
    overBefore: sentMs => spans.findLast(({ untilMs }) => untilMs < sentMs)?.untilMs ?? null,
  }
}
