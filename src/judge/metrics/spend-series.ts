import { formatPico } from '../../lib/money.ts'
import type { LedgerAmounts, SpendListener } from '../audits/audit.ts'
import { maxColumns, type Timeline, type TimeRow } from './timeline.ts'

/** The totals of the ledger at the end of each column, since the start of the run, as decimals. */
export type SpendSeries = {
  readonly expectedCredits: readonly string[]
  readonly claimedCredits: readonly string[]
  readonly expectedUsd: readonly string[]
  readonly claimedUsd: readonly string[]
  /** null until every caller got a balance. */
  readonly billedUsd: readonly (string | null)[]
}

type SpendSeriesFold = SpendListener & {
  readonly series: () => SpendSeries
  readonly snapshot: () => SpendSnapshot
  readonly merge: (snapshot: SpendSnapshot, columnOf: (theirs: number) => number) => void
}

/** The amounts of each column, and the number of accounts. */
export type SpendSnapshot = {
  readonly sums: readonly (readonly bigint[])[]
  readonly firstShown: Float64Array
  readonly accounts: number
}

export function createSpendSeries(timeline: Timeline): SpendSeriesFold {
  const expectedCredits = createSums(timeline)
  const claimedCredits = createSums(timeline)
  const expectedPicoUsd = createSums(timeline)
  const claimedPicoUsd = createSums(timeline)
  const billedPicoUsd = createSums(timeline)
  const all = [expectedCredits, claimedCredits, expectedPicoUsd, claimedPicoUsd, billedPicoUsd]
  const firstShown: TimeRow = timeline.sums()
  let accounts = 0

  return {
    spent: (atMs, amounts: LedgerAmounts) => {
      const column = timeline.columnOf(atMs)
      if (column < 0) return
      expectedCredits.put(column, amounts.expectedCredits)
      claimedCredits.put(column, amounts.claimedCredits)
      expectedPicoUsd.put(column, amounts.expectedPicoUsd)
      claimedPicoUsd.put(column, amounts.claimedPicoUsd)
    },
    opened: () => {
      accounts++
    },
    shown: (atMs, fellPicoUsd) => {
      const column = timeline.columnOf(atMs)
      if (column < 0) return
      if (fellPicoUsd === null) firstShown.put(column, 1)
      else billedPicoUsd.put(column, fellPicoUsd)
    },
    series: () => {
      let shown = 0
      const areAllShown = Array.from({ length: timeline.columns() }, (_, column) => {
        shown += firstShown.at(column)
        return accounts > 0 && shown === accounts
      })
      return {
        expectedCredits: expectedCredits.running().map(String),
        claimedCredits: claimedCredits.running().map(String),
        expectedUsd: expectedPicoUsd.running().map(formatPico),
        claimedUsd: claimedPicoUsd.running().map(formatPico),
        billedUsd: billedPicoUsd.running().map((sum, column) => (areAllShown[column] ? formatPico(sum) : null)),
      }
    },
    snapshot: () => ({ sums: all.map(sums => sums.snapshot()), firstShown: firstShown.snapshot(), accounts }),
    merge: (snapshot, columnOf) => {
      for (const [index, sums] of all.entries()) sums.merge(snapshot.sums[index] ?? [], columnOf)
      firstShown.merge(snapshot.firstShown, columnOf)
      accounts += snapshot.accounts
    },
  }
}

/** A sum for each column, exact at any size. */
function createSums(timeline: Timeline) {
  let sums: bigint[] = []
  timeline.onHalving(() => {
    sums = Array.from(
      { length: Math.min(Math.ceil(sums.length / 2), maxColumns / 2) },
      (_, column) => (sums[2 * column] ?? 0n) + (sums[2 * column + 1] ?? 0n),
    )
  })
  const put = (column: number, amount: bigint) => {
    while (sums.length <= column) sums.push(0n)
    sums[column] = (sums[column] ?? 0n) + amount
  }
  return {
    put,
    /** The running totals at the end of each column. */
    running: (): readonly bigint[] => {
      let total = 0n
      return Array.from({ length: timeline.columns() }, (_, column) => {
        total += sums[column] ?? 0n
        return total
      })
    },
    snapshot: (): readonly bigint[] => [...sums],
    merge: (snapshot: readonly bigint[], columnOf: (theirs: number) => number) => {
      for (const [column, amount] of snapshot.entries()) put(columnOf(column), amount)
    },
  }
}
