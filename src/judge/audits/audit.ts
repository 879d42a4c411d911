import type { Contract } from '../../contract/contract.ts'
import type { Observation } from '../../observation/observation.ts'
import type { CountedExample } from '../findings/causes.ts'

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
}

/** The results of the ledger over all callers. Amounts are decimal strings. */
export type Billing = {
  /** According to the price list. Credits are those of the RPC proxy. */
  readonly expectedCredits: string
  readonly expectedUsd: string
  /** As the responses claim; replays are not counted. */
  readonly claimedCredits: string
  readonly claimedUsd: string
  /** The difference between the opening and the closing balance check; null if one of them is missing. */
  readonly billedUsd: string | null
  /** Charged responses that state no cost, and RPC responses that state no credits. The claims lack what these cost. */
  readonly unstatedCosts: number
  readonly unstatedCredits: number
  readonly tolerance: BillingTolerance
  readonly discrepancies: readonly Discrepancy[]
}

/** How far the amounts of a run may be apart without a discrepancy, over all of its requests. */
export type BillingTolerance = {
  /** Between expected and claimed, in USD. */
  readonly claimedUsd: string
  /** Claimed by responses that the price list does not cover, in USD; not compared with expected. */
  readonly unpricedUsd: string
  /** Of each list price, as a share: of a completion and of the credits of an RPC response; null: there was none. */
  readonly completionRatio: number | null
  readonly rpcRatio: number | null
  /**
   * Between claimed and billed, in USD: rounding, and requests without a response, which may have been charged. null: the
   * balances are not judged, because others use the accounts or the target does not state them.
   */
  readonly billedUsd: string | null
  /** The last digit of a balance, in USD. */
  readonly balanceUsd: string
}

export const discrepancyKinds = [
  'unbilled',
  'billed-twice',
  'wrong-amount',
  'billed-for-failure',
  'replay-billed',
  'phantom',
  'balance-drift',
  'overcredited',
  'undercredited',
] as const
export type DiscrepancyKind = (typeof discrepancyKinds)[number]

export type Discrepancy = {
  readonly kind: DiscrepancyKind
  readonly count: number
  readonly amountUsd: string
  readonly examples: readonly CountedExample[]
}

/** One limit of one caller. */
export type LimitResult = LimitUse & {
  /** The names that its requests have in the plan: several, if models or networks share it. */
  readonly names: readonly string[]
}

/** How a limit of a caller was used. */
export type LimitUse = {
  readonly caller: string
  /** `chat:<model>` or `rpc`. */
  readonly scope: string
  readonly tier: string
  readonly windowMs: number
  /** According to the contract or, if it has none, as responses state it; null if neither does. */
  readonly limit: number | null
  /** null, like the next two: it rests on headers that violate their clause. */
  readonly windows: number | null
  readonly accepted: number
  readonly rejected: number
  readonly unexpected429: number | null
  /** 429s of which the audit could tell whether they were right. */
  readonly decided429: number
  /** null also: the limit is unknown. */
  readonly missing429: number | null
  /** How long its windows lasted by their usage, in milliseconds; null: no window was seen from its first request to the next. */
  readonly lasted: { readonly minMs: number; readonly maxMs: number } | null
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
