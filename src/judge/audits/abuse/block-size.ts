import type { Contract } from '../../../contract/contract.ts'
import type { ClauseReporter } from '../../findings/findings.ts'
import type { AbuseAttempt } from './failure.ts'

type SeenBlock = {
  /** It began between these times: after a request that was not blocked was sent, and before the first blocked response. */
  readonly fromMs: number
  readonly firstShownMs: number
  lastBlockedMs: number
  readonly services: Set<string>
}

/**
 * Measures the blocks of one caller, whether they are right or wrong: how many failures it takes, and how long a block
 * lasts. Attempts come in the order of sending.
 */
export function createBlockSize(
  { failures: limit, blockMs }: Pick<Contract['abuse'], 'failures' | 'blockMs'>,
  reporter: ClauseReporter<'abuse'>,
): {
  readonly blocked: (attempt: AbuseAttempt, failures: number) => void
  /** A request that the service processed. `failures`: the number in its window so far, including this one. */
  readonly free: (attempt: AbuseAttempt, failures: number) => void
  /** It is open whether a failure counted, so failures cannot be counted any more. */
  readonly uncertain: () => void
  readonly finish: () => void
} {
  let seen: SeenBlock | null = null
  /** When the last request that was not blocked was sent, and when the last such response arrived. */
  let lastFreeMs: number | null = null
  /** When the response arrived that showed the end of the last block. */
  let endShownMs = Number.NEGATIVE_INFINITY
  let isUncertain = false
  let lastShownMs = Number.NEGATIVE_INFINITY
  let hasBlocked = false
  /** A block takes at least that many failures. */
  let tolerated = 0

  function lasted({ fromMs, firstShownMs, lastBlockedMs }: SeenBlock, endMs: number | null) {
    const min = Math.max(0, lastBlockedMs - firstShownMs) / 1000
    const max = endMs === null ? null : (endMs - fromMs) / 1000
    const measured = { what: 'A block lasted', min, max, unit: 's', documented: blockMs / 1000 }
    for (const clause of ['abuse.duration', 'abuse.ends'] as const) reporter.measured(clause, measured)
  }

  function takes(min: number, max: number | null) {
    const measured = { what: 'A block takes', min, max, unit: 'failures', documented: limit + 1 }
    for (const clause of ['abuse.block', 'abuse.counts', 'abuse.not-early'] as const)
      reporter.measured(clause, measured)
  }

  return {
    blocked: ({ sentMs, shownMs, service }, failures) => {
      if (seen !== null) {
        seen.lastBlockedMs = Math.max(seen.lastBlockedMs, sentMs)
        seen.services.add(service)
        return
      }
      hasBlocked = true
      // It overlaps the first free response after a block, so it belongs to that block.
      if (sentMs < endShownMs) return
      // A block from before the run has no known beginning.
      if (lastFreeMs === null) return
      if (!isUncertain && lastShownMs <= sentMs && failures > 0) takes(failures, failures)
      seen = { fromMs: lastFreeMs, firstShownMs: shownMs, lastBlockedMs: sentMs, services: new Set([service]) }
    },
    free: ({ sentMs, shownMs, service, failure }, failures) => {
      if (seen !== null && sentMs >= seen.firstShownMs && seen.services.has(service)) {
        lasted(seen, shownMs)
        seen = null
        endShownMs = shownMs
      }
      if (seen === null) {
        lastFreeMs = Math.max(lastFreeMs ?? sentMs, sentMs)
        if (lastShownMs <= sentMs) tolerated = Math.max(tolerated, failure === null ? failures + 1 : failures)
      }
      lastShownMs = Math.max(lastShownMs, shownMs)
    },
    uncertain: () => {
      isUncertain = true
    },
    finish: () => {
      if (seen !== null) lasted(seen, null)
      if (!hasBlocked && !isUncertain && tolerated > limit) takes(tolerated, null)
    },
  }
}
