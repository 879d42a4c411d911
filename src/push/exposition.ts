import type { Billing, LimitResult } from '../audits/audit.ts'
import type { CapacityResult } from '../capacity/result.ts'
import type { ClauseTally } from '../checks/findings.ts'
import type { GaugeViews } from '../metrics/gauges.ts'
import { type NativeHistogram, nativeHistogram } from '../metrics/log-buckets.ts'
import {
  type MetricsCell,
  mergeStats,
  OTHER_NAME,
  type RequestStats,
  type RunMetrics,
} from '../metrics/request-stats.ts'
import type { PushTally } from '../observation/log.ts'
import type { Timing } from '../plan/plan.ts'
import type { ThresholdResult } from '../thresholds.ts'

/** What a scrape reads, at the moment of the scrape. */
export type ExpositionSource = {
  /** To be called before anything is read: what is read before it resolves may be a little old. */
  readonly catchUp: () => Promise<void>
  readonly run: { readonly id: string; readonly scenario: string; readonly seed: number; readonly version: string }
  readonly metrics: ShownMetrics
  readonly meters: GaugeViews
  readonly inFlight: () => number
  /** The stage that is under way, and what it is to send; null where the answers set the pace. */
  readonly stage: () => { readonly name: string; readonly offeredPerSecond: number | null }
  readonly billing: () => Pick<Billing, 'billedUsd' | 'discrepancies'>
  readonly tallies: () => readonly Pick<ClauseTally, 'id' | 'violated'>[]
  readonly limits: () => readonly LimitResult[]
  readonly thresholds: () => readonly ThresholdResult[]
  readonly capacity: () => readonly CapacityResult[]
  /** null: nothing is pushed. */
  readonly pushed: () => PushTally | null
}

/** What a scrape shows of the stats: all cells, in a steady order. */
export type ShownMetrics = Pick<RunMetrics, 'cells'>

export type Sample = { readonly labels: Readonly<Record<string, string>>; readonly value: number }

/**
 * Upper ends of buckets in milliseconds: a quarter of a millisecond to two minutes, in steps of a half and of a third,
 * so that two of them double.
 */
export const boundariesMs: readonly number[] = Array.from(
  { length: 20 },
  (_, exponent) => 0.25 * 2 ** exponent,
).flatMap((ms, index, all) => (index === all.length - 1 ? [ms] : [ms, ms * 1.5]))

/** So many pairs of call and stage have series of their own; what comes later shares those of `OTHER_NAME`. */
export const mostShownCells = 64

export type ShownCell = { readonly call: string; readonly stage: string; readonly stats: RequestStats }

/**
 * The same cells in the order in which they were first read, new ones last: so that one that was shown by itself stays so,
 * and no count ever falls.
 */
export function inSteadyOrder(metrics: ShownMetrics): ShownMetrics {
  const ranks = new Map<string, Map<string, number>>()
  let count = 0
  const rankOf = ({ stage, call }: MetricsCell): number => {
    const ofStage = ranks.get(stage) ?? new Map<string, number>()
    const rank = ofStage.get(call) ?? count++
    ranks.set(stage, ofStage.set(call, rank))
    return rank
  }
  return {
    cells: () =>
      metrics
        .cells()
        .map(cell => ({ cell, rank: rankOf(cell) }))
        .toSorted((a, b) => a.rank - b.rank)
        .map(({ cell }) => cell),
  }
}

export function shownCells(metrics: ShownMetrics): readonly ShownCell[] {
  const cells = metrics.cells()
  if (cells.length <= mostShownCells) return cells
  const others = mergeStats(cells.slice(mostShownCells).map(({ stats }) => stats))
  return [...cells.slice(0, mostShownCells), { call: OTHER_NAME, stage: OTHER_NAME, stats: others }]
}

export type Distribution = {
  readonly labels: { readonly call: string; readonly stage: string }
  /** In the order of `boundariesMs`, cumulative. */
  readonly counts: readonly number[]
  readonly count: number
  readonly sumSeconds: number
  readonly native: () => NativeHistogram
}

export function distributions(metrics: ShownMetrics, timing: Timing): readonly Distribution[] {
  return shownCells(metrics)
    .map(({ call, stage, stats }) => ({ labels: { call, stage }, histogram: stats.timing(timing) }))
    .filter(({ histogram }) => histogram.count() > 0)
    .map(({ labels, histogram }) => ({
      labels,
      counts: histogram.countsUpTo(boundariesMs),
      count: histogram.count(),
      sumSeconds: histogram.sumMs() / 1000,
      native: () => nativeHistogram(histogram),
    }))
}

/** What was sent, by how it ended. A failed request has no status. */
export function requestSamples(metrics: ShownMetrics): readonly Sample[] {
  return shownCells(metrics).flatMap(({ call, stage, stats }) => {
    const byClass = new Map<string, number>()
    for (const [status, count] of stats.statuses) {
      const statusClass = status >= 100 && status < 600 ? `${Math.floor(status / 100)}xx` : 'other'
      byClass.set(statusClass, (byClass.get(statusClass) ?? 0) + count)
    }
    const answered = [...byClass].map(([status_class, value]) => ({
      labels: { call, stage, outcome: 'answered', status_class },
      value,
    }))
    const failed = { labels: { call, stage, outcome: 'failed', status_class: 'none' }, value: stats.failed }
    return stats.failed > 0 ? [...answered, failed] : answered
  })
}

/** One number of each pair of call and stage. */
export const cellSamples = (metrics: ShownMetrics, value: (stats: RequestStats) => number): readonly Sample[] =>
  shownCells(metrics).map(({ call, stage, stats }) => ({ labels: { call, stage }, value: value(stats) }))

/** Pairs of call and stage that are not shown by their names. */
export function mergedCells(metrics: ShownMetrics): number {
  const cells = metrics.cells()
  const nameless = cells.slice(0, mostShownCells).filter(each => each.call === OTHER_NAME || each.stage === OTHER_NAME)
  return nameless.length + Math.max(0, cells.length - mostShownCells)
}

/** 1: it holds so far, 0: it is crossed; none while that is not established. */
export const thresholdSamples = (thresholds: readonly ThresholdResult[]): readonly Sample[] =>
  thresholds
    .filter(({ verdict }) => verdict !== 'inconclusive')
    .map(({ expression, verdict }) => ({ labels: { threshold: expression }, value: verdict === 'pass' ? 1 : 0 }))
