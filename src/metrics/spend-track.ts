import type { Billing } from '../audits/results.ts'
import { mostColumns, type Timeline } from './timeline.ts'

/** What the ledger had come to by the end of each column: decimals, from the beginning of the run. */
export type SpendSeries = {
  readonly expectedCredits: readonly string[]
  readonly claimedCredits: readonly string[]
  readonly expectedUsd: readonly string[]
  readonly claimedUsd: readonly string[]
  /** null as long as some caller was never shown a balance. */
  readonly billedUsd: readonly (string | null)[]
}

type Totals = Omit<Billing, 'discrepancies'>

export type SpendTrack = {
  /** Asks the ledger once a column, so that it costs next to nothing. */
  readonly reach: (column: number) => void
  readonly series: () => SpendSeries
}

const nothing: Totals = {
  expectedCredits: '0',
  expectedUsd: '0',
  claimedCredits: '0',
  claimedUsd: '0',
  billedUsd: null,
}

export function createSpendTrack(timeline: Timeline, ledger: () => Billing): SpendTrack {
  let samples: (Totals | undefined)[] = []
  let reached = 0
  timeline.onHalving(() => {
    // The later one of two says what had been spent by the end of both.
    samples = Array.from({ length: mostColumns / 2 }, (_, column) => samples[2 * column + 1] ?? samples[2 * column])
    reached = Math.floor(reached / 2)
  })
  const sample = () => {
    const { discrepancies: _, ...totals } = ledger()
    samples[reached] = totals
  }
  return {
    reach: column => {
      if (column <= reached) return
      sample()
      reached = column
    },
    series: () => {
      sample()
      let last = nothing
      const columns = Array.from({ length: timeline.columns() }, (_, column) => {
        last = samples[column] ?? last
        return last
      })
      return {
        expectedCredits: columns.map(totals => totals.expectedCredits),
        claimedCredits: columns.map(totals => totals.claimedCredits),
        expectedUsd: columns.map(totals => totals.expectedUsd),
        claimedUsd: columns.map(totals => totals.claimedUsd),
        billedUsd: columns.map(totals => totals.billedUsd),
      }
    },
  }
}
