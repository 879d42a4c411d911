import type { Billing } from '../audits/results.ts'
import { latencyMs, latenessMs, type Observation } from '../observation/observation.ts'
import type { Plan } from '../plan/plan.ts'
import { isOwnStage } from './active-time.ts'
import { isSuccess } from './good.ts'
import { createLimitLanes, type LimitLane } from './limit-lanes.ts'
import { createSpendTrack, type SpendSeries } from './spend-track.ts'
import {
  createTimeGrid,
  type Distribution,
  lowestMs,
  perOctave,
  rows,
  type TimeGrid,
  type TimesSeries,
  threeDigits,
} from './time-grid.ts'
import { createTimeline, type Track } from './timeline.ts'
import { gapsMs, timingMs } from './timing-values.ts'

/**
 * A run over time, for pictures: column *i* of each list is from `i × stepMs` to the next, on the clock of the run. What
 * was due, and how long it took, stands where it was due; answers stand where they ended. Without the program's own calls.
 */
export type Series = {
  readonly stepMs: number
  readonly stages: readonly { readonly name: string; readonly startMs: number; readonly endMs: number }[]
  readonly due: readonly number[]
  readonly dropped: readonly number[]
  readonly sent: readonly number[]
  readonly answered: readonly number[]
  readonly failed: readonly number[]
  /** Answers with 429; they are among the answered. */
  readonly refused: readonly number[]
  /** The longest in each column. */
  readonly latenessMs: readonly number[]
  /** Calls with complete 2xx answers, those with most of them first. `null`: it has no such value. */
  readonly calls: readonly CallSeries[]
  /** Latencies of all calls: for each column, how many there were of each size. */
  readonly heat: HeatMap
  readonly spend: SpendSeries
  readonly limits: readonly LimitLane[]
}

/** Row *i* of a column counts what took at least `fromMs × 2^(i / perOctave)`, and less than the next row. */
export type HeatMap = {
  readonly stepMs: number
  readonly fromMs: number
  readonly perOctave: number
  readonly counts: readonly (readonly number[])[]
}

export type CallSeries = {
  readonly call: string
  readonly count: number
  readonly latencyMs: TimesSeries
  readonly ttftMs: TimesSeries | null
  readonly iclMs: TimesSeries | null
  readonly latencies: Distribution
}

export type SeriesFold = { readonly add: (o: Observation) => void; readonly series: () => Series }

const mostCalls = 10
const otherCalls = '(other calls)'
const mostHeatColumns = 120
const rowsOfHeat = 2

type CallGrids = { count: number; readonly latency: TimeGrid; ttft: TimeGrid | null; icl: TimeGrid | null }

