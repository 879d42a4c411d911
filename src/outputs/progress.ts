import { stripVTControlCharacters } from 'node:util'
import { pino } from 'pino'
import type { RunView } from '../judge/judge.ts'
import type { Cancel, Clock } from '../lib/clock.ts'
import { memoizeLast } from '../lib/memoize.ts'
import type { Page } from '../lib/text-layout.ts'
import type { Plan } from '../plan/plan.ts'
import type { LiveRun, Output } from './output.ts'
import { eventsBetween, fieldsLine, type ProgressFields, progressBlock, progressFields } from './progress-block.ts'
import {
  createRecentRate,
  loadElapsedMs,
  type ProgressReading,
  type ProgressSnapshot,
  progressAt,
  type RecentRate,
  readProgress,
} from './progress-snapshot.ts'

/** Maximum age of the shown progress. */
const refreshEveryMs = 1_000

/**
 * Shows progress on a terminal or in a log: the state of the run, and each clause and each trial of a search as it comes.
 * `log` writes a permanent line.
 */
export function createProgress(
  plan: Plan,
  options: Omit<ProgressWriterOptions, 'snapshot'>,
): Output & { readonly log: (line: string) => void } {
  const { clock, stream } = options
  let shown: { readonly writer: ProgressWriter; readonly news: () => void } | null = null
  let cancelRefresh: Cancel = () => {}
  let isOpen = true
  const keepFresh = (live: LiveRun, news: () => void) => {
    const refresh = () =>
      void live.refresh().then(() => {
        if (!isOpen) return
        news()
        keepFresh(live, news)
      })
    cancelRefresh = clock.at(clock.nowMs() + refreshEveryMs, refresh)
  }
  const stop = () => {
    isOpen = false
    cancelRefresh()
    shown?.writer.stop()
    shown = null
  }
  return {
    log: line => (shown === null ? stream.write(`${line}\n`) : shown.writer.log(line)),
    start: live => {
      const snapshot = snapshotsOf(plan, live, clock)
      const writer = createProgressWriter({ ...options, snapshot })
      let before: ProgressSnapshot | null = null
      const news = () => {
        const now = snapshot()
        for (const { text, fields } of eventsBetween(before, now, { color: options.interactive && options.color }))
          writer.log(text, fields)
        before = now
      }
      shown = { writer, news }
      keepFresh(live, news)
    },
    finish: async () => {
      shown?.news()
      stop()
    },
    close: async () => stop(),
  }
}

/** The state of a live run at each call. The view is read only if the workers were polled since the last call. */
export function snapshotsOf(plan: Plan, live: LiveRun, clock: Clock): () => ProgressSnapshot {
  const recent = createRecentRate()
  const read = memoizeLast((view: RunView) => readingOf(view, live, clock, recent))
  return () => progressAt(plan, read(live.view()), loadElapsedMs(live, clock))
}

function readingOf(
  { metrics, findingLog, audits, capacity }: RunView,
  live: LiveRun,
  clock: Clock,
  recent: RecentRate,
): ProgressReading {
  const stage = live.stage()
  recent.add(clock.nowMs(), stage, metrics.select({ call: null, stage }).answered)
  return readProgress({
    metrics,
    stage,
    inFlight: live.inFlight(),
    tallies: findingLog.tallies(),
    findings: findingLog.findings(),
    claimedUsd: audits.billing().claimedUsd,
    capacity: capacity(false),
    achievedPerSecond: recent.perSecond(),
    workers: live.machines(),
  })
}

export type ProgressWriter = {
  /** Writes a permanent line, on a terminal above the redrawn block. */
  readonly log: (line: string, fields?: ProgressFields) => void
  /** Erases the block and shows the cursor again. May be called more than once. */
  readonly stop: () => void
}

export type ProgressWriterOptions = {
  readonly stream: LineWriter
  /** Whether the stream is a terminal with redrawable lines. Otherwise a plain line is written every five seconds. */
  readonly interactive: boolean
  /** The columns and rows of the terminal. Read for each redraw, because a terminal may be resized. */
  readonly size: () => TerminalSize
  readonly color: boolean
  readonly clock: Clock
  readonly snapshot: () => ProgressSnapshot
}

export type TerminalSize = { readonly columns: number; readonly rows: number }

/** A block that has not changed is not written again. */
const REDRAW_MS = 250
const PLAIN_LINE_MS = 5000

const HIDE_CURSOR = '\u001b[?25l'
const SHOW_CURSOR = '\u001b[?25h'
const CLEAR_BELOW = '\u001b[0J'

export function createProgressWriter(options: ProgressWriterOptions): ProgressWriter {
  return options.interactive ? redrawing(options) : plain(options)
}

function redrawing({ stream, size, color, clock, snapshot }: ProgressWriterOptions): ProgressWriter {
  /** The widths of the lines on the screen. */
  let drawn: readonly number[] = []
  let last = ''
  let stopped = false
  // One write per redraw, so a terminal never shows half a block. The last column stays empty: a terminal that wraps
  // there would have one line more.
  const draw = (above: string) => {
    const { columns, rows } = size()
    const page: Page = { columns: Math.max(1, columns - 1), color }
    const block = ['', ...progressBlock(snapshot(), page)].slice(0, Math.max(1, rows - 1))
    const text = `${columns} ${block.join('\n')}`
    if (above === '' && text === last) return
    stream.write(`${erased(drawn, columns)}${above}${block.map(line => `${line}\n`).join('')}`)
    drawn = block.map(line => [...stripVTControlCharacters(line)].length)
    last = text
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
      stream.write(`${erased(drawn, size().columns)}${SHOW_CURSOR}`)
    },
  }
}

function plain({ stream, clock, snapshot }: ProgressWriterOptions): ProgressWriter {
  const stop = every(clock, PLAIN_LINE_MS, () => {
    const fields = progressFields(snapshot())
    stream.write(`${fieldsLine(fields)}\n`, { message: 'progress', fields })
  })
  const log: ProgressWriter['log'] = (line, fields = {}) => stream.write(`${line}\n`, { message: line.trim(), fields })
  return { log, stop }
}

/** A terminal that became narrower has wrapped the lines, so they take more rows than before. */
function erased(drawn: readonly number[], columns: number): string {
  const rows = drawn.reduce((sum, width) => sum + Math.max(1, Math.ceil(width / Math.max(1, columns))), 0)
  return rows === 0 ? '' : `\u001b[${rows}A\r${CLEAR_BELOW}`
}

function every(clock: Clock, ms: number, work: () => void): Cancel {
  let cancel = clock.at(clock.nowMs() + ms, again)
  function again() {
    // Starts from now, not from the due time, so there is no catching up on redraws after a stall.
    cancel = clock.at(clock.nowMs() + ms, again)
    work()
  }
  return () => cancel()
}

/** The same line for programs: a message and its fields. */
export type LogEntry = { readonly message: string; readonly fields: ProgressFields }

/** Receives progress and messages, but never secrets or reports. */
export type LineWriter = { readonly write: (text: string, entry?: LogEntry) => unknown }

/** Writes each line as one JSON object to stderr, with level, time and fields, for programs that collect logs. */
export function createJsonLog(): LineWriter {
  const destination = pino.destination({ dest: 2, sync: true })
  // A full or closed stderr does not affect the run.
  destination.on('error', () => {})
  const logger = pino({ base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination)
  return { write: (text, entry) => logger.info(entry?.fields ?? {}, entry?.message ?? text.trimEnd()) }
}
