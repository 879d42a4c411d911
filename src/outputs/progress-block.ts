import { count, formatBytes, formatDuration, formatRate, plural, threeDigits } from '../lib/format.ts'
import { clip, type Page, paint, type Style } from '../lib/text-layout.ts'
import { oneLine } from '../lib/visible.ts'
import type {
  ProgressSnapshot,
  SearchProgress,
  ShownPercentiles,
  StageProgress,
  ViolatedClause,
  WorkersProgress,
} from './progress-snapshot.ts'

type Cell = { readonly text: string; readonly style?: Style }

/** From here on the values of a row have wide columns, and the time is beside the bar. */
const wideColumns = 60
/** More clauses are counted. */
const maxClauses = 6

/** The state of a run in a few lines that fit the page, each with its name in front. */
export function progressBlock(snapshot: ProgressSnapshot, page: Page): readonly string[] {
  const { scenario, search, ttftMs, inFlight, maxInFlight, achievedPerSecond } = snapshot
  const offered = snapshot.stage.planned?.offeredPerSecond ?? null
  const row = (name: string, cells: readonly Cell[]) => rowLines(page, { text: name, style: 'dim' }, cells)
  return [
    ...rowLines(page, { text: scenario, style: 'bold' }, runCells(snapshot, page)),
    ...row('stage', stageCells(snapshot.stage)),
    ...(search === null ? [] : row('search', searchCells(search))),
    ...row('rate', [
      { text: `offered ${formatRate(offered)}` },
      { text: `achieved ${formatRate(achievedPerSecond)}` },
      { text: `in flight ${count(inFlight)} of ${count(maxInFlight)}` },
    ]),
    ...row('latency', percentileCells(snapshot.latencyMs)),
    ...(ttftMs.p50 === null ? [] : row('ttft', percentileCells(ttftMs))),
    ...row('responses', responseCells(snapshot)),
    ...row('spent', [{ text: spentText(snapshot) }]),
    ...row('violations', violationCells(snapshot.violations)),
    ...(snapshot.workers === null ? [] : row('workers', workerCells(snapshot.workers))),
  ]
}

/** The cells of a row, in columns of equal width as far as they fit; the rest continues below. */
function rowLines(page: Page, name: Cell, cells: readonly Cell[]): readonly string[] {
  const [nameWidth, cellWidth, gap] = page.columns < wideColumns ? [11, 15, 1] : [12, 18, 2]
  const indent = Math.min(nameWidth, page.columns)
  const lines: Cell[][] = []
  let line: Cell[] = [padded(name, Math.max(indent, [...name.text].length + gap))]
  let width = [...(line[0]?.text ?? '')].length
  for (const cell of cells) {
    const length = [...cell.text].length
    if (width + length > page.columns && line.length > 1) {
      lines.push(line)
      line = [{ text: ' '.repeat(indent) }]
      width = indent
    }
    line.push(padded(cell, Math.max(cellWidth, length + gap)))
    width += Math.max(cellWidth, length + gap)
  }
  return [...lines, line].map(each => painted(page, each))
}

const padded = ({ text, style }: Cell, width: number): Cell => ({
  text: text + ' '.repeat(Math.max(0, width - [...text].length)),
  ...(style === undefined ? {} : { style }),
})

/** A line of at most the width of the page, without blanks at its end. */
function painted(page: Page, cells: readonly Cell[]): string {
  let left = page.columns
  return cells
    .map(({ text, style }, index) => {
      const shown = left === 0 ? '' : clip(index === cells.length - 1 ? text.trimEnd() : text, left)
      left -= [...shown].length
      return paint(page, style, shown)
    })
    .join('')
}

