import { showsBalances } from '../../../contract/billing/billing-terms.ts'
import { absDifference, formatPico } from '../../../lib/money.ts'
import type { Observation } from '../../../observation/observation.ts'
import { isProbeRequest, requestTraits } from '../../../observation/requests/request.ts'
import { is2xx, isReplayed } from '../../../observation/response.ts'
import { priceListOf } from '../../checks/price-list.ts'
import { claimedCredits } from '../../checks/rpc-credits.ts'
import type { ClauseReporter } from '../../findings/findings.ts'
import type { Obstacle } from '../../findings/obstacles.ts'
import { eachBy, fieldsBy, first, type MergeRules, mergeAll, sum, sumBigint } from '../../merge.ts'
import type { BillingTolerance } from '../../results.ts'
import {
  type Audit,
  type AuditContext,
  type Billing,
  type Discrepancy,
  type LedgerAmounts,
  noSpendListener,
  type SpendListener,
} from '../audit.ts'
import { createAccount, type LedgerAccount, type LedgerEntry } from './account.ts'
import { type BalanceReader, createBalanceReader } from './balances.ts'
import { type ChargeBounds, chargeOf, heldBeyond, isCharge, isProxyRejection, paidByCurrency } from './charge.ts'
import { type Credit, createCredits } from './credits.ts'
import { createDiscrepancies, type DiscrepancySnapshot } from './discrepancies.ts'
import { createHangUps } from './hang-ups.ts'
import { type ExpectedCharge, expectedCharge } from './prices.ts'
import { shownCredits } from './shown.ts'

const ofBalances = ['billing.balance-before', 'billing.conservation', 'billing.currency'] as const
const ofWallets = ['billing.balance-before', 'wallet.charge', 'wallet.balance', 'wallet.balance-remaining'] as const
const ofHangUps = ['billing.hang-up.amount', 'billing.hang-up.once', 'billing.hang-up.late'] as const
const sharedAccounts: Obstacle = { text: 'others use the same accounts', clause: null }
const noBalances: Obstacle = { text: 'the profile says that responses show no balance', clause: null }

const openPolicy: Obstacle = { text: 'the profile leaves open what a hang-up costs (billing.hangUp)', clause: null }

const dayMs = 86_400_000
/** How far from midnight a request must be so that its day is certain on any clock of the target. */
const midnightMs = 30_000

/**
 * The double-entry ledger: the claimed charges on one side, the decrease of the balances on the other. It has one
 * account per caller and the totals of the run.
 */
