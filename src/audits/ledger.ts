import type { Say } from '../checks/findings.ts'
import { priceListOf } from '../checks/price-list.ts'
import { claimedCredits } from '../checks/rpc-credits.ts'
import { formatPico, parsePico } from '../lib/money.ts'
import type { Observation } from '../observation/observation.ts'
import { authenticatedAnswer, isReplayed } from '../observation/response.ts'
import { type Account, createAccount, type Entry } from './account.ts'
import type { Audit, AuditScope } from './audit.ts'
import { type Charge, chargeOf, expectedCharge, isRefusal } from './charge.ts'
import { createDiscrepancies } from './discrepancies.ts'
import { billingOf, type LedgerFacts, sums } from './ledger-facts.ts'
import { type Balances, paidOf } from './paid.ts'
import type { Billing } from './results.ts'
import { type Amounts, nobody, type SpendSink } from './spend-sink.ts'

const dayMs = 86_400_000
/** How far from midnight a request must be for its day to be certain, whatever the target's clock says. */
const midnightMs = 30_000

/**
 * The double-entry ledger: what the answers say was charged on one side, what left the balances on the other. One
 * account for each caller; the totals of the run beside them.
 */
export function createLedger(
  scope: AuditScope,
  say: Say<'ledger'>,
  spend: SpendSink = nobody,
): Audit & { readonly billing: () => Billing; readonly facts: () => LedgerFacts } {
  const { contract, shared, startedAtMs } = scope
  const { settleMs, balanceHeaders } = contract.billing
  const tariff = priceListOf(contract)
  const accounts = new Map<string, Account>()
  const discrepancies = createDiscrepancies(say)
  const total = { expectedCredits: 0n, expectedPicoUsd: 0n, claimedCredits: 0n, claimedPicoUsd: 0n }
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
        account = createAccount(rules, discrepancies, say, spend)
        accounts.set(caller, account)
        spend.opened()
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
    },
    billing: () => billingOf(facts(), discrepancies.list()),
    facts,
  }

  function facts(): LedgerFacts {
    const billed = [...accounts.values()].map(account => account.billed())
    const shown = billed.filter(amount => amount !== null)
    return {
      ...total,
      accounts: billed.length,
      shown: shown.length,
      billedPicoUsd: shown.reduce((a, b) => a + b, 0n),
      discrepancies: discrepancies.facts(),
    }
  }

  function addTotals(observation: Observation, charge: Charge | null) {
    const expected = expectedCharge(observation, contract)
    const { answer, asked, endMs, dueMs } = observation
    const isOfProxy = (asked.kind === 'rpc' || asked.kind === 'probe') && answer !== null && !isReplayed(answer)
    const amounts: Amounts = {
      expectedCredits: expected?.credits ?? 0n,
      expectedPicoUsd: expected?.usd ?? 0n,
      claimedCredits: isOfProxy ? (claimedCredits(answer, contract) ?? 0n) : 0n,
      claimedPicoUsd: charge?.sort === 'charged' ? charge.said : 0n,
    }
    for (const name of sums) total[name] += amounts[name]
    spend.spent(endMs ?? dueMs, amounts)
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