function runCells(
  { scenario, elapsedMs, totalMs, isAtMost, stage }: ProgressSnapshot,
  { columns }: Page,
): readonly Cell[] {
  const share = stage.name === '(closing)' || totalMs === 0 ? 1 : elapsedMs / totalMs
  const shown = stage.name === '(opening)' ? 0 : share
  const time = `${seconds(elapsedMs)} elapsed, ${isAtMost ? '≤ ' : ''}${seconds(Math.ceil((totalMs - elapsedMs) / 1000) * 1000)} left`
  const percent = ` ${String(Math.floor(shown * 100)).padStart(3)} %`
  const room = columns - Math.max(12, scenario.length + 2) - percent.length
  const width = Math.max(8, Math.min(30, columns < wideColumns ? room : room - time.length - 2))
  const done = Math.floor(shown * width)
  const bar = '█'.repeat(done) + '░'.repeat(width - done)
  return [{ text: bar + percent }, { text: time }]
}

function stageCells({ name, planned }: StageProgress): readonly Cell[] {
  if (planned === null) return [{ text: name.replaceAll(/[()]/g, '') }]
  const { position, of, elapsedMs, durationMs } = planned
  return [{ text: `${position}/${of} ${name}` }, { text: `${seconds(elapsedMs)} of ${formatDuration(durationMs)}` }]
}

function searchCells({ trial, heldPerSecond, missedPerSecond }: SearchProgress): readonly Cell[] {
  const now =
    trial === null
      ? 'first trial'
      : `trial ${trial.position}: ${trial.purpose} ${formatRate(trial.offeredPerSecond)}, ${Math.floor(trial.doneRatio * 100)} %`
  return [
    { text: now },
    { text: `held ${formatRate(heldPerSecond)}`, ...(heldPerSecond === null ? {} : { style: 'green' }) },
    { text: `missed ${formatRate(missedPerSecond)}`, ...(missedPerSecond === null ? {} : { style: 'yellow' }) },
  ]
}

const percentileCells = (percentiles: ShownPercentiles): readonly Cell[] =>
  Object.entries(percentiles).map(([name, ms]) => ({ text: `${name} ${formatDuration(ms)}` }))

function responseCells({ statuses, failed, dropped }: ProgressSnapshot): readonly Cell[] {
  const answered = Object.entries(statuses).map(([status, n]): Cell => ({ text: `${status} × ${count(n)}` }))
  const lost = (name: string, n: number): readonly Cell[] =>
    n === 0 ? [] : [{ text: `${name} × ${count(n)}`, style: 'yellow' }]
  const all = [...answered, ...lost('failed', failed), ...lost('dropped', dropped)]
  return all.length === 0 ? [{ text: 'none so far', style: 'dim' }] : all
}

function workerCells({ up, shards, lost, busiest, maxRssBytes }: WorkersProgress): readonly Cell[] {
  return [
    { text: `${count(up)} of ${count(shards)} up` },
    ...lost.slice(0, maxClauses).map((name): Cell => ({ text: `${oneLine(name)} lost`, style: 'red' })),
    ...(busiest === null
      ? []
      : [{ text: `busiest ${busiest.usedCores.toFixed(1)} of ${plural(busiest.cores, 'core')}` }]),
    ...(maxRssBytes === null ? [] : [{ text: `memory ≤ ${formatBytes(maxRssBytes)}` }]),
  ]
}

function violationCells(violations: readonly ViolatedClause[]): readonly Cell[] {
  if (violations.length === 0) return [{ text: 'none so far', style: 'dim' }]
  const shown = violations.slice(0, maxClauses).map(each => `${each.clause} × ${count(each.count)}`)
  const rest = violations.length - shown.length
  return [...shown, ...(rest === 0 ? [] : [`and ${rest} more`])].map(text => ({ text, style: 'red' }))
}

function spentText({ claimedUsd, budgetUsd }: ProgressSnapshot): string {
  const spent = `$${threeDigits(Number(claimedUsd))}`
  return budgetUsd === null ? spent : `${spent} of $${budgetUsd} budget`
}

