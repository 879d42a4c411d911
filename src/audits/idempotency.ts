import type { Say } from '../checks/findings.ts'
import { isAbuseBlock, isReplayed } from '../observation/response.ts'
import type { Audit, AuditScope } from './audit.ts'
import { judgeKey, type KeyRules, type KeyUse } from './key-uses.ts'

/** Whatever the status of a block is, it is a refusal of the caller and not of the request. */
const tooMany = 429

/** Judges the requests that share an idempotency key, as one set. */
export function createIdempotency({ contract }: AuditScope, say: Say<'idempotency'>): Audit {
  const { concurrent, ttlMs } = contract.idempotency
  const isBestEffort = concurrent === 'best-effort'
  const rules: KeyRules = { ttlMs, cachedAfterMs: isBestEffort ? contract.billing.settleMs : 0, isBestEffort }
  /** By the number of the group, in the order in which they were begun. */
  const groups = new Map<number, KeyUse[]>()

  /** A group is whole once the watermark has passed its first request: its requests are next to each other. */
  const judgeWhole = (watermarkMs: number) => {
    for (const [group, uses] of groups) {
      if (!uses.some(use => use.sentMs < watermarkMs)) return
      groups.delete(group)
      judgeKey(uses, rules, say)
    }
  }

  return {
    add: ({ asked, answer, outcome, seq, caller, sentMs, endMs }, watermarkMs) => {
      if (asked.kind === 'rpc' && asked.replay !== null && sentMs !== null && endMs !== null) {
        const { group, role } = asked.replay
        const digest = answer?.body.kind === 'json' || answer?.body.kind === 'text' ? answer.body.digest : null
        const isBlocked = answer !== null && isAbuseBlock(answer, contract)
        const status = outcome.kind !== 'answered' ? null : isBlocked ? tooMany : outcome.status
        const use = { seq, caller, role, sentMs, endMs, status, isReplay: isReplayed(answer), digest }
        const uses = groups.get(group)
        if (uses === undefined) groups.set(group, [use])
        else uses.push(use)
      }
      judgeWhole(watermarkMs)
    },
    conclude: isWhole => {
      if (isWhole) judgeWhole(Number.POSITIVE_INFINITY)
    },
  }
}
