import type { Contract } from '../../../../../src/contract/contract.ts'
import { documentedContract } from '../../../../../src/contract/documented.ts'
import { mergeAudits } from '../../../../../src/judge/audits/audits.ts'
import { createLedgerAudit } from '../../../../../src/judge/audits/ledger/ledger.ts'
import { createSendOrder } from '../../../../../src/judge/audits/send-order.ts'
import { createFindingLog } from '../../../../../src/judge/findings/findings.ts'
import type { Observation } from '../../../../../src/observation/observation.ts'
import { startedAtMs } from '../../checks/observed.ts'

export type Options = {
  readonly contract?: Contract
  readonly shared?: boolean
  readonly startedAtMs?: number
  readonly queueLimit?: number
}

/** The results of the ledger for observations in the order in which they end. */
export function judge(observations: readonly Observation[], options: Options = {}) {
  const findingLog = createFindingLog()
  const scope = { contract: documentedContract, shared: false, startedAtMs, ...options }
  const ledger = createLedgerAudit(scope, findingLog.reporterFor('ledger'))
  const sendOrder = createSendOrder(ledger.add, options.queueLimit)
  for (const observation of observations) sendOrder.add(observation)
  sendOrder.flush()
  ledger.finish(true)
  const whole = mergeAudits([{ ledger: ledger.snapshot(), limits: [], blocks: {} }], [], findingLog)
  whole.finish([])
  const pass = findingLog.tallies().find(tally => tally.id === 'billing.conservation')?.judged ?? 0
  return { ...whole.billing(), findings: findingLog.findings(), pass }
}

/** All findings as text. */
export const message = (observations: readonly Observation[], options: Options = {}) =>
  judge(observations, options).findings.map(finding => `${finding.clause}: ${finding.message}`)