/** Whole seconds do not flicker. */
const seconds = (ms: number): string => (ms < 99_950 ? `${Math.floor(ms / 1000)} s` : formatDuration(ms))

export type ProgressFields = Readonly<Record<string, string | number>>

/** The state of a run as fields for a log. Fields without a value are left out. */
export function progressFields(snapshot: ProgressSnapshot): ProgressFields {
  const { stage, search, latencyMs, ttftMs, violations, budgetUsd } = snapshot
  const fields: Readonly<Record<string, string | number | null | undefined>> = {
    elapsed_s: Math.round(snapshot.elapsedMs / 1000),
    remaining_s: Math.round((snapshot.totalMs - snapshot.elapsedMs) / 1000),
    stage: stage.name,
    trial: search?.trial?.position,
    trial_per_s: search?.trial?.offeredPerSecond,
    trial_done: search?.trial?.doneRatio,
    held_per_s: search?.heldPerSecond,
    missed_per_s: search?.missedPerSecond,
    offered_per_s: stage.planned?.offeredPerSecond,
    achieved_per_s: snapshot.achievedPerSecond,
    in_flight: snapshot.inFlight,
    sent: snapshot.sent,
    failed: snapshot.failed,
    dropped: snapshot.dropped,
    ...Object.fromEntries(Object.entries(snapshot.statuses).map(([status, n]) => [`status_${status}`, n])),
    latency_p50_ms: latencyMs.p50,
    latency_p95_ms: latencyMs.p95,
    ttft_p50_ms: ttftMs.p50,
    ttft_p95_ms: ttftMs.p95,
    violations: violations.reduce((sum, each) => sum + each.count, 0),
    violated_clauses: violations.length,
    spent_usd: snapshot.claimedUsd,
    budget_usd: budgetUsd,
    workers_up: snapshot.workers?.up,
    workers_lost: snapshot.workers?.lost.length,
    max_used_cores: snapshot.workers?.busiest?.usedCores,
  }
  return Object.fromEntries(
    Object.entries(fields).flatMap(([key, value]) =>
      value === null || value === undefined
        ? []
        : [[key, typeof value === 'number' ? Number(value.toFixed(2)) : value]],
    ),
  )
}

/** One line for a pipe or a CI log: `key=value`. */
export const fieldsLine = (fields: ProgressFields): string =>
  Object.entries(fields)
    .map(([key, value]) => `${key}=${typeof value === 'number' ? value : quoted(value)}`)
    .join(' ')

const quoted = (text: string): string => (/[\s"=]/.test(text) ? JSON.stringify(oneLine(text)) : oneLine(text))

/** An event of a run, which stays on the screen. */
export type ProgressEvent = { readonly text: string; readonly fields: ProgressFields }

const maxMessage = 240

/** Everything that has happened since the last reading: clauses violated for the first time, and finished trials. */
export function eventsBetween(
  before: Pick<ProgressSnapshot, 'violations' | 'finishedTrials'> | null,
  now: ProgressSnapshot,
  page: Pick<Page, 'color'>,
): readonly ProgressEvent[] {
  const known = new Set(before?.violations.map(({ clause }) => clause))
  const elapsed_s = Number((now.elapsedMs / 1000).toFixed(1))
  const at = `${elapsed_s.toFixed(1)} s`.padStart(7)
  const violated = now.violations
    .filter(({ clause }) => !known.has(clause))
    .map(({ clause, section, message }) => ({
      text: `${at}  ${paint(page, 'red', 'fail')}   ${clause} (§${section}): ${clip(message, maxMessage)}`,
      fields: { event: 'violation', elapsed_s, clause, section },
    }))
  const tried = now.finishedTrials.slice(before?.finishedTrials.length ?? 0).map(trial => ({
    text: `${at}  ${paint(page, 'bold', 'trial')}  ${trial}`,
    fields: { event: 'trial', elapsed_s, trial },
  }))
  return [...violated, ...tried]
}
