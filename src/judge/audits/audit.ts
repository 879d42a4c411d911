import type { Contract } from '../../contract/contract.ts'
import type { Observation } from '../../observation/observation.ts'
import type { CountedExample } from '../findings/causes.ts'
import type { BillingSums } from '../results.ts'

/** A fold over the observations in the order of their `seq`. */
export type Audit = {
  /** Observations added later were sent at `watermarkMs` or later. */
  readonly add: (observation: Observation, watermarkMs: number) => void
  /**
   * Judges everything still open. Call once, after the last observation. `isComplete` is false for a truncated
   * recording: it lacks requests in flight, so anything that depends on them stays open.
   */
  readonly finish: (isComplete: boolean) => void
}

/** The context of an audit besides the observations. */
export type AuditContext = {
  readonly contract: Contract
  /** Whether others use the same accounts during the run. */
  readonly shared: boolean
  /** Unix time in milliseconds at which the clock of the observations is 0. */
  readonly startedAtMs: number
  /** How many callers may share an account, as far as is known before the run. Missing: none. */
  readonly mayShare?: number
  /** Whether all RPC requests name the same network. Missing: not known. */
  readonly callsOneNetwork?: boolean
}

export const discrepancyKinds = [
  'unbilled',
  'billed-twice',
  'wrong-amount',
  'billed-for-failure',
  'replay-billed',
  'hang-up-billed',
  'hang-up-unbilled',
  'phantom',
  'balance-drift',
  'overcredited',
  'undercredited',
] as const
export type DiscrepancyKind = (typeof discrepancyKinds)[number]

/** The results of the ledger. */
export type Billing = BillingSums & { readonly discrepancies: readonly Discrepancy[] }

export type Discrepancy = {
  readonly kind: DiscrepancyKind
  readonly count: number
  readonly amountUsd: string
  readonly examples: readonly CountedExample[]
}

/** The number of responses of the abuse block, by stage. */
export type BlockCounts = Readonly<Record<string, number>>

/** The amounts that one response adds to the ledger. Credits are whole numbers. */
export type LedgerAmounts = {
  readonly expectedCredits: bigint
  readonly expectedPicoUsd: bigint
  readonly claimedCredits: bigint
  readonly claimedPicoUsd: bigint
}

/** Called as the ledger grows. Times are milliseconds since the start of the run. */
export type SpendListener = {
  readonly spent: (atMs: number, amounts: LedgerAmounts) => void
  /** A new account. */
  readonly opened: () => void
  /** The decrease of a balance since it was last shown; null for the first one of its account. */
  readonly shown: (atMs: number, fellPicoUsd: bigint | null) => void
}

export const noSpendListener: SpendListener = { spent: () => {}, opened: () => {}, shown: () => {} }
