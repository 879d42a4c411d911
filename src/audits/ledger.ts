import type { Say } from '../checks/docket.ts'
import { claimedCredits } from '../checks/rpc-credits.ts'
import { tariffOf } from '../checks/tariff.ts'
import { formatPico, parsePico } from '../lib/money.ts'
import type { Observation } from '../observation/observation.ts'
import { authenticatedAnswer, isReplayed } from '../observation/scope.ts'
import { type Account, createAccount, type Entry } from './account.ts'
import type { Audit, AuditScope } from './audit.ts'
import { type Charge, chargeOf, expectedCharge, isRefusal } from './charge.ts'
import { createDiscrepancies } from './discrepancies.ts'
import { type Balances, paidOf } from './paid.ts'
import type { Billing } from './results.ts'

const dayMs = 86_400_000
/** How far from midnight a request must be for its day to be certain, whatever the target's clock says. */
const midnightMs = 30_000

/**
 * The double-entry ledger: what the answers say was charged on one side, what left the balances on the other. One
 * account for each caller; the totals of the run beside them.
 */
export function createLedger(scope: AuditScope, say: Say<'ledger'>): Audit & { readonly billing: () => Billing } {
  const { contract, shared, startedAtMs } = scope
  const { settleMs, balanceHeaders } = contract.billing
  const tariff = tariffOf(contract)
  const accounts = new Map<string, Account>()
  const discrepancies = createDiscrepancies(say)
  const total = { expectedUsd: 0n, claimedUsd: 0n, expectedCredits: 0n, claimedCredits: 0n }
  const rules = { grain: tariff.balanceGrain, judged: balanceHeaders && !shared }

  return {
    add: (observation, watermarkMs) => {
      const charge = chargeOf(observation, contract)
      addTotals(observation, charge)
      // A refusal of another request may be the node's, relayed, and that has its price.
      if (
        observation.asked.kind === 'probe' &&
        charge?.sort === 'charged' &&
        charge.said > 0n &&
        isRefusal(observation)
      )
        accuseRefusal(observation, charge)
      const { seq, caller, sentMs, headersMs, endMs } = observation
      if (sentMs === null || endMs === null) return
      let account = accounts.get(caller)
      if (account === undefined) {
        account = createAccount(rules, discrepancies, say)
        accounts.set(caller, account)
      }
      // What costs nothing is settled as soon as it is answered.
      const entry: Entry = {
        seq,
        sentMs,
        shownMs: headersMs ?? endMs,
        settledMs: charge?.most === 0n ? endMs : endMs + settleMs,
        charge,
        paid: paidOf(observation, charge),
        balances: balancesOf(observation),
        day: dayOf(startedAtMs + sentMs, startedAtMs + endMs),
      }
      account.add(entry, watermarkMs)
    },
    conclude: isWhole => {
      for (const account of isWhole ? accounts.values() : []) account.conclude()
      discrepancies.conclude()
    },
    billing: () => {
      const billed = [...accounts.values()].map(account => account.billed())
      const known = billed.filter(amount => amount !== null)
      const isWhole = known.length > 0 && known.length === billed.length
      return {
        expectedCredits: String(total.expectedCredits),
        expectedUsd: formatPico(total.expectedUsd),
        claimedCredits: String(total.claimedCredits),
        claimedUsd: formatPico(total.claimedUsd),
        billedUsd: isWhole ? formatPico(known.reduce((a, b) => a + b, 0n)) : null,
        discrepancies: discrepancies.list(),
      }
    },
  }

  function addTotals(observation: Observation, charge: Charge | null) {
    const expected = expectedCharge(observation, contract)
    if (expected !== null) {
      total.expectedUsd += expected.usd
      total.expectedCredits += expected.credits
    }
    if (charge?.sort === 'charged') total.claimedUsd += charge.said
    const { answer, asked } = observation
    if ((asked.kind === 'rpc' || asked.kind === 'probe') && answer !== null && !isReplayed(answer))
      total.claimedCredits += claimedCredits(answer, contract) ?? 0n
  }

  function accuseRefusal({ seq, answer }: Observation, { said }: Charge) {
    const because = `a ${answer?.status} says that it costs ${formatPico(said)} USD, expected a refusal to cost nothing`
    say.broken('rpc.refused.free', because, [seq])
  }

  /** Null where one of them is not said. */
  function balancesOf(observation: Observation): Balances | null {
    const headers = authenticatedAnswer(observation)?.headers
    const usd = parsePico(headers?.[tariff.usdHeader] ?? '')
    const diem = parsePico(headers?.[tariff.diemHeader] ?? '')
    return usd === null || diem === null ? null : { usd, diem }
  }
}

function dayOf(fromMs: number, toMs: number): number | null {
  const day = Math.floor((fromMs - midnightMs) / dayMs)
  return day === Math.floor((toMs + midnightMs) / dayMs) ? day : null
}
