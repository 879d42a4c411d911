import { isLost, latenessMs, type Observation, type Sink } from '../../observation/observation.ts'
import { isSystemStage, type Plan, type StagePlan, type Timing } from '../../plan/plan.ts'
import { addCount, eachBy, getOrAdd, type MergeRules, mergeFields, sum, sumCounts } from '../merge.ts'
import {
  createHistogram,
  emptyHistogram,
  type Histogram,
  type HistogramSnapshot,
  histogramSnapshots,
  type MutableHistogram,
  mergeHistograms,
  mergeHistogramsInto,
} from './histogram.ts'
import { type Slo, type SloOutcome, sloOutcome, unmeasuredTimings } from './slo.ts'
import { createStageClock, type StageClock, type StageClockSnapshot } from './stage-clock.ts'
import { createStallStats, mergeStalls, type StallStats, type StallStatsSnapshot } from './stall-stats.ts'
import {
  activeMs,
  gapsMs,
  gapTimings,
  isSuccess,
  outputTokens,
  type RunExtent,
  requestTimings,
  type Selection,
  timingMs,
} from './timings.ts'

/** A fold over observations. Memory is bounded by the calls and stages of the plan, not by the observations. */
export type RunMetrics = {
  readonly add: Sink
  /** As of now. System stages count only if selected by name. */
  readonly select: (selection: Selection) => RequestStats
  /** Everything, including system stages: for figures about Turnpike, not about the service. */
  readonly all: () => RequestStats
  /** One for each observed call and stage, stage by stage. */
  readonly cells: () => readonly MetricsCell[]
  readonly stages: Pick<StageClock, 'loadStartMs' | 'timeOf' | 'lastEndMs'>
  /** The stages in which the next request waits for a response. */
  readonly closedStages: readonly string[]
  /** The duration of the stages of a rate, in milliseconds; null: there are none. */
  readonly activeMs: (selection: Selection, extent: RunExtent) => number | null
  readonly snapshot: () => MetricsSnapshot
  readonly merge: (snapshot: MetricsSnapshot) => void
}

/** The state of a fold as plain data, for merging. */
export type MetricsSnapshot = {
  readonly cells: readonly { readonly call: string; readonly stage: string; readonly stats: RequestStatsSnapshot }[]
  readonly stages: StageClockSnapshot
}

export type MetricsCell = { readonly call: string; readonly stage: string; readonly stats: RequestStats }

/** Names that are not in the plan. Beyond `maxUnknownNames`, they share one cell. */
export const OTHER_NAME = '(other)'
const maxUnknownNames = 16

export function createMetrics(plan: Plan): RunMetrics {
  const cells = new Map<string, Map<string, MutableStats>>()
  const nameCall = boundNames(Object.keys(plan.calls))
  const nameStage = boundNames(plan.stages.map(stage => stage.name))

  const list = (): readonly MetricsCell[] => each((call, stage, { stats }) => ({ call, stage, stats }))

  const each = <Value>(of: (call: string, stage: string, cell: MutableStats) => Value): readonly Value[] =>
    [...cells].flatMap(([stage, calls]) => [...calls].map(([call, cell]) => of(call, stage, cell)))

  const cellOf = (o: Pick<Observation, 'call' | 'stage'>): MutableStats => {
    const known = cells.get(o.stage)?.get(o.call)
    if (known !== undefined) return known
    const stage = nameStage(o.stage)
    const call = nameCall(o.call)
    const ofStage = getOrAdd(cells, stage, () => new Map<string, MutableStats>())
    return getOrAdd(ofStage, call, () => createRequestStats(plan.slo[call] ?? {}))
  }

  const stages = createStageClock(plan)

  return {
    add: o => {
      cellOf(o).add(o)
      stages.add(o)
    },
    select: selection =>
      mergeStats(
        list()
          .filter(cell => isSelected(selection, cell))
          .map(cell => cell.stats),
      ),
    all: () => mergeStats(list().map(cell => cell.stats)),
    cells: list,
    stages,
    closedStages: plan.stages.filter(({ load }) => isClosed(load)).map(({ name }) => name),
    activeMs: (selection, extent) => activeMs(plan, selection, extent, stages),
    snapshot: () => ({
      cells: each((call, stage, cell) => ({ call, stage, stats: cell.snapshot() })),
      stages: stages.snapshot(),
    }),
    merge: snapshot => {
      for (const { stats, ...names } of snapshot.cells) cellOf(names).merge(stats)
      stages.merge(snapshot.stages)
    },
  }
}

