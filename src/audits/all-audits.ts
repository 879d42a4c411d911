import type { Docket } from '../checks/docket.ts'
import type { Sink } from '../observation/observation.ts'
import { createAbuse } from './abuse.ts'
import type { Audit, AuditScope } from './audit.ts'
import { createCoherence } from './coherence.ts'
import { createIdempotency } from './idempotency.ts'
import { createLedger } from './ledger.ts'
import { createLimiter } from './limiter.ts'
import type { Billing, Blocks, LimitUse } from './results.ts'
import { createSequencer } from './sequencer.ts'
import { createUniqueness } from './uniqueness.ts'

export type Audits = {
  /** Takes observations in any order. */
  readonly add: Sink
  /** To be called once, before the results are final. */
  readonly conclude: Audit['conclude']
  readonly billing: () => Billing
  readonly limits: () => readonly LimitUse[]
  readonly blocks: () => Blocks
}

/** Every audit of the table of clauses, behind one sequencer. */
export function createAudits(scope: AuditScope, docket: Docket): Audits {
  const ledger = createLedger(scope, docket.voice('ledger'))
  const limiter = createLimiter(scope, docket.voice('limiter'))
  const abuse = createAbuse(scope, docket.voice('abuse'))
  const audits: readonly Audit[] = [
    ledger,
    limiter,
    abuse,
    createIdempotency(scope, docket.voice('idempotency')),
    createUniqueness(docket.voice('uniqueness')),
    createCoherence(scope, docket.voice('coherence')),
  ]
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
  }
}
