import type { Billing } from '../audits/results.ts'
import type { ClauseTally } from '../checks/docket.ts'
import type { Timing } from '../plan/plan.ts'
import type { Metrics } from './metrics.ts'
import type { ThresholdResult } from './thresholds.ts'

/** What a scrape reads, at the moment of the scrape. */
export type ExpositionSource = {
  readonly run: { readonly id: string; readonly scenario: string; readonly seed: number; readonly version: string }
  readonly metrics: Metrics
  readonly inFlight: () => number
  readonly billing: () => Pick<Billing, 'expectedCredits' | 'claimedCredits' | 'claimedUsd'>
  readonly tallies: () => readonly Pick<ClauseTally, 'id' | 'violated'>[]
  readonly unexpected429: () => number
  readonly thresholds: () => readonly ThresholdResult[]
}

export type Sample<Label extends string> = { readonly labels: Readonly<Record<Label, string>>; readonly value: number }

/** Doubling from a quarter of a millisecond to two minutes, in milliseconds. */
export const boundariesMs: readonly number[] = Array.from({ length: 20 }, (_, exponent) => 0.25 * 2 ** exponent)

export type Distribution = {
  readonly labels: { readonly call: string; readonly stage: string }
  /** In the order of `boundariesMs`, cumulative. */
  readonly counts: readonly number[]
  readonly count: number
  readonly sumSeconds: number
}

export function distributions(metrics: Metrics, timing: Timing): readonly Distribution[] {
  return metrics
    .cells()
    .map(({ call, stage, figures }) => ({ labels: { call, stage }, histogram: figures.timing(timing) }))
    .filter(({ histogram }) => histogram.count() > 0)
    .map(({ labels, histogram }) => ({
      labels,
      counts: histogram.countsUpTo(boundariesMs),
      count: histogram.count(),
      sumSeconds: histogram.sumMs() / 1000,
    }))
}

/** What was sent, by how it ended. A failed request has no status. */
export function requestSamples(metrics: Metrics): readonly Sample<'call' | 'stage' | 'outcome' | 'status_class'>[] {
  return metrics.cells().flatMap(({ call, stage, figures }) => {
    const byClass = new Map<string, number>()
    for (const [status, count] of figures.statuses) {
      const statusClass = status >= 100 && status < 600 ? `${Math.floor(status / 100)}xx` : 'other'
      byClass.set(statusClass, (byClass.get(statusClass) ?? 0) + count)
    }
    const answered = [...byClass].map(([status_class, value]) => ({
      labels: { call, stage, outcome: 'answered', status_class },
      value,
    }))
    const failed = { labels: { call, stage, outcome: 'failed', status_class: 'none' }, value: figures.failed }
    return figures.failed > 0 ? [...answered, failed] : answered
  })
}

export const droppedSamples = (metrics: Metrics): readonly Sample<'call' | 'stage'>[] =>
  metrics.cells().map(({ call, stage, figures }) => ({ labels: { call, stage }, value: figures.dropped }))

/** 1: it holds so far, 0: it is crossed; none while that is not established. */
export const thresholdSamples = (thresholds: readonly ThresholdResult[]): readonly Sample<'threshold'>[] =>
  thresholds
    .filter(({ verdict }) => verdict !== 'inconclusive')
    .map(({ expression, verdict }) => ({ labels: { threshold: expression }, value: verdict === 'pass' ? 1 : 0 }))
