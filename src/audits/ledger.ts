import type { Say } from '../checks/docket.ts'
import { formatPico, parsePico, pico } from '../lib/money.ts'
import type { Observation } from '../observation/observation.ts'
import { authenticatedAnswer, isReplayed } from '../observation/scope.ts'
import { type Account, createAccount } from './account.ts'
import type { Audit, AuditScope } from './audit.ts'
import { chargeOf, expectedPico } from './charge.ts'
import { createDiscrepancies } from './discrepancies.ts'
import type { Billing } from './results.ts'

/**
 * The double-entry ledger: what the answers say was charged on one side, what left the balances on the other. One
 * account for each caller; the totals of the run beside them.
 */
export function createLedger(scope: AuditScope, say: Say<'ledger'>): Audit & { readonly billing: () => Billing } {
  const { contract, shared } = scope
  const accounts = new Map<string, Account>()
  const discrepancies = createDiscrepancies(say)
  const total = { expectedUsd: 0n, claimedUsd: 0n, expectedCredits: 0n, claimedCredits: 0n }
  const rules = {
    settleMs: contract.billing.settleMs,
    resolution: pico(contract.billing.balanceResolutionUsd),
    judged: contract.billing.balanceHeaders && !shared,
  }

  return {
    add: (observation, watermarkMs) => {
      addTotals(observation)
      if (observation.sentMs === null || observation.endMs === null) return
      let account = accounts.get(observation.caller)
      if (account === undefined) {
        account = createAccount(rules, discrepancies, say)
        accounts.set(observation.caller, account)
      }
      const charge = chargeOf(observation, contract)
      const { seq, sentMs, endMs } = observation
      account.add({ seq, sentMs, endMs, charge, balance: balanceOf(observation) }, watermarkMs)
    },
    conclude: () => {
      for (const account of accounts.values()) account.conclude()
    },
    billing: () => {
      const billed = [...accounts.values()].map(account => account.billed())
      const known = billed.filter(amount => amount !== null)
      return {
        expectedCredits: String(total.expectedCredits),
        expectedUsd: formatPico(total.expectedUsd),
        claimedCredits: String(total.claimedCredits),
        claimedUsd: formatPico(total.claimedUsd),
        billedUsd:
          known.length === 0 || known.length < billed.length ? null : formatPico(known.reduce((a, b) => a + b, 0n)),
        discrepancies: discrepancies.list(),
      }
    },
  }

  function addTotals(observation: Observation) {
    const expected = expectedPico(observation, contract)
    total.expectedUsd += expected?.usd ?? 0n
    total.expectedCredits += expected?.credits ?? 0n
    const charge = chargeOf(observation, contract)
    if (charge?.sort === 'charged') total.claimedUsd += charge.said
    const { answer, asked } = observation
    const credits = answer?.headers[`${contract.headerPrefix}rpc-credits`]
    if (asked.kind === 'rpc' && answer?.status === 200 && !isReplayed(answer) && /^\d+$/.test(credits ?? ''))
      total.claimedCredits += BigInt(credits ?? 0)
  }

  /** Both currencies together, because the order in which they are spent is open; null where one is not said. */
  function balanceOf(observation: Observation): bigint | null {
    const headers = authenticatedAnswer(observation)?.headers
    const usd = parsePico(headers?.[`${contract.headerPrefix}balance-usd`] ?? '')
    const diem = parsePico(headers?.[`${contract.headerPrefix}balance-diem`] ?? '')
    return usd === null || diem === null ? null : usd + diem
  }
}
