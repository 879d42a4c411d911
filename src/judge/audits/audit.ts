import type { Contract } from '../../contract/contract.ts'
import type { Observation } from '../../observation/observation.ts'
import type { Example } from '../checks/findings.ts'

/** A fold over the observations in the order of their `seq`. */
export type Audit = {
  /** Whatever is added later was sent at `watermarkMs` or after it. */
  readonly add: (observation: Observation, watermarkMs: number) => void
  /**
   * Judges what was still open. To be called once, after the last observation. `isComplete` is
   * false for a record that was cut off: requests in flight are missing from it, so what they leave open stays open.
   */
  readonly finish: (isComplete: boolean) => void
}

/** What every audit may know beside the observations. */
export type AuditContext = {
  readonly contract: Contract
  /** Whether others use the same accounts during the run. */
  readonly shared: boolean
  /** Unix time in milliseconds at which the clock of the observations stands at 0. */
  readonly startedAtMs: number
}

/** What the ledger found, over all callers. Amounts are decimal strings. */
export type Billing = {
  /** By our price list; credits are those of the RPC proxy. */
  readonly expectedCredits: string
  readonly expectedUsd: string
  /** As the answers said; replays are not counted. */
  readonly claimedCredits: string
  readonly claimedUsd: string
  /** Taken from the balances between the opening and the closing statement; null when one of them is missing. */
  readonly billedUsd: string | null
  readonly discrepancies: readonly Discrepancy[]
}

export const discrepancyKinds = [
  'unbilled',
  'billed-twice',
  'wrong-amount',
  'billed-for-failure',
  'replay-billed',
  'phantom',
  'balance-drift',
] as const
export type DiscrepancyKind = (typeof discrepancyKinds)[number]

export type Discrepancy = {
  readonly kind: DiscrepancyKind
  readonly count: number
  readonly amountUsd: string
  readonly examples: readonly Example[]
}

/** One limit of one caller. */
export type LimitResult = {
  readonly caller: string
  /** `chat:<model>` or `rpc`. */
  readonly scope: string
  readonly tier: string
  readonly windowMs: number
  /** By the contract; where that is silent, as the answers said; null when they did not. */
  readonly limit: number | null
  readonly windows: number
  readonly accepted: number
  readonly rejected: number
  readonly unexpected429: number
  readonly missing429: number
}

/** How many answers of the abuse block there were, by stage. */
export type BlockCounts = Readonly<Record<string, number>>

/** What one answer adds to the ledger; credits are whole ones. */
export type LedgerAmounts = {
  readonly expectedCredits: bigint
  readonly expectedPicoUsd: bigint
  readonly claimedCredits: bigint
  readonly claimedPicoUsd: bigint
}

/** Called as the ledger grows. Instants are milliseconds since the start of the run. */
export type SpendListener = {
  readonly spent: (atMs: number, amounts: LedgerAmounts) => void
  /** An account that was not known before. */
  readonly opened: () => void
  /** By how much a balance fell since the last one that was shown; null: it is the first of its account. */
  readonly shown: (atMs: number, fellPicoUsd: bigint | null) => void
}

export const noSpendListener: SpendListener = { spent: () => {}, opened: () => {}, shown: () => {} }
