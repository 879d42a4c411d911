import { trialLabels } from '../capacity/result.ts'
import { count, formatDuration, formatRate, formatRatio } from '../lib/format.ts'
import type { TrialResult } from './report.ts'

type Column = { readonly title: string; readonly text: (trial: TrialResult) => string }
type Columns = readonly [offered: Column, ...others: readonly Column[]]

/** What every form of a report shows of a trial, from left to right. */
export const trialColumns: Columns = [
  { title: 'offered', text: trial => formatRate(trial.offeredPerSecond) },
  { title: 'achieved', text: trial => formatRate(trial.achievedPerSecond) },
  { title: 'goodput', text: trial => formatRate(trial.goodputPerSecond) },
  { title: 'good', text: trial => formatRatio(trial.goodRatio) },
  { title: 'p50', text: trial => formatDuration(trial.latencyMs.p50) },
  { title: 'p95', text: trial => formatDuration(trial.latencyMs.p95) },
  { title: 'p99', text: trial => formatDuration(trial.latencyMs.p99) },
  { title: '503', text: trial => count(trial.atCapacity) },
  { title: '429', text: trial => count(trial.refused) },
  { title: 'piled up', text: trial => formatRate(trial.inFlightPerSecond) },
]

/** `held`, `confirm: held`, or `too many bad answers, 115/480` of a trial that was ended after so many of its arrivals. */
export function trialWords({ purpose, outcome, arrivals, planned }: TrialResult): string {
  const words = purpose === 'confirm' ? 'confirm: ' : ''
  const early = arrivals < planned ? `, ${count(arrivals)}/${count(planned)}` : ''
  return `${words}${trialLabels[outcome]}${early}`
}
