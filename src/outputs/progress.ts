import { pino } from 'pino'
import type { CapacityResult } from '../judge/capacity/result.ts'
import { percentileMs } from '../judge/metrics/histogram.ts'
import type { RunMetrics } from '../judge/metrics/request-stats.ts'
import { statusCounts } from '../judge/metrics/request-stats.ts'
import { perSecond } from '../judge/metrics/timings.ts'
import type { Cancel, Clock } from '../lib/clock.ts'
import { count, formatDuration, formatRate, formatRatio, NO_VALUE, plural } from '../lib/format.ts'
import { clip } from '../lib/text-layout.ts'
import { oneLine } from '../lib/visible.ts'
import { isSystemStage, type Plan, type StagePlan } from '../plan/plan.ts'
import { rateAt, rateSegments } from '../plan/rate-curve.ts'
import type { LiveRun, Output } from './output.ts'

/** Maximum age of the shown progress. */
const refreshEveryMs = 1_000

/** Shows progress on a terminal or in a log. `log` writes a permanent line. */
export function createProgress(
  plan: Plan,
  options: Omit<ProgressWriterOptions, 'snapshot'>,
): Output & { readonly log: (line: string) => void } {
  const { clock, stream } = options
  let writer: ProgressWriter | null = null
  let cancelRefresh: Cancel = () => {}
  let isOpen = true
  const keepFresh = (live: LiveRun) => {
    const refresh = () => void live.refresh().then(() => isOpen && keepFresh(live))
    cancelRefresh = clock.at(clock.nowMs() + refreshEveryMs, refresh)
  }
  const stop = () => {
    isOpen = false
    cancelRefresh()
    writer?.stop()
    writer = null
  }
  return {
    log: line => (writer === null ? stream.write(`${line}\n`) : writer.log(line)),
    start: live => {
      keepFresh(live)
      writer = createProgressWriter({ ...options, snapshot: () => progressOf(plan, live, clock) })
    },
    finish: async () => stop(),
    close: async () => stop(),
  }
}

function progressOf(plan: Plan, live: LiveRun, clock: Clock): ProgressSnapshot {
  const { metrics, findingLog, audits, capacity } = live.view()
  return snapshotProgress({
    plan,
    metrics,
    stage: live.stage(),
    loadElapsedMs: loadElapsedMs(live, clock),
    inFlight: live.inFlight(),
    violations: findingLog.violations(),
    claimedUsd: audits.billing().claimedUsd,
    capacity: capacity(false),
  })
}

/** Milliseconds since the first stage started; 0 before. */
export const loadElapsedMs = ({ loadStartMs }: LiveRun, clock: Clock): number =>
  Math.max(0, clock.nowMs() - (loadStartMs() ?? clock.nowMs()))

/** A few lines for a terminal, clipped to its width. */
export function progressBlock(snapshot: ProgressSnapshot, columns: number): readonly string[] {
  const { inFlight, latencyP95Ms, ttftP95Ms, violations, claimedUsd } = snapshot
  const planned = snapshot.stage.planned
  const offered = planned === null ? NO_VALUE : formatRate(planned.offeredPerSecond)
  const achieved = planned === null ? NO_VALUE : formatRate(planned.achievedPerSecond)
  const lines = [
    stageLine(snapshot, columns),
    `rate ${offered} offered, ${achieved} answered   in flight ${count(inFlight)}`,
    `p95 latency ${formatDuration(latencyP95Ms)}, ttft ${formatDuration(ttftP95Ms)}   ${responses(snapshot)}`,
    `${plural(violations, 'violation')}   $${claimedUsd} spent`,
  ]
  return lines.map(line => clip(line, columns))
}

const BAR_WIDTH = 20

function stageLine({ scenario, stage, elapsedMs, totalMs }: ProgressSnapshot, columns: number): string {
  const { name, planned } = stage
  if (planned === null) return `${scenario} ${name}`
  const share = planned.durationMs === 0 ? 1 : planned.elapsedMs / planned.durationMs
  const done = Math.floor(share * BAR_WIDTH)
  const bar = columns < 60 ? '' : ` ${'█'.repeat(done)}${'░'.repeat(BAR_WIDTH - done)}`
  const left = formatDuration(Math.max(0, totalMs - elapsedMs))
  const of = `${planned.position}/${planned.of}`
  return `${scenario} ${of} ${name}${bar} ${formatRatio(Math.floor(share * 100) / 100)}   ${formatDuration(elapsedMs)} elapsed, ${left} left`
}

function responses({ statuses, failed, dropped }: ProgressSnapshot): string {
  const outcomes = [...Object.entries(statuses), ['failed', failed] as const, ['dropped', dropped] as const]
  return outcomes
    .filter(([, n]) => n > 0)
    .map(([outcome, n]) => `${outcome} × ${count(n)}`)
    .join(', ')
}

