import type { FindingLog } from '../checks/findings.ts'
import type { AuditFacts, AuditMemories } from './all-audits.ts'
import { judgeNamesOfAll } from './coherence.ts'
import { createDiscrepancies } from './discrepancies.ts'
import { addLedgers, billingOf } from './ledger-facts.ts'
import type { Billing, Blocks, LimitUse } from './results.ts'
import { judgeIdsOfAll } from './uniqueness.ts'

/** What the audits of several workers found, as if it were one; no caller is of two workers. */
export type MergedAudits = {
  readonly billing: () => Billing
  readonly limits: () => readonly LimitUse[]
  readonly blocks: () => Blocks
  /** Tells what can only be told over all callers. To be called once, when the workers have concluded theirs. */
  readonly conclude: (memories: readonly AuditMemories[]) => void
}

/** `docket` holds what the workers said of it, and takes what is said here. Limits come in the order of `callers`. */
export function mergeAudits(
  parts: readonly AuditFacts[],
  callers: readonly string[],
  docket: FindingLog,
): MergedAudits {
  const discrepancies = createDiscrepancies(docket.reporterFor('ledger'))
  for (const { ledger } of parts) discrepancies.absorb(ledger.discrepancies)
  const rank = new Map(callers.map((name, position) => [name, position]))
  const rankOf = ({ caller }: LimitUse) => rank.get(caller) ?? callers.length
  const limits = parts.flatMap(part => part.limits).toSorted((a, b) => rankOf(a) - rankOf(b))
  const blocks: Record<string, number> = {}
  for (const part of parts)
    for (const [stage, count] of Object.entries(part.blocks)) blocks[stage] = (blocks[stage] ?? 0) + count
  const totals = addLedgers(parts.map(part => part.ledger))
  return {
    billing: () => billingOf(totals, discrepancies.list()),
    limits: () => limits,
    blocks: () => blocks,
    conclude: memories => {
      discrepancies.conclude()
      const ids = memories.map(memory => memory.ids)
      judgeIdsOfAll(ids, docket.reclassifier('uniqueness'))
      const names = memories.map(memory => memory.names)
      judgeNamesOfAll(names, docket.reporterFor('coherence'))
    },
  }
}