const isClosed = ({ model }: StagePlan['load']): boolean => model === 'closed' || model === 'saturate'

function isSelected(selection: Selection, cell: { readonly call: string; readonly stage: string }): boolean {
  const inStage = selection.stage === null ? !isSystemStage(cell.stage) : cell.stage === selection.stage
  return inStage && (selection.call === null || cell.call === selection.call)
}

function boundNames(known: readonly string[]): (name: string) => string {
  const names = new Set(known)
  const limit = names.size + maxUnknownNames
  return name => {
    if (names.has(name)) return name
    if (names.size >= limit) return OTHER_NAME
    names.add(name)
    return name
  }
}

type Counts = {
  /** Requests handed to the transport: answered, failed and left. */
  readonly sent: number
  /** Complete responses, of any status. */
  readonly answered: number
  readonly failed: number
  /** The client left them on purpose before their response was complete. */
  readonly left: number
  /** Failed requests, except those whose connection broke before the first byte of a response. */
  readonly incomplete: number
  /** Arrivals that were due and never sent, except those that depended on a response that never came. */
  readonly dropped: number
  /** Arrivals without credentials; not included in `dropped`. */
  readonly skipped: number
  /** As measured; includes `doubtfullyGood`. */
  readonly good: number
  /** Good, and perhaps not without the errors of Turnpike. */
  readonly doubtfullyGood: number
  /** Not good, and perhaps good without the errors of Turnpike. */
  readonly doubtfullyMissed: number
  /** Complete 2xx responses that missed an SLO, even without the errors of Turnpike. */
  readonly missed: number
  /** Complete 2xx responses without a value for an SLO, neither good nor bad; their number for each timing. */
  readonly unmeasured: number
  readonly unmeasuredBy: ReadonlyMap<Timing, number>
  readonly statuses: ReadonlyMap<number, number>
  readonly failures: ReadonlyMap<string, number>
  /** Why arrivals were dropped. */
  readonly drops: ReadonlyMap<string, number>
  /** Of complete 2xx responses that state their tokens, and the number of these responses. */
  readonly outputTokens: number
  readonly respondsWithTokens: number
  /** How long all requests waited for their ends, and how much of it the longest stall of each took. */
  readonly waitedMs: number
  readonly stalledMs: number
}

/** Sums over a set of observations. */
export type RequestStats = Counts & {
  /** Of complete 2xx responses; lateness is of everything sent. Empty if there are none. */
  readonly timing: (timing: Timing) => Histogram
  /** Of complete 2xx responses. */
  readonly stalls: StallStats
}

/** Plain data, for merging. */
export type RequestStatsSnapshot = Counts & {
  readonly stalls: StallStatsSnapshot
  readonly histograms: ReadonlyMap<Timing, HistogramSnapshot>
}

/** Histograms are created on first use. */
export type MutableStats = {
  readonly stats: RequestStats
  readonly add: (o: Observation) => void
  readonly snapshot: () => RequestStatsSnapshot
  readonly merge: (snapshot: RequestStatsSnapshot) => void
}

/** Counts statuses beyond `maxStatuses` distinct ones. */
const OTHER_STATUS = 0
const maxStatuses = 32