export function createLedgerAudit(
  context: AuditContext,
  reporter: ClauseReporter<'ledger'>,
  spend: SpendListener = noSpendListener,
): Audit & { readonly billing: () => Billing; readonly snapshot: () => LedgerSnapshot } {
  const { contract, shared, startedAtMs } = context
  const { settleMs, balance } = contract.billing
  const priceList = priceListOf(contract)
  const accounts = new Map<string, LedgerAccount>()
  const discrepancies = createDiscrepancies(reporter)
  const creditOf = createCredits(contract, reporter)
  const hangUps = createHangUps(contract)
  const total = { expectedCredits: 0n, expectedPicoUsd: 0n, claimedCredits: 0n, claimedPicoUsd: 0n }
  const unstated = { costs: 0, charges: 0, credits: 0 }
  const tolerance = { claimedPicoUsd: 0n, unpricedPicoUsd: 0n, openPicoUsd: 0n, completions: 0, rpcResponses: 0 }
  /** A wallet is shown its balance in other places, too. */
  const isJudged = (isWallet: boolean) => !shared && (showsBalances(contract.billing) || isWallet)
  let areAllJudged = true
  const readers = new Map<string, BalanceReader>()
  /** Of each caller: what its responses claim, and how much more or less it may have been charged. */
  const claims = new Map<string, { claimed: bigint; open: bigint }>()

  return {
    add: (observation, watermarkMs) => {
      const hangUp = hangUps.chargeOf(observation)
      const charge = hangUp?.charge ?? chargeOf(observation, contract)
      addTotals(observation, charge)
      // Rejections of other requests may be relayed from a node, which has its price.
      if (
        isProbeRequest(observation.request) &&
        charge?.kind === 'charged' &&
        charge.said > 0n &&
        isProxyRejection(observation, contract)
      )
        failProxyRejection(observation, charge)
      const { id, chain, sentMs, headersMs, endMs } = observation
      const caller = balance.scope === 'key' ? `${observation.caller} ${observation.key}` : observation.caller
      if (sentMs === null || endMs === null) return
      const isWallet = chain !== undefined
      const judged = isJudged(isWallet)
      if (observation.outcome.kind === 'left' && hangUp === null && contract.billing.hangUp === 'open')
        for (const clause of ofHangUps) reporter.unjudged(clause, openPolicy)
      if (!judged && isCharge(charge))
        for (const clause of isWallet ? ofWallets : ofBalances)
          reporter.unjudged(clause, shared ? sharedAccounts : noBalances)
      let account = accounts.get(caller)
      if (account === undefined) {
        const reader = createBalanceReader(contract, isWallet)
        readers.set(caller, reader)
        account = createAccount({ lastDigit: reader.lastDigit, judged, isWallet }, discrepancies, reporter, spend)
        accounts.set(caller, account)
        claims.set(caller, { claimed: 0n, open: 0n })
        areAllJudged &&= judged
        spend.opened()
      }
      const claim = claims.get(caller)
      if (claim !== undefined && charge !== null) {
        claim.open += charge.max - charge.min
        if (charge.kind === 'charged') claim.claimed += charge.said
      }
      const credit = creditOf(observation)
      const shown = shownCredits(observation, contract, reporter)
      // A request without a cost is settled as soon as its response arrives.
      const entry: LedgerEntry = {
        id,
        sentMs,
        shownMs: headersMs ?? endMs,
        settledMs:
          hangUp?.settledMs ??
          (charge?.max === 0n && (credit?.isLate || !addsCredit(credit)) ? endMs : endMs + settleMs),
        charge,
        paid: paidByCurrency(observation, charge),
        balances: readers.get(caller)?.balancesOf(observation, charge, shown) ?? null,
        credit: credit?.isLate ? { ...credit, max: 0n } : credit,
        held: heldBeyond(observation.request, charge, contract),
        shown,
        day: dayOf(startedAtMs + sentMs, startedAtMs + endMs),
      }
      account.add(entry, watermarkMs)
      if (credit?.isLate) account.add(lateCredit(entry, credit, endMs + settleMs), watermarkMs)
    },
    finish: isComplete => {
      for (const account of isComplete ? accounts.values() : []) account.finish()
    },
    billing: () => toBilling(snapshot(), discrepancies.list()),
    snapshot,
  }

  function snapshot(): LedgerSnapshot {
    const billed = [...accounts.values()].map(account => account.billed())
    const shown = billed.filter(amount => amount !== null)
    const lastDigits = [...readers.values()].map(reader => reader.lastDigit())
    const hidden = [...claims].filter(
      ([caller, { claimed, open }]) => claimed <= open + (readers.get(caller)?.lastDigit() ?? 0n),
    )
    return {
      ...total,
      unstatedCosts: unstated.costs,
      unknownCharges: unstated.charges,
      unstatedCredits: unstated.credits,
      tolerance: {
        claimedPicoUsd: tolerance.claimedPicoUsd,
        unpricedPicoUsd: tolerance.unpricedPicoUsd,
        billedPicoUsd: areAllJudged ? lastDigits.reduce((a, b) => a + b, tolerance.openPicoUsd) : null,
        hiddenPicoUsd: hidden.reduce((sum, [, { claimed }]) => sum + claimed, 0n),
        balancePicoUsd: lastDigits.reduce((a, b) => (a > b ? a : b), priceList.balanceResolution),
        completionRatio: tolerance.completions > 0 ? contract.chat.costTolerance : null,
        rpcRatio: tolerance.rpcResponses > 0 ? contract.rpc.priceTolerance : null,
      },
      accounts: billed.length,
      shown: shown.length,
      billedPicoUsd: shown.reduce((a, b) => a + b, 0n),
      discrepancies: discrepancies.snapshot(),
    }
  }

  function addTotals(observation: Observation, charge: ChargeBounds | null) {
    const expected = expectedCharge(observation, contract)
    const { response, request, outcome, endMs, dueMs } = observation
    const isSuccess = outcome.kind === 'answered' && is2xx(outcome.status)
    const isPricedInCredits = requestTraits(request).pricing(request) === 'credits'
    const isOfProxy =
      (isPricedInCredits || isProbeRequest(request)) && response !== null && !isReplayed(observation, contract)
    const amounts: LedgerAmounts = {
      expectedCredits: expected?.credits ?? 0n,
      expectedPicoUsd: expected?.usd ?? 0n,
      claimedCredits: isOfProxy ? (claimedCredits(response, contract) ?? 0n) : 0n,
      claimedPicoUsd: charge?.kind === 'charged' ? charge.said : 0n,
    }
    if (charge === null) unstated.charges++
    if (charge === null || charge.kind === 'listed' || (charge.kind === 'unknown' && isSuccess)) unstated.costs++
    if (isPricedInCredits && isOfProxy && isSuccess && claimedCredits(response, contract) === null) unstated.credits++
    total.expectedCredits += amounts.expectedCredits
    total.expectedPicoUsd += amounts.expectedPicoUsd
    total.claimedCredits += amounts.claimedCredits
    total.claimedPicoUsd += amounts.claimedPicoUsd
    if (observation.chain !== undefined && expected !== null && charge?.kind === 'charged')
      judgePrice(observation, charge.said, expected)
    if (expected === null) tolerance.unpricedPicoUsd += amounts.claimedPicoUsd
    else tolerance.claimedPicoUsd += expected.tolerance
    if (charge !== null) tolerance.openPicoUsd += charge.max - charge.min
    if (expected?.priced === 'completion') tolerance.completions++
    if (expected?.priced === 'rpc') tolerance.rpcResponses++
    spend.spent(endMs ?? dueMs, amounts)
  }

  function failProxyRejection({ id, response }: Observation, { said }: ChargeBounds) {
    const message = `a ${response?.status} states a cost of ${formatPico(said)} USD, expected a rejected request to be free`
    reporter.fail('rpc.refused.free', message, [id])
  }

  /** A wallet pays the prices of an API key. Other clauses judge what the responses to all callers claim. */
  function judgePrice({ id }: Observation, said: bigint, { usd, tolerance: allowed }: ExpectedCharge) {
    if (absDifference(said, usd) <= allowed) return reporter.pass('wallet.billing')
    const message = `a request of a wallet costs ${formatPico(said)} USD, expected ${formatPico(usd)}, as with an API key`
    reporter.fail('wallet.billing', message, [id])
  }
}

