import type { FindingLog } from '../checks/findings.ts'
import type { Sink } from '../observation/observation.ts'
import { createAbuse } from './abuse.ts'
import type { Audit, AuditScope } from './audit.ts'
import { createCoherence, type ModelNames } from './coherence.ts'
import { createIdempotency } from './idempotency.ts'
import { createLedger } from './ledger.ts'
import type { LedgerFacts } from './ledger-facts.ts'
import { createLimiter } from './limiter.ts'
import type { Billing, Blocks, LimitUse } from './results.ts'
import { createSequencer } from './sequencer.ts'
import { nobody, type SpendSink } from './spend-sink.ts'
import { createUniqueness, type KnownIds } from './uniqueness.ts'

export type Audits = {
  /** Takes observations in any order. */
  readonly add: Sink
  /** To be called once, before the results are final. */
  readonly conclude: Audit['conclude']
  readonly billing: () => Billing
  readonly limits: () => readonly LimitUse[]
  readonly blocks: () => Blocks
  readonly facts: () => AuditFacts
  readonly memories: () => AuditMemories
}

/** What audits of some callers have come to, as plain data. */
export type AuditFacts = {
  readonly ledger: LedgerFacts
  readonly limits: readonly LimitUse[]
  readonly blocks: Blocks
}

/** What they remember of answers for what can only be told over all callers, as plain data. */
export type AuditMemories = { readonly ids: KnownIds; readonly names: ModelNames }

/** Every audit of the table of clauses, behind one sequencer. */
export function createAudits(scope: AuditScope, docket: FindingLog, spend: SpendSink = nobody): Audits {
  const ledger = createLedger(scope, docket.reporterFor('ledger'), spend)
  const limiter = createLimiter(scope, docket.reporterFor('limiter'))
  const abuse = createAbuse(scope, docket.reporterFor('abuse'))
  const uniqueness = createUniqueness(docket.reporterFor('uniqueness'))
  const coherence = createCoherence(scope, docket.reporterFor('coherence'))
  const idempotency = createIdempotency(scope, docket.reporterFor('idempotency'))
  const audits: readonly Audit[] = [ledger, limiter, abuse, idempotency, uniqueness, coherence]
  const sequencer = createSequencer((observation, watermarkMs) => {
    for (const audit of audits) audit.add(observation, watermarkMs)
  })
  return {
    add: sequencer.add,
    conclude: isWhole => {
      sequencer.flush()
      for (const audit of audits) audit.conclude(isWhole)
    },
    billing: ledger.billing,
    limits: limiter.limits,
    blocks: abuse.blocks,
    facts: () => ({ ledger: ledger.facts(), limits: limiter.limits(), blocks: abuse.blocks() }),
    memories: () => ({ ids: uniqueness.ids(), names: coherence.names() }),
  }
}
