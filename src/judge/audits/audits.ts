import type { Observation, Sink } from '../../observation/observation.ts'
import type { FindingLog } from '../findings/findings.ts'
import { recordBy, sum } from '../merge.ts'
import type { LimitResult } from '../results.ts'
import { createAbuseAudit } from './abuse/abuse.ts'
import {
  type Audit,
  type AuditContext,
  type Billing,
  type BlockCounts,
  noSpendListener,
  type SpendListener,
} from './audit.ts'
import { createCoherenceAudit } from './coherence.ts'
import { checkNamesAcrossWorkers, createConsistencyAudit, type ModelNames } from './consistency.ts'
import {
  createDependentErrorsAudit,
  createInvalidRequestsAudit,
  type DependentErrors,
  type InvalidRequests,
  judgeDependentErrors,
  judgeInvalidRequests,
} from './dependent-errors.ts'
import { createIdempotencyAudit, markRepeatedBodies } from './idempotency.ts'
import { checkPricesAcrossWorkers, createImpliedCreditsAudit, type ImpliedPrices } from './implied-credits.ts'
import { createDiscrepancies } from './ledger/discrepancies.ts'
import { createLedgerAudit, type LedgerSnapshot, sumLedgers, toBilling } from './ledger/ledger.ts'
import { createOverdraftAudit } from './ledger/overdraft.ts'
import { createRateLimitAudit } from './rate-limits/rate-limits.ts'
import { createSendOrder } from './send-order.ts'
import {
  affectedClauses,
  type CallerHistory,
  createHistories,
  type SharedAccount,
  whyShared,
} from './shared-accounts.ts'
import { createSignInAudit, judgeSignIns, type SignInGroup } from './sign-ins.ts'
import { createSlowReaderAudit } from './slow-readers.ts'
import { judgeSampledForms, type SampledForm } from './twin-samples.ts'
import { createTwinAudit } from './twins.ts'
import { checkIdsAcrossWorkers, createUniqueIdsAudit, type KnownIds } from './unique-ids.ts'

export type Audits = {
  /** Takes observations in any order. */
  readonly add: Sink
  /** Call once, before the results are final. */
  readonly finish: Audit['finish']
  readonly billing: () => Billing
  readonly limits: () => readonly LimitResult[]
  readonly blocks: () => BlockCounts
  readonly snapshot: () => AuditSnapshot
  readonly crossWorkerState: () => CrossWorkerState
}

/** The results so far of the audits of some callers, as plain data. */
export type AuditSnapshot = {
  readonly ledger: LedgerSnapshot
  readonly limits: readonly LimitResult[]
  readonly blocks: BlockCounts
}

/** Data for clauses that only the requests of all workers together decide, as plain data. */
export type CrossWorkerState = {
  readonly ids: KnownIds
  readonly names: ModelNames
  readonly signIns: readonly SignInGroup[]
  readonly dependentErrors: readonly DependentErrors[]
  readonly invalidRequests: readonly InvalidRequests[]
  readonly prices: ImpliedPrices
  readonly sampledForms: readonly SampledForm[]
  readonly histories: readonly CallerHistory[]
}

/** All audits of the table of clauses, fed in the order of sending. */
export function createAudits(
  context: AuditContext,
  findingLog: FindingLog,
  spend: SpendListener = noSpendListener,
): Audits {
  const ledger = createLedgerAudit(context, findingLog.reporterFor('ledger'), spend)
  const rateLimits = createRateLimitAudit(context, findingLog.reporterFor('rate-limits'))
  const abuse = createAbuseAudit(context, findingLog.reporterFor('abuse'))
  const uniqueIds = createUniqueIdsAudit(context, findingLog.reporterFor('unique-ids'))
  const consistency = createConsistencyAudit(context, findingLog.reporterFor('consistency'))
  const idempotency = createIdempotencyAudit(context, findingLog.reporterFor('idempotency'))
  const impliedCredits = createImpliedCreditsAudit(context, findingLog.reporterFor('implied-credits'))
  const signIns = createSignInAudit(context, findingLog.reporterFor('sign-ins'))
  const dependentErrors = createDependentErrorsAudit(context)
  const invalidRequests = createInvalidRequestsAudit(context)
  const coherence = createCoherenceAudit(context, findingLog.reporterFor('coherence'))
  const overdraft = createOverdraftAudit(context, findingLog.reporterFor('overdraft'))
  const twins = createTwinAudit(context, findingLog.reporterFor('twins'))
  const histories = createHistories(context.mayShare ?? 0)
  const slowReaders = createSlowReaderAudit(findingLog.reporterFor('slow-readers'))
  const audits: readonly Audit[] = [
    ledger,
    rateLimits,
    abuse,
    idempotency,
    impliedCredits,
    uniqueIds,
    consistency,
    signIns,
    dependentErrors,
    invalidRequests,
    twins,
    coherence,
    overdraft,
    slowReaders,
    histories,
  ]
  const addAttempt = (attempt: Observation, watermarkMs: number) => {
    for (const audit of audits) audit.add(attempt, watermarkMs)
  }
  const marked = markRepeatedBodies(context.contract)
  const sendOrder = createSendOrder((sent, watermarkMs) => {
    const observation = marked(sent)
    if (!observation.retried) addAttempt(observation, watermarkMs)
    else for (const attempt of attemptsOf(observation)) addAttempt(attempt, watermarkMs)
  })
  return {
    add: sendOrder.add,
    finish: isComplete => {
      sendOrder.flush()
      for (const audit of audits) audit.finish(isComplete)
    },
    billing: ledger.billing,
    limits: rateLimits.limits,
    blocks: abuse.blocks,
    snapshot: () => ({ ledger: ledger.snapshot(), limits: rateLimits.limits(), blocks: abuse.blocks() }),
    crossWorkerState: () => ({
      ids: uniqueIds.ids(),
      names: consistency.names(),
      signIns: signIns.groups(),
      dependentErrors: dependentErrors.counts(),
      invalidRequests: invalidRequests.counts(),
      prices: impliedCredits.prices(),
      sampledForms: twins.sampled(),
      histories: histories.histories(),
    }),
  }
}

