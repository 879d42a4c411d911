import type { Example } from '../checks/findings.ts'

/** What the ledger found, over all callers. Amounts are decimal strings. */
export type Billing = {
  /** By our tariff; credits are those of the RPC proxy. */
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
export type LimitUse = {
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
export type Blocks = Readonly<Record<string, number>>