/** One line for a pipe or a CI log: `key=value`, without the keys that have no value. */
export function progressLine(snapshot: ProgressSnapshot): string {
  const { stage, statuses } = snapshot
  const fields: readonly (readonly [string, string | number | null])[] = [
    ['elapsed_s', Math.round(snapshot.elapsedMs / 1000)],
    ['remaining_s', Math.round((snapshot.totalMs - snapshot.elapsedMs) / 1000)],
    ['stage', stage.name],
    ['offered_per_s', stage.planned?.offeredPerSecond ?? null],
    ['answered_per_s', stage.planned?.achievedPerSecond ?? null],
    ['in_flight', snapshot.inFlight],
    ['sent', snapshot.sent],
    ['failed', snapshot.failed],
    ['dropped', snapshot.dropped],
    ...Object.entries(statuses).map(([status, n]) => [`status_${status}`, n] as const),
    ['latency_p95_ms', snapshot.latencyP95Ms],
    ['ttft_p95_ms', snapshot.ttftP95Ms],
    ['violations', snapshot.violations],
    ['spent_usd', snapshot.claimedUsd],
  ]
  return fields
    .filter(([, value]) => value !== null)
    .map(([key, value]) => `${key}=${typeof value === 'number' ? Number(value.toFixed(2)) : quoted(String(value))}`)
    .join(' ')
}

