import type { Contract } from '../contract/contract.ts'
import type { Account, FailureRecord } from './account.ts'
import type { Behaviour } from './behaviour.ts'
import type { Reply } from './message.ts'
import { refuse, type Visit } from './visit.ts'

export type AbuseGuard = {
  /** The answer to a caller who is blocked; null to one who is not. */
  readonly stop: (visit: Visit, account: Account) => Reply | null
  /** Takes down what was answered. Refusals are not kept waiting, so that a request fails as it arrives. */
  readonly record: (visit: Visit, account: Account, reply: Reply, isBlocked: boolean) => void
}

export function abuseGuard({ abuse }: Contract, behaviour: Behaviour): AbuseGuard {
  const recordOf = (visit: Visit, account: Account): FailureRecord => {
    const scope = behaviour.failureScope(visit)
    const known = account.records.get(scope)
    if (known !== undefined) return known
    const record: FailureRecord = { failedMs: [], blockedUntilMs: 0 }
    account.records.set(scope, record)
    return record
  }

  return {
    stop: (visit, account) => {
      const record = recordOf(visit, account)
      if (visit.arrivedMs >= record.blockedUntilMs) return null
      record.blockedUntilMs = behaviour.blockedUntilMs(record.blockedUntilMs, visit.arrivedMs)
      return refuse(visit, abuse.status, behaviour.blockMessage)
    },
    record: (visit, account, { status }, isBlocked) => {
      if (!behaviour.isFailure(status) || (isBlocked && !behaviour.blockedCount)) return
      const { arrivedMs } = visit
      const record = recordOf(visit, account)
      record.failedMs = [...record.failedMs.filter(atMs => atMs > arrivedMs - abuse.windowMs), arrivedMs]
      if (behaviour.toleratesFailures(record.failedMs.length)) return
      record.blockedUntilMs = arrivedMs + behaviour.blockMs
      record.failedMs = []
    },
  }
}