/** A fold over observations in bounded memory. `ledger` says what had been spent by then. */
export function createSeries(plan: Plan, ledger: () => Billing): SeriesFold {
  const timeline = createTimeline()
  const due = timeline.sums()
  const dropped = timeline.sums()
  const sent = timeline.sums()
  const answered = timeline.sums()
  const failed = timeline.sums()
  const refused = timeline.sums()
  const lateness = timeline.maxima()
  const lanes = createLimitLanes(timeline)
  const spend = createSpendTrack(timeline, ledger)
  const calls = new Map<string, CallGrids>()
  const stageStartMs = new Map(plan.stages.map(stage => [stage.name, stage.startMs]))
  let loadStartMs = Number.POSITIVE_INFINITY

  function gridsOf(call: string): CallGrids {
    const known = calls.get(call)
    if (known !== undefined) return known
    const name = calls.size < mostCalls ? call : otherCalls
    const grids = calls.get(name) ?? { count: 0, latency: createTimeGrid(timeline), ttft: null, icl: null }
    calls.set(name, grids)
    return grids
  }

  function addTimes(o: Observation, dueColumn: number) {
    const latency = latencyMs(o)
    if (latency === null) return
    const grids = gridsOf(o.call)
    grids.count++
    grids.latency.add(dueColumn, latency)
    const ttft = timingMs('ttft', o)
    if (ttft === null) return
    grids.ttft ??= createTimeGrid(timeline)
    grids.ttft.add(dueColumn, ttft)
    for (const gap of gapsMs('icl', o) ?? []) {
      grids.icl ??= createTimeGrid(timeline)
      grids.icl.add(dueColumn, gap)
    }
  }

  return {
    add: o => {
      // The later instant first: it may make the columns wider, and then the other one is in another column.
      const endColumn = timeline.columnOf(Math.max(o.dueMs, o.endMs ?? o.dueMs))
      const dueColumn = timeline.columnOf(o.dueMs)
      if (endColumn < 0 || dueColumn < 0) return
      spend.reach(endColumn)
      if (isOwnStage(o.stage)) return
      const startMs = stageStartMs.get(o.stage)
      if (startMs !== undefined) loadStartMs = Math.min(loadStartMs, o.dueMs - startMs)
      due.put(dueColumn, 1)
      if (o.outcome.kind === 'dropped') return dropped.put(dueColumn, 1)
      if (o.sentMs !== null) sent.put(timeline.columnOf(o.sentMs), 1)
      lateness.put(dueColumn, latenessMs(o) ?? 0)
      lanes.add(o)
      if (o.outcome.kind === 'failed') return failed.put(endColumn, 1)
      answered.put(endColumn, 1)
      if (o.outcome.status === 429) refused.put(endColumn, 1)
      else if (isSuccess(o)) addTimes(o, dueColumn)
    },
    series: () => {
      const values = (track: Track) => Array.from({ length: timeline.columns() }, (_, column) => track.at(column))
      const ranked = [...calls].toSorted(([, a], [, b]) => b.count - a.count)
      const beganMs = Number.isFinite(loadStartMs) ? loadStartMs : 0
      return {
        stepMs: timeline.stepMs(),
        stages: plan.stages.map(({ name, startMs, durationMs }) => ({
          name,
          startMs: Math.round(beganMs + startMs),
          endMs: Math.round(beganMs + startMs + durationMs),
        })),
        due: values(due),
        dropped: values(dropped),
        sent: values(sent),
        answered: values(answered),
        failed: values(failed),
        refused: values(refused),
        latenessMs: values(lateness).map(threeDigits),
        calls: ranked.map(([call, { count, latency, ttft, icl }]) => ({
          call,
          count,
          latencyMs: latency.series(),
          ttftMs: ttft?.series() ?? null,
          iclMs: icl?.series() ?? null,
          latencies: latency.distribution(),
        })),
        heat: heatOf(
          ranked.map(([, { latency }]) => latency),
          timeline.columns(),
          timeline.stepMs(),
        ),
        spend: spend.series(),
        limits: lanes.lanes(),
      }
    },
  }
}

/** Wide columns and high rows, so that there is something in each. */
function heatOf(grids: readonly TimeGrid[], columns: number, stepMs: number): HeatMap {
  const across = Math.max(1, Math.ceil(columns / mostHeatColumns))
  const counts = Array.from({ length: Math.ceil(columns / across) }, (_, wide) =>
    Array.from({ length: rows / rowsOfHeat }, (_, high) => {
      let count = 0
      for (const grid of grids)
        for (let column = wide * across; column < Math.min(columns, (wide + 1) * across); column++)
          for (let row = high * rowsOfHeat; row < (high + 1) * rowsOfHeat; row++) count += grid.countAt(column, row)
      return count
    }),
  )
  const used = Array.from({ length: rows / rowsOfHeat }, (_, row) => counts.some(column => (column[row] ?? 0) > 0))
  const first = Math.max(0, used.indexOf(true))
  return {
    stepMs: stepMs * across,
    fromMs: threeDigits(lowestMs * 2 ** ((first * rowsOfHeat) / perOctave)),
    perOctave: perOctave / rowsOfHeat,
    counts: counts.map(column => column.slice(first, used.lastIndexOf(true) + 1)),
  }
}
