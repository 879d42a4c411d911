import type { Contract } from '../../../contract/contract.ts'
import type { ClauseReporter } from '../../checks/findings.ts'
import type { AbuseAttempt } from './blocks.ts'

type SeenBlock = {
  /** It began between these times. */
  readonly fromMs: number
  readonly latestFromMs: number
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
  /** A request that the service processed. `failures`: those of its window so far, its own included. */
  readonly free: (attempt: AbuseAttempt, failures: number) => void
  readonly finish: () => void
} {
  let seen: SeenBlock | null = null
  /** The last processed request that failed, and when the last processed response arrived. */
  let lastFailure: AbuseAttempt | null = null
  let lastShownMs = Number.NEGATIVE_INFINITY
  let hasBlocked = false
  /** A block takes at least that many failures. */
  let tolerated = 0

  function lasted({ fromMs, latestFromMs, lastBlockedMs }: SeenBlock, endMs: number | null) {
    const min = Math.max(0, lastBlockedMs - latestFromMs) / 1000
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
    blocked: (attempt, failures) => {
      const { sentMs, shownMs, service } = attempt
      if (seen !== null) {
        seen.lastBlockedMs = Math.max(seen.lastBlockedMs, sentMs)
        seen.services.add(service)
        return
      }
      hasBlocked = true
      // A block from before the run has no known beginning.
      if (lastFailure === null) return
      if (lastShownMs <= sentMs && failures > 0) takes(failures, failures)
      seen = {
        fromMs: lastFailure.sentMs,
        latestFromMs: Math.max(lastFailure.shownMs, lastFailure.sentMs),
        firstShownMs: shownMs,
        lastBlockedMs: sentMs,
        services: new Set([service]),
      }
    },
    free: (attempt, failures) => {
      const { sentMs, shownMs, service, failure } = attempt
      if (seen !== null && sentMs >= seen.firstShownMs && seen.services.has(service)) {
        lasted(seen, shownMs)
        seen = null
        lastFailure = null
      }
      if (failure !== null) lastFailure = attempt
      if (seen === null && lastShownMs <= sentMs)
        tolerated = Math.max(tolerated, failure === null ? failures + 1 : failures)
      lastShownMs = Math.max(lastShownMs, shownMs)
    },
    finish: () => {
      if (seen !== null) lasted(seen, null)
      if (!hasBlocked && tolerated > limit) takes(tolerated, null)
    },
  }
}