/** A credit that may arrive from some time on, as if it had a request of its own. */
const lateCredit = (entry: LedgerEntry, credit: Credit, sentMs: number): LedgerEntry => {
  return {
    ...entry,
    sentMs,
    shownMs: sentMs,
    settledMs: sentMs,
    credit,
    balances: null,
    shown: [],
    paid: null,
    held: 0n,
  }
}

/** Whether a payment may have added something, or tells what an earlier request has added. */
const addsCredit = (credit: Credit | null): boolean => credit !== null && (credit.min !== 0n || credit.max !== 0n)

function dayOf(fromMs: number, toMs: number): number | null {
  const day = Math.floor((fromMs - midnightMs) / dayMs)
  return day === Math.floor((toMs + midnightMs) / dayMs) ? day : null
}

/** The totals of a ledger, as plain data: sums over its accounts, so that ledgers of other accounts can be added. */
export type LedgerSnapshot = LedgerAmounts &
  Pick<Billing, 'unstatedCosts' | 'unknownCharges' | 'unstatedCredits'> & {
    readonly accounts: number
    /** The accounts that were shown a balance, and the decrease of those balances. */
    readonly shown: number
    readonly billedPicoUsd: bigint
    readonly tolerance: LedgerTolerance
    readonly discrepancies: DiscrepancySnapshot
  }

