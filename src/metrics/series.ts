import type { SpendListener } from '../audits/audit.ts'
import { latencyMs, latenessMs, type Observation } from '../observation/observation.ts'
import type { Plan } from '../plan/plan.ts'
import { isOwnStage } from './active-time.ts'
import { isSuccess } from './good.ts'
import { type HeatMap, heatOf } from './heat-map.ts'
import { createLimitLanes, type LaneFacts, type LimitLane } from './limit-lanes.ts'
import { createSpendTrack, type SpendFacts, type SpendSeries } from './spend-track.ts'
import {
  createTimeGrid,
  type Distribution,
  type TimeGrid,
  type TimeGridFacts,
  type TimesSeries,
  threeDigits,
} from './time-grid.ts'
import { createTimeline, type TimelineFacts, type Track } from './timeline.ts'
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

export type CallSeries = {
  readonly call: string
  readonly count: number
  readonly latencyMs: TimesSeries
  readonly ttftMs: TimesSeries | null
  readonly iclMs: TimesSeries | null
  readonly latencies: Distribution
}

export type SeriesFold = {
  readonly add: (o: Observation) => void
  /** Where the ledger says what was spent when. */
  readonly spend: SpendListener
  readonly series: () => Series
  readonly facts: () => SeriesFacts
  readonly absorb: (facts: SeriesFacts) => void
}

/** What a fold has come to, as plain data; another one can go on from there, or add up several. */
export type SeriesFacts = {
  readonly timeline: TimelineFacts
  readonly tracks: readonly Float64Array[]
  readonly calls: readonly {
    readonly call: string
    readonly count: number
    readonly latency: TimeGridFacts
    readonly ttft: TimeGridFacts | null
    readonly icl: TimeGridFacts | null
  }[]
  readonly spend: SpendFacts
  readonly lanes: readonly LaneFacts[]
  readonly loadStartMs: number
}

const mostCalls = 10
const otherCalls = '(other calls)'

type CallGrids = { count: number; readonly latency: TimeGrid; ttft: TimeGrid | null; icl: TimeGrid | null }

/** A fold over observations in bounded memory. */
export function createSeries(plan: Plan): SeriesFold {
  const timeline = createTimeline()
  const due = timeline.sums()
  const dropped = timeline.sums()
  const sent = timeline.sums()
  const answered = timeline.sums()
  const failed = timeline.sums()
  const refused = timeline.sums()
  const lateness = timeline.maxima()
  const tracks = [due, dropped, sent, answered, failed, refused, lateness]
  const lanes = createLimitLanes(timeline)
  const spend = createSpendTrack(timeline)
  const shown = shownCalls(plan)
  const calls = new Map<string, CallGrids>()
  const stageStartMs = new Map(plan.stages.map(stage => [stage.name, stage.startMs]))
  let loadStartMs = Number.POSITIVE_INFINITY

  function gridsOf(call: string): CallGrids {
    const name = shown.has(call) ? call : otherCalls
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
    spend,
    facts: () => ({
      timeline: timeline.facts(),
      tracks: tracks.map(track => track.facts()),
      calls: [...calls].map(([call, { count, latency, ttft, icl }]) => ({
        call,
        count,
        latency: latency.facts(),
        ttft: ttft?.facts() ?? null,
        icl: icl?.facts() ?? null,
      })),
      spend: spend.facts(),
      lanes: lanes.facts(),
      loadStartMs,
    }),
    absorb: facts => {
      const columnOf = timeline.absorb(facts.timeline)
      for (const [index, track] of tracks.entries()) track.absorb(facts.tracks[index] ?? none, columnOf)
      for (const { call, count, latency, ttft, icl } of facts.calls) {
        const grids = gridsOf(call)
        grids.count += count
        grids.latency.absorb(latency, columnOf)
        if (ttft !== null) grids.ttft = joined(grids.ttft, ttft)
        if (icl !== null) grids.icl = joined(grids.icl, icl)
      }
      spend.absorb(facts.spend, columnOf)
      lanes.absorb(facts.lanes, columnOf)
      loadStartMs = Math.min(loadStartMs, facts.loadStartMs)

      function joined(grid: TimeGrid | null, theirs: TimeGridFacts): TimeGrid {
        const whole = grid ?? createTimeGrid(timeline)
        whole.absorb(theirs, columnOf)
        return whole
      }
    },
    series: () => {
      const values = (track: Track) => Array.from({ length: timeline.columns() }, (_, column) => track.at(column))
      const ranked = [...calls].toSorted(([a, { count: ofA }], [b, { count: ofB }]) => ofB - ofA || byName(a, b))
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

const none = new Float64Array()

const byName = (a: string, b: string): number => (a < b ? -1 : 1)

/** The first calls of the plan; probes come last, for they are to be refused. */
function shownCalls({ calls }: Plan): ReadonlySet<string> {
  const names = Object.keys(calls)
  const probes = new Set(names.filter(name => calls[name]?.kind === 'probe'))
  return new Set([...names.filter(name => !probes.has(name)), ...probes].slice(0, mostCalls))
}
