import type { Contract } from '../../contract/contract.ts'
import { documentedContract } from '../../contract/documented.ts'
import { isReadSlowly, latencyMs, latenessMs, type Observation } from '../../observation/observation.ts'
import { isProbe, isSystemStage, type Plan } from '../../plan/plan.ts'
import type { SpendListener } from '../audits/audit.ts'
import {
  createLatencyGrid,
  type Heatmap,
  heatmapOf,
  type LatencyDistribution,
  type LatencyGrid,
  type LatencyGridSnapshot,
  roundTo3Digits,
  type TimesSeries,
} from './latency-grid.ts'
import { createLimitSeries, type LimitSeries, type LimitSeriesSnapshot } from './limit-series.ts'
import { createSpendSeries, type SpendSeries, type SpendSnapshot } from './spend-series.ts'
import { createStageClock, type StageClockSnapshot } from './stage-clock.ts'
import { createTimeline, maxLiveColumns, type TimelineSnapshot, type TimeRow } from './timeline.ts'
import { gapsMs, isSuccess, timingMs } from './timings.ts'

/**
 * A run over time, for charts: column *i* of each list is from `i × stepMs` to the next, on the clock of the run. Arrivals
 * and latencies are in the column of the due time, responses in the column of their end. System calls are left out.
 */
export type Series = {
  readonly stepMs: number
  readonly stages: readonly { readonly name: string; readonly startMs: number; readonly endMs: number }[]
  readonly due: readonly number[]
  readonly dropped: readonly number[]
  readonly sent: readonly number[]
  readonly answered: readonly number[]
  readonly failed: readonly number[]
  /** Responses with 429; included in `answered`. */
  readonly refused: readonly number[]
  /** The maximum of each column. */
  readonly latenessMs: readonly number[]
  /** Calls with complete 2xx responses, by descending count. null: the call has no such times. */
  readonly calls: readonly CallSeries[]
  /** Latencies of all calls: for each column, the number of each size. */
  readonly heatmap: Heatmap
  readonly spend: SpendSeries
  readonly limits: readonly LimitSeries[]
}

type CallSeries = {
  readonly call: string
  readonly count: number
  readonly latencyMs: TimesSeries
  readonly ttftMs: TimesSeries | null
  readonly iclMs: TimesSeries | null
  readonly latencies: LatencyDistribution
}

type SeriesFold = {
  readonly add: (o: Observation) => void
  /** The ledger reports spending here. */
  readonly spend: SpendListener
  readonly series: () => Series
  readonly snapshot: () => SeriesSnapshot
  readonly merge: (snapshot: SeriesSnapshot) => void
}

/** The state of a fold as plain data, for merging. */
export type SeriesSnapshot = {
  readonly timeline: TimelineSnapshot
  readonly rows: readonly Float64Array[]
  readonly calls: readonly {
    readonly call: string
    readonly count: number
    readonly latency: LatencyGridSnapshot
    readonly ttft: LatencyGridSnapshot | null
    readonly icl: LatencyGridSnapshot | null
  }[]
  readonly spend: SpendSnapshot
  readonly limits: readonly LimitSeriesSnapshot[]
  readonly stages: StageClockSnapshot
}

const maxCalls = 10
const otherCalls = '(other calls)'

type CallGrids = { count: number; readonly latency: LatencyGrid; ttft: LatencyGrid | null; icl: LatencyGrid | null }

/** A smaller snapshot of the same run: its columns are wide enough for a live view. */
export function coarseSnapshot(plan: Plan, snapshot: SeriesSnapshot): SeriesSnapshot {
  const coarse = createLiveSeries(plan)
  coarse.merge(snapshot)
  return coarse.snapshot()
}

/** For merging coarse snapshots. */
export const createLiveSeries = (plan: Plan): SeriesFold =>
  createSeries(plan, documentedContract, createTimeline(maxLiveColumns))