const quoted = (text: string): string => (/[\s"=]/.test(text) ? JSON.stringify(oneLine(text)) : oneLine(text))

/** The state of a run at one instant. */
export type ProgressSnapshot = {
  readonly scenario: string
  readonly stage: StageProgress
  /** Since the first stage started. */
  readonly elapsedMs: number
  readonly totalMs: number
  readonly inFlight: number
  readonly sent: number
  readonly failed: number
  readonly dropped: number
  readonly statuses: Readonly<Record<string, number>>
  readonly latencyP95Ms: number | null
  readonly ttftP95Ms: number | null
  readonly violations: number
  /** Decimal. */
  readonly claimedUsd: string
}

/** Before and after the stages, as in `(opening)`, only the name is known. */
export type StageProgress = {
  readonly name: string
  readonly planned: null | {
    /** From 1. */
    readonly position: number
    readonly of: number
    readonly elapsedMs: number
    readonly durationMs: number
    /** Arrivals due per second now; in a search, those of the latest trial. null if responses set the pace. */
    readonly offeredPerSecond: number | null
    /** Complete responses per second, over the stage so far. */
    readonly achievedPerSecond: number | null
  }
}

type Search = Pick<CapacityResult, 'stage' | 'ratePerSecond' | 'trials'>

export type ProgressSource = {
  readonly plan: Plan
  readonly metrics: RunMetrics
  readonly stage: string
  /** Since the first stage started; 0 before. */
  readonly loadElapsedMs: number
  readonly inFlight: number
  readonly violations: number
  readonly claimedUsd: string
  readonly capacity: readonly Search[]
}

export function snapshotProgress(source: ProgressSource): ProgressSnapshot {
  const { plan, metrics, inFlight, violations, claimedUsd, loadElapsedMs } = source
  const run = metrics.select({ call: null, stage: null })
  const totalMs = plannedStages(plan).reduce((latest, stage) => Math.max(latest, stage.startMs + stage.durationMs), 0)
  return {
    scenario: plan.scenario,
    stage: stageProgress(source),
    elapsedMs: Math.min(loadElapsedMs, totalMs),
    totalMs,
    inFlight,
    sent: run.sent,
    failed: run.failed,
    dropped: run.dropped,
    statuses: statusCounts(run.statuses),
    latencyP95Ms: percentileMs(run.timing('latency'), 95),
    ttftP95Ms: percentileMs(run.timing('ttft'), 95),
    violations,
    claimedUsd,
  }
}

function stageProgress({ plan, metrics, capacity, stage: name, loadElapsedMs }: ProgressSource): StageProgress {
  const stages = plannedStages(plan)
  const index = stages.findIndex(stage => stage.name === name)
  const stage = stages[index]
  if (stage === undefined) return { name, planned: null }
  const elapsedMs = stageElapsedMs(stage, loadElapsedMs)
  const { answered } = metrics.select({ call: null, stage: name })
  const search = capacity.find(each => each.stage === name)
  return {
    name,
    planned: {
      position: index + 1,
      of: stages.length,
      elapsedMs,
      durationMs: stage.durationMs,
      offeredPerSecond: search === undefined ? offeredPerSecond(stage, elapsedMs) : triedPerSecond(search),
      achievedPerSecond: perSecond(answered, elapsedMs > 0 ? elapsedMs : null),
    },
  }
}

/** A search is over once a rate is confirmed; before its first response the rate is not known. */
const triedPerSecond = ({ ratePerSecond, trials }: Search): number | null =>
  ratePerSecond === null ? (trials.at(-1)?.offeredPerSecond ?? null) : 0

/** Arrivals due per second; null if responses set the pace; 0 before and after the stages. */
export function currentOfferedRate(plan: Plan, stageName: string, loadElapsedMs: number): number | null {
  const stage = plannedStages(plan).find(({ name }) => name === stageName)
  return stage === undefined ? 0 : offeredPerSecond(stage, stageElapsedMs(stage, loadElapsedMs))
}

const stageElapsedMs = ({ startMs, durationMs }: StagePlan, loadElapsedMs: number): number =>
  Math.min(durationMs, Math.max(0, loadElapsedMs - startMs))

const plannedStages = (plan: Plan): readonly StagePlan[] => plan.stages.filter(stage => !isSystemStage(stage.name))

function offeredPerSecond({ load, durationMs }: StagePlan, elapsedMs: number): number | null {
  if (load.model !== 'open') return null
  const { shape } = load
  if (shape.kind === 'recorded') return (load.mix.reduce((sum, [, count]) => sum + count, 0) * 1000) / durationMs
  if (shape.kind === 'burst') return (shape.size * 1000) / Math.min(shape.everyMs, durationMs)
  const segment = rateSegments(shape, durationMs)?.findLast(({ startMs }) => startMs <= elapsedMs)
  return segment === undefined ? 0 : rateAt(segment, elapsedMs)
}

export type ProgressWriter = {
  /** Writes a permanent line above the redrawn block. */
  readonly log: (line: string) => void
  /** Erases the block and shows the cursor again. May be called more than once. */
  readonly stop: () => void
}

export type ProgressWriterOptions = {
  readonly stream: { readonly write: (text: string) => unknown }
  /** Whether the stream is a terminal with redrawable lines. Otherwise a plain line is written every five seconds. */
  readonly interactive: boolean
  /** Read for each redraw, because a terminal may be resized. */
  readonly columns: () => number
  readonly clock: Clock
  readonly snapshot: () => ProgressSnapshot
}

/** Four times per second, because each redraw takes the event loop as long as a few requests. */
const REDRAW_MS = 250
const PLAIN_LINE_MS = 5000

const HIDE_CURSOR = '\u001b[?25l'
const SHOW_CURSOR = '\u001b[?25h'
const CLEAR_BELOW = '\u001b[0J'

export function createProgressWriter(options: ProgressWriterOptions): ProgressWriter {
  return options.interactive ? redrawing(options) : plain(options)
}

function redrawing({ stream, columns, clock, snapshot }: ProgressWriterOptions): ProgressWriter {
  let drawn = 0
  let stopped = false
  // One write per redraw, so a terminal never shows half a block. The last column stays empty: a terminal that wraps
  // there would have one line more than `drawn`.
  const draw = (above: string) => {
    const block = progressBlock(snapshot(), Math.max(1, columns() - 1))
    stream.write(`${erased(drawn)}${above}${block.map(line => `${line}\n`).join('')}`)
    drawn = block.length
  }

  stream.write(HIDE_CURSOR)
  draw('')
  const cancel = every(clock, REDRAW_MS, () => draw(''))

  return {
    log: line => (stopped ? stream.write(`${line}\n`) : draw(`${line}\n`)),
    stop: () => {
      if (stopped) return
      stopped = true
      cancel()
      stream.write(`${erased(drawn)}${SHOW_CURSOR}`)
    },
  }
}

function plain({ stream, clock, snapshot }: ProgressWriterOptions): ProgressWriter {
  const stop = every(clock, PLAIN_LINE_MS, () => stream.write(`${progressLine(snapshot())}\n`))
  return { log: line => stream.write(`${line}\n`), stop }
}

const erased = (lines: number): string => (lines === 0 ? '' : `\u001b[${lines}A\r${CLEAR_BELOW}`)

function every(clock: Clock, ms: number, work: () => void): Cancel {
  let cancel = clock.at(clock.nowMs() + ms, again)
  function again() {
    // Starts from now, not from the due time, so there is no catching up on redraws after a stall.
    cancel = clock.at(clock.nowMs() + ms, again)
    work()
  }
  return () => cancel()
}

/** Receives progress and messages, but never secrets or reports. */
export type LineWriter = { readonly write: (text: string) => unknown }

/** Writes each text as one JSON object to stderr, with level and time, for programs that collect logs. */
export function createJsonLog(): LineWriter {
  const destination = pino.destination({ dest: 2, sync: true })
  // A full or closed stderr changes nothing else.
  destination.on('error', () => {})
  const logger = pino({ base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination)
  return { write: text => logger.info(text.trimEnd()) }
}
