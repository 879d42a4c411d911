import { formatPico } from '../lib/money.ts'
import type { DiscrepancyFacts } from './discrepancies.ts'
import type { Billing, Discrepancy } from './results.ts'
import type { Amounts } from './spend-sink.ts'

/** What a ledger has come to, as plain data: sums over its accounts, so that ledgers of other accounts can be added. */
export type LedgerFacts = Amounts & {
  readonly accounts: number
  /** Those of them that were ever shown a balance, and what left these. */
  readonly shown: number
  readonly billedPicoUsd: bigint
  readonly discrepancies: DiscrepancyFacts
}

export const sums = ['expectedCredits', 'expectedPicoUsd', 'claimedCredits', 'claimedPicoUsd'] as const

type Totals = Omit<LedgerFacts, 'discrepancies'>

/** Of ledgers that have no account in common. */
export const addLedgers = (ledgers: readonly Totals[]): Totals =>
  ledgers.reduce(
    (a, b) => ({
      expectedCredits: a.expectedCredits + b.expectedCredits,
      expectedPicoUsd: a.expectedPicoUsd + b.expectedPicoUsd,
      claimedCredits: a.claimedCredits + b.claimedCredits,
      claimedPicoUsd: a.claimedPicoUsd + b.claimedPicoUsd,
      accounts: a.accounts + b.accounts,
      shown: a.shown + b.shown,
      billedPicoUsd: a.billedPicoUsd + b.billedPicoUsd,
    }),
    nothing,
  )

const nothing: Totals = {
  expectedCredits: 0n,
  expectedPicoUsd: 0n,
  claimedCredits: 0n,
  claimedPicoUsd: 0n,
  accounts: 0,
  shown: 0,
  billedPicoUsd: 0n,
}

export const billingOf = (totals: Totals, discrepancies: readonly Discrepancy[]): Billing => ({
  expectedCredits: String(totals.expectedCredits),
  expectedUsd: formatPico(totals.expectedPicoUsd),
  claimedCredits: String(totals.claimedCredits),
  claimedUsd: formatPico(totals.claimedPicoUsd),
  billedUsd: totals.shown > 0 && totals.shown === totals.accounts ? formatPico(totals.billedPicoUsd) : null,
  discrepancies,
})