/**
 * The requests behind an observation. The target may have processed the first attempt of a retried request, so for the
 * audits it is a request without a response.
 */
export function attemptsOf(observation: Observation): readonly Observation[] {
  if (!observation.retried) return [observation]
  const outcome = { kind: 'failed', reason: 'connection-reused-closed', detail: 'sent again' } as const
  return [{ ...observation, retried: undefined, headersMs: null, outcome, response: null }, observation]
}

/** Merges the audits of several workers. No caller belongs to two workers. */
export type MergedAudits = {
  readonly billing: () => Billing
  readonly limits: () => readonly LimitResult[]
  readonly blocks: () => BlockCounts
  /** Judges clauses that need the data of all workers. Call once, when the audits of the workers have finished. */
  readonly finish: (states: readonly CrossWorkerState[]) => void
  /** Makes inconclusive what callers that share an account do not show. Call it after `finish`. */
  readonly withdraw: (shared: readonly SharedAccount[]) => void
}

const sumByStage = recordBy(sum, () => 0)

/** `findingLog` has the findings of the workers and receives new ones. Limits are in the order of `callers`. */
export function mergeAudits(
  parts: readonly AuditSnapshot[],
  callers: readonly string[],
  findingLog: FindingLog,
): MergedAudits {
  const discrepancies = createDiscrepancies(findingLog.reporterFor('ledger'))
  for (const { ledger } of parts) discrepancies.merge(ledger.discrepancies)
  const rank = new Map(callers.map((name, position) => [name, position]))
  const rankOf = ({ caller }: LimitResult) => rank.get(caller) ?? callers.length
  const limits = parts.flatMap(part => part.limits).toSorted((a, b) => rankOf(a) - rankOf(b))
  const blocks = parts.map(part => part.blocks).reduce(sumByStage, {})
  const totals = sumLedgers(parts.map(part => part.ledger))
  const withoutBalance = new Set<string>()
  const withoutLimits = new Set<string>()
  return {
    billing: () => {
      const billing = toBilling(totals, discrepancies.list())
      return withoutBalance.size === 0 ? billing : { ...billing, billedUsd: null, discrepancies: [] }
    },
    limits: () => limits.map(limit => (withoutLimits.has(limit.caller) ? withoutUse(limit) : limit)),
    withdraw: shared => {
      for (const account of shared) {
        for (const name of account.callers) {
          if (account.shares.includes('balance')) withoutBalance.add(name)
          if (account.shares.includes('limits')) withoutLimits.add(name)
        }
        for (const [clause, judge] of affectedClauses(account, findingLog.findings()))
          findingLog.withdraw(clause, judge, whyShared(account))
      }
    },
    blocks: () => blocks,
    finish: states => {
      discrepancies.finish()
      const ids = states.map(state => state.ids)
      checkIdsAcrossWorkers(ids, findingLog.reclassifier('unique-ids'))
      const names = states.map(state => state.names)
      checkNamesAcrossWorkers(names, findingLog.reporterFor('consistency'))
      const signIns = states.flatMap(state => state.signIns)
      judgeSignIns(signIns, findingLog.reporterFor('sign-ins'))
      const prices = states.map(state => state.prices)
      checkPricesAcrossWorkers(prices, findingLog.reporterFor('implied-credits'))
      const dependentErrors = states.flatMap(state => state.dependentErrors)
      judgeDependentErrors(dependentErrors, findingLog.reporterFor('dependent-errors'))
      const invalidRequests = states.flatMap(state => state.invalidRequests)
      judgeInvalidRequests(invalidRequests, findingLog.reporterFor('probe'))
      const sampledForms = states.flatMap(state => state.sampledForms)
      judgeSampledForms(sampledForms, findingLog.reporterFor('twins'))
    },
  }
}

/** What is known of a limit that others use, too. */
const withoutUse = (limit: LimitResult): LimitResult => ({
  ...limit,
  ...{ windows: null, unexpected429: null, decided429: 0, missing429: null },
})