/** A fold over observations in bounded memory. */
export function createSeries(
  plan: Plan,
  contract: Pick<Contract, 'limits'> = documentedContract,
  timeline = createTimeline(),
): SeriesFold {
  const due = timeline.sums()
  const dropped = timeline.sums()
  const sent = timeline.sums()
  const answered = timeline.sums()
  const failed = timeline.sums()
  const refused = timeline.sums()
  const lateness = timeline.maxima()
  const rows = [due, dropped, sent, answered, failed, refused, lateness]
  const limits = createLimitSeries(timeline, contract)
  const spend = createSpendSeries(timeline)
  const shown = shownCalls(plan)
  const calls = new Map<string, CallGrids>()
  const stages = createStageClock(plan)

  function gridsOf(call: string): CallGrids {
    const name = shown.has(call) ? call : otherCalls
    const grids = calls.get(name) ?? { count: 0, latency: createLatencyGrid(timeline), ttft: null, icl: null }
    calls.set(name, grids)
    return grids
  }

  function addTimes(o: Observation, dueColumn: number) {
    const latency = latencyMs(o)
    if (latency === null || isReadSlowly(o)) return
    const grids = gridsOf(o.call)
    grids.count++
    grids.latency.add(dueColumn, latency)
    const ttft = timingMs('ttft', o)
    if (ttft === null) return
    grids.ttft ??= createLatencyGrid(timeline)
    grids.ttft.add(dueColumn, ttft)
    for (const gap of gapsMs('icl', o) ?? []) {
      grids.icl ??= createLatencyGrid(timeline)
      grids.icl.add(dueColumn, gap)
    }
  }

  return {
    add: o => {
      // The later instant first: it may widen the columns, which changes the column of the earlier one.
      const endColumn = timeline.columnOf(Math.max(o.dueMs, o.endMs ?? o.dueMs))
      const dueColumn = timeline.columnOf(o.dueMs)
      if (endColumn < 0 || dueColumn < 0) return
      if (isSystemStage(o.stage)) return
      stages.add(o)
      due.put(dueColumn, 1)
      if (o.outcome.kind === 'dropped') return dropped.put(dueColumn, 1)
      if (o.sentMs !== null) sent.put(timeline.columnOf(o.sentMs), 1)
      lateness.put(dueColumn, latenessMs(o) ?? 0)
      limits.add(o)
      if (o.outcome.kind === 'failed') return failed.put(endColumn, 1)
      if (o.outcome.kind === 'left') return
      answered.put(endColumn, 1)
      if (o.outcome.status === 429) refused.put(endColumn, 1)
      else if (isSuccess(o)) addTimes(o, dueColumn)
    },
    spend,
    snapshot: () => ({
      timeline: timeline.snapshot(),
      rows: rows.map(row => row.snapshot()),
      calls: [...calls].map(([call, { count, latency, ttft, icl }]) => ({
        call,
        count,
        latency: latency.snapshot(),
        ttft: ttft?.snapshot() ?? null,
        icl: icl?.snapshot() ?? null,
      })),
      spend: spend.snapshot(),
      limits: limits.snapshot(),
      stages: stages.snapshot(),
    }),
    merge: snapshot => {
      const columnOf = timeline.merge(snapshot.timeline)
      for (const [index, row] of rows.entries()) row.merge(snapshot.rows[index] ?? none, columnOf)
      for (const { call, count, latency, ttft, icl } of snapshot.calls) {
        const grids = gridsOf(call)
        grids.count += count
        grids.latency.merge(latency, columnOf)
        if (ttft !== null) grids.ttft = joined(grids.ttft, ttft)
        if (icl !== null) grids.icl = joined(grids.icl, icl)
      }
      spend.merge(snapshot.spend, columnOf)
      limits.merge(snapshot.limits, columnOf)
      stages.merge(snapshot.stages)

      function joined(grid: LatencyGrid | null, theirs: LatencyGridSnapshot): LatencyGrid {
        const joint = grid ?? createLatencyGrid(timeline)
        joint.merge(theirs, columnOf)
        return joint
      }
    },
    series: () => {
      const values = (row: TimeRow) => Array.from({ length: timeline.columns() }, (_, column) => row.at(column))
      const ranked = [...calls].toSorted(([a, { count: ofA }], [b, { count: ofB }]) => ofB - ofA || byName(a, b))
      return {
        stepMs: timeline.stepMs(),
        stages: plan.stages.map(({ name }) => {
          const { startMs, endMs } = stages.timeOf(name)
          return { name, startMs: Math.round(startMs), endMs: Math.round(endMs) }
        }),
        due: values(due),
        dropped: values(dropped),
        sent: values(sent),
        answered: values(answered),
        failed: values(failed),
        refused: values(refused),
        latenessMs: values(lateness).map(roundTo3Digits),
        calls: ranked.map(([call, { count, latency, ttft, icl }]) => ({
          call,
          count,
          latencyMs: latency.series(),
          ttftMs: ttft?.series() ?? null,
          iclMs: icl?.series() ?? null,
          latencies: latency.distribution(),
        })),
        heatmap: heatmapOf(
          ranked.map(([, { latency }]) => latency),
          timeline.columns(),
          timeline.stepMs(),
        ),
        spend: spend.series(),
        limits: limits.series(),
      }
    },
  }
}

const none = new Float64Array()

const byName = (a: string, b: string): number => (a < b ? -1 : 1)

/** The first calls of the plan; probes come last, because their responses are refusals. */
function shownCalls({ calls }: Plan): ReadonlySet<string> {
  const names = Object.keys(calls)
  const probes = new Set(names.filter(name => isProbe(calls[name])))
  return new Set([...names.filter(name => !probes.has(name)), ...probes].slice(0, maxCalls))
}
