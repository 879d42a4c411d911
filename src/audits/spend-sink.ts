/** What one answer adds to the ledger; credits are whole ones. */
export type Amounts = {
  readonly expectedCredits: bigint
  readonly expectedPicoUsd: bigint
  readonly claimedCredits: bigint
  readonly claimedPicoUsd: bigint
}

/** Whoever wants to know when the ledger came to what. Instants are milliseconds since the start of the run. */
export type SpendSink = {
  readonly spent: (atMs: number, amounts: Amounts) => void
  /** An account that was not known before. */
  readonly opened: () => void
  /** A balance that fell by so much since the last one that was shown; null: it is the first of its account. */
  readonly shown: (atMs: number, fellPicoUsd: bigint | null) => void
}

export const nobody: SpendSink = { spent: () => {}, opened: () => {}, shown: () => {} }