/** `isRecorded`: the timings that get a histogram; by default all. */
export function createRequestStats(slo: Slo, isRecorded: (timing: Timing) => boolean = () => true): MutableStats {
  const ofRequest = requestTimings.filter(isRecorded)
  const ofGaps = gapTimings.filter(isRecorded)
  const recordsLateness = isRecorded('lateness')
  const histograms = new Map<Timing, MutableHistogram>()
  const stalls = createStallStats()
  const stats = emptyStats(timing => histograms.get(timing) ?? emptyHistogram, stalls.stats)
  const { statuses, failures, drops, unmeasuredBy } = stats

  const record = (timing: Timing, ms: number | null) => {
    if (ms !== null) getOrAdd(histograms, timing, createHistogram).record(ms)
  }

  const addOutcome = (o: Observation, outcome: SloOutcome) => {
    if (outcome === 'good' || outcome === 'doubtfully-good') stats.good++
    if (outcome === 'doubtfully-good') stats.doubtfullyGood++
    else if (outcome === 'doubtfully-missed') stats.doubtfullyMissed++
    else if (outcome === 'missed') stats.missed++
    else if (outcome === 'unmeasured') {
      stats.unmeasured++
      for (const timing of unmeasuredTimings(o, slo)) addCount(unmeasuredBy, timing)
    }
  }

  const addSuccess = (o: Observation) => {
    addOutcome(o, sloOutcome(o, slo))
    stalls.add(o)
    for (const timing of ofRequest) record(timing, timingMs(timing, o))
    for (const timing of ofGaps) for (const ms of gapsMs(timing, o) ?? []) record(timing, ms)
    const tokens = outputTokens(o)
    if (tokens === null) return
    stats.outputTokens += tokens
    stats.respondsWithTokens++
  }

  const add = (o: Observation) => {
    if (o.outcome.kind === 'dropped') {
      const { reason } = o.outcome
      if (reason === 'no-credentials') stats.skipped++
      if (reason === 'no-credentials' || reason === 'no-response') return
      stats.dropped++
      addCount(drops, reason)
      return
    }
    stats.sent++
    if (recordsLateness) record('lateness', latenessMs(o))
    if (o.sentMs !== null && o.endMs !== null) stats.waitedMs += o.endMs - o.sentMs
    stats.stalledMs += o.stalls?.longestMs ?? 0
    if (o.outcome.kind === 'failed') {
      stats.failed++
      if (!isLost(o)) stats.incomplete++
      addCount(failures, o.outcome.reason)
      return
    }
    if (o.outcome.kind === 'left') {
      stats.left++
      return
    }
    stats.answered++
    addStatus(statuses, o.outcome.status, 1)
    if (isSuccess(o)) addSuccess(o)
  }

  return {
    stats,
    add,
    snapshot: () => {
      const { timing: _, ...counts } = stats
      return {
        ...counts,
        stalls: stalls.snapshot(),
        histograms: histogramSnapshots(histograms),
      }
    },
    merge: snapshot => {
      mergeFields(stats, snapshot, countRules)
      stalls.merge(snapshot.stalls)
      mergeHistogramsInto(histograms, snapshot.histograms)
    },
  }
}

const emptyStats = (timing: RequestStats['timing'], stalls: StallStats) => ({
  sent: 0,
  answered: 0,
  failed: 0,
  left: 0,
  incomplete: 0,
  dropped: 0,
  skipped: 0,
  good: 0,
  doubtfullyGood: 0,
  doubtfullyMissed: 0,
  missed: 0,
  unmeasured: 0,
  unmeasuredBy: new Map<Timing, number>(),
  statuses: new Map<number, number>(),
  failures: new Map<string, number>(),
  drops: new Map<string, number>(),
  outputTokens: 0,
  respondsWithTokens: 0,
  waitedMs: 0,
  stalledMs: 0,
  timing,
  stalls,
})

const countRules: MergeRules<Counts, ReturnType<typeof emptyStats>> = {
  ...eachBy(sum, [
    'sent',
    'answered',
    'failed',
    'left',
    'incomplete',
    'dropped',
    'skipped',
    'good',
    'doubtfullyGood',
    'doubtfullyMissed',
    'missed',
    'unmeasured',
    'outputTokens',
    'respondsWithTokens',
    'waitedMs',
    'stalledMs',
  ]),
  statuses: (own, part) => {
    for (const [status, count] of part) addStatus(own, status, count)
    return own
  },
  failures: sumCounts,
  drops: sumCounts,
  unmeasuredBy: sumCounts,
}

export function mergeStats(parts: readonly RequestStats[]): RequestStats {
  const histograms = new Map<Timing, Histogram>()
  const timing = (name: Timing) =>
    getOrAdd(histograms, name, () => mergeHistograms(parts.map(part => part.timing(name))))
  const merged = emptyStats(timing, mergeStalls(parts.map(part => part.stalls)))
  for (const part of parts) mergeFields(merged, part, countRules)
  return merged
}

function addStatus(statuses: Map<number, number>, status: number, by: number): void {
  addCount(statuses, statuses.has(status) || statuses.size < maxStatuses ? status : OTHER_STATUS, by)
}

/** Ascending; the sum of the other statuses comes last. */
export function statusCounts(statuses: ReadonlyMap<number, number>): Readonly<Record<string, number>> {
  const known = [...statuses].filter(([status]) => status !== OTHER_STATUS).toSorted(([a], [b]) => a - b)
  const other = statuses.get(OTHER_STATUS)
  return Object.fromEntries([
    ...known.map(([status, count]) => [String(status), count] as const),
    ...(other === undefined ? [] : [['other', other] as const]),
  ])
}
