import type { Billing } from '../../judge/audits/audit.ts'
import type { ClauseTally } from '../../judge/findings/findings.ts'
import type { GaugeViews } from '../../judge/metrics/gauges.ts'
import { type NativeHistogram, nativeHistogram } from '../../judge/metrics/log-buckets.ts'
import {
  type MetricsCell,
  mergeStats,
  OTHER_NAME,
  type RequestStats,
  type RunMetrics,
} from '../../judge/metrics/request-stats.ts'
import type { CapacityResult, LimitResult, ThresholdResult } from '../../judge/results.ts'
import type { Clock } from '../../lib/clock.ts'
import type { PushCounts, RunInfo } from '../../observation/log-lines.ts'
import type { Plan, Timing } from '../../plan/plan.ts'
import type { LiveMachine, LiveRun } from '../output.ts'
import { currentOfferedRate, loadElapsedMs } from '../progress-snapshot.ts'

/** The data of all metrics, read at scrape time. */
export type ExpositionSource = {
  /** Call before reading anything else; before it resolves, values may be a second old. */
  readonly catchUp: () => Promise<void>
  readonly run: { readonly id: string; readonly scenario: string; readonly seed: number; readonly version: string }
  readonly metrics: ExportedMetrics
  readonly meters: GaugeViews
  readonly inFlight: () => number
  /** The current stage, and its arrivals due per second; null if responses set the pace. */
  readonly stage: () => { readonly name: string; readonly offeredPerSecond: number | null }
  readonly billing: () => Pick<Billing, 'billedUsd' | 'discrepancies'>
  readonly tallies: () => readonly Pick<ClauseTally, 'id' | 'violated'>[]
  readonly limits: () => readonly LimitResult[]
  readonly thresholds: () => readonly ThresholdResult[]
  readonly capacity: () => readonly CapacityResult[]
  /** null: no output pushes. */
  readonly pushed: () => PushCounts | null
  /** The workers on other machines, in the order of their shards. */
  readonly machines: () => readonly LiveMachine[]
}

/** The exposition source of a live run. */
export function sourceOf(
  live: LiveRun,
  plan: Plan,
  info: RunInfo,
  clock: Clock,
  pushCounts: () => PushCounts | null,
): ExpositionSource {
  const { view, gauges, inFlight, stage } = live
  return {
    catchUp: live.refresh,
    run: { id: info.runId, scenario: plan.scenario, seed: plan.seed, version: info.version },
    metrics: inStableOrder({ cells: () => view().metrics.cells() }),
    meters: {
      charges: () => gauges().charges,
      balances: () => gauges().balances,
      remaining: () => gauges().remaining,
      blocks: () => gauges().blocks,
    },
    inFlight,
    stage: () => ({ name: stage(), offeredPerSecond: currentOfferedRate(plan, stage(), loadElapsedMs(live, clock)) }),
    billing: () => view().audits.billing(),
    tallies: () => view().findingLog.tallies(),
    limits: () => view().audits.limits(),
    thresholds: () => view().thresholds(),
    capacity: () => view().capacity(false),
    pushed: pushCounts,
    machines: live.machines,
  }
}

/** The stats that are exported: all cells, in a stable order. */
export type ExportedMetrics = Pick<RunMetrics, 'cells'>

export type Sample = { readonly labels: Readonly<Record<string, string>>; readonly value: number }

/**
 * Upper bounds of buckets in milliseconds, from a quarter of a millisecond to two minutes. The steps alternate between
 * a half and a third, so two steps double the bound.
 */
export const bucketBoundsMs: readonly number[] = Array.from(
  { length: 20 },
  (_, exponent) => 0.25 * 2 ** exponent,
).flatMap((ms, index, all) => (index === all.length - 1 ? [ms] : [ms, ms * 1.5]))

/** Maximum pairs of call and stage with their own series; later pairs share those of `OTHER_NAME`. */
export const maxExportedSeries = 64

/**
 * The same cells in the order of their first read, new cells last. A cell with its own series keeps them, so no counter
 * ever decreases.
 */
export function inStableOrder(metrics: ExportedMetrics): ExportedMetrics {
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

export function exportedSeries(metrics: ExportedMetrics): readonly MetricsCell[] {
  const cells = metrics.cells()
  if (cells.length <= maxExportedSeries) return cells
  const others = mergeStats(cells.slice(maxExportedSeries).map(({ stats }) => stats))
  return [...cells.slice(0, maxExportedSeries), { call: OTHER_NAME, stage: OTHER_NAME, stats: others }]
}

export type HistogramSeries = {
  readonly labels: { readonly call: string; readonly stage: string }
  /** In the order of `bucketBoundsMs`, cumulative. */
  readonly counts: readonly number[]
  readonly count: number
  readonly sumSeconds: number
  readonly native: () => NativeHistogram
}

export function histogramSeries(metrics: ExportedMetrics, timing: Timing): readonly HistogramSeries[] {
  return exportedSeries(metrics)
    .map(({ call, stage, stats }) => ({ labels: { call, stage }, histogram: stats.timing(timing) }))
    .filter(({ histogram }) => histogram.count() > 0)
    .map(({ labels, histogram }) => ({
      labels,
      counts: histogram.countsUpTo(bucketBoundsMs),
      count: histogram.count(),
      sumSeconds: histogram.sumMs() / 1000,
      native: () => nativeHistogram(histogram),
    }))
}

/** Requests sent, by outcome. A failed request has no status. */
export function requestSamples(metrics: ExportedMetrics): readonly Sample[] {
  return exportedSeries(metrics).flatMap(({ call, stage, stats }) => {
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

/** One value for each pair of call and stage. */
export const cellSamples = (metrics: ExportedMetrics, value: (stats: RequestStats) => number): readonly Sample[] =>
  exportedSeries(metrics).map(({ call, stage, stats }) => ({ labels: { call, stage }, value: value(stats) }))

/** The number of pairs of call and stage without their own series. */
export function overflowedSeries(metrics: ExportedMetrics): number {
  const cells = metrics.cells()
  const named = cells.slice(0, maxExportedSeries).filter(each => each.call === OTHER_NAME || each.stage === OTHER_NAME)
  return named.length + Math.max(0, cells.length - maxExportedSeries)
}

/** 1: met so far, 0: crossed; no sample if inconclusive. */
export const thresholdSamples = (thresholds: readonly ThresholdResult[]): readonly Sample[] =>
  thresholds
    .filter(({ verdict }) => verdict !== 'inconclusive')
    .map(({ expression, verdict }) => ({ labels: { threshold: expression }, value: verdict === 'pass' ? 1 : 0 }))

/** All metrics with one name. Counters never decrease. */
export type Family = {
  readonly name: string
  readonly kind: 'counter' | 'gauge'
  readonly help: string
  readonly labels: readonly string[]
  /** The current samples. Each has different labels. */
  readonly samples: () => readonly Sample[]
}

export const counter = (name: string, help: string, labels: readonly string[], samples: Family['samples']): Family => ({
  name,
  kind: 'counter',
  help,
  labels,
  samples,
})

export const gauge = (name: string, help: string, labels: readonly string[], samples: Family['samples']): Family => ({
  name,
  kind: 'gauge',
  help,
  labels,
  samples,
})