type LedgerTolerance = Pick<BillingTolerance, 'completionRatio' | 'rpcRatio'> & {
  readonly claimedPicoUsd: bigint
  readonly unpricedPicoUsd: bigint
  readonly billedPicoUsd: bigint | null
  readonly hiddenPicoUsd: bigint
  readonly balancePicoUsd: bigint
}

type LedgerTotals = Omit<LedgerSnapshot, 'discrepancies'>

/** Sums ledgers that have no account in common. */
export const sumLedgers = (ledgers: readonly LedgerTotals[]): LedgerTotals => mergeAll(ledgers, zeroLedger, ledgerRules)

const zeroLedger = (): LedgerTotals => ({
  expectedCredits: 0n,
  expectedPicoUsd: 0n,
  claimedCredits: 0n,
  claimedPicoUsd: 0n,
  unstatedCosts: 0,
  unknownCharges: 0,
  unstatedCredits: 0,
  accounts: 0,
  shown: 0,
  billedPicoUsd: 0n,
  tolerance: {
    claimedPicoUsd: 0n,
    unpricedPicoUsd: 0n,
    billedPicoUsd: 0n,
    hiddenPicoUsd: 0n,
    balancePicoUsd: 0n,
    completionRatio: null,
    rpcRatio: null,
  },
})

const toleranceRules: MergeRules<LedgerTolerance> = {
  ...eachBy(sumBigint, ['claimedPicoUsd', 'unpricedPicoUsd', 'hiddenPicoUsd']),
  billedPicoUsd: (own, part) => (own === null || part === null ? null : own + part),
  balancePicoUsd: (own, part) => (own > part ? own : part),
  completionRatio: first,
  rpcRatio: first,
}

const ledgerRules: MergeRules<LedgerTotals> = {
  ...eachBy(sumBigint, ['expectedCredits', 'expectedPicoUsd', 'claimedCredits', 'claimedPicoUsd', 'billedPicoUsd']),
  ...eachBy(sum, ['unstatedCosts', 'unknownCharges', 'unstatedCredits', 'accounts', 'shown']),
  tolerance: fieldsBy(toleranceRules),
}

export const toBilling = (totals: LedgerTotals, discrepancies: readonly Discrepancy[]): Billing => ({
  expectedCredits: String(totals.expectedCredits),
  expectedUsd: formatPico(totals.expectedPicoUsd),
  claimedCredits: String(totals.claimedCredits),
  claimedUsd: formatPico(totals.claimedPicoUsd),
  unstatedCosts: totals.unstatedCosts,
  unknownCharges: totals.unknownCharges,
  unstatedCredits: totals.unstatedCredits,
  billedUsd: totals.shown > 0 && totals.shown === totals.accounts ? formatPico(totals.billedPicoUsd) : null,
  tolerance: {
    claimedUsd: formatPico(totals.tolerance.claimedPicoUsd),
    unpricedUsd: formatPico(totals.tolerance.unpricedPicoUsd),
    completionRatio: totals.tolerance.completionRatio,
    rpcRatio: totals.tolerance.rpcRatio,
    billedUsd: totals.tolerance.billedPicoUsd === null ? null : formatPico(totals.tolerance.billedPicoUsd),
    hiddenUsd: formatPico(totals.tolerance.hiddenPicoUsd),
    balanceUsd: formatPico(totals.tolerance.balancePicoUsd),
  },
  discrepancies,
})
