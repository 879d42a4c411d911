import type { RecordedComparedRun } from '../judge/compare/comparable.ts'
import type { ComparedRun } from '../judge/compare/compare-runs.ts'
import { endedByItself } from '../judge/ended-early.ts'
import { cellsPerOctave, type Slices } from '../judge/metrics/slices.ts'
import { plural } from '../lib/format.ts'
import { nearest, oneOf, UsageError } from '../lib/usage-error.ts'
import { hasHeader, type LogLine, readLog } from '../observation/log.ts'
import { isFirstRequest } from '../observation/observation.ts'
import type { Plan } from '../plan/plan.ts'
import { maxRecorded, type Recording } from '../plan/recorded-load.ts'
import type { Report } from '../report/document.ts'
import { hasReport, openRun, type RecordedRun, readJudgedPlan, readReport, readSlices } from './run-directory.ts'

/** Opens a run that recorded all its observations. Throws a UsageError for any other run. */
export async function openCompleteRun(directory: string): Promise<RecordedRun> {
  const run = await openRun(directory)
  const { record } = run.plan
  if (record === 'all') return run
  throw new UsageError({
    where: directory,
    got: `a run with "record: ${record}"`,
    expected: 'a run with "record: all"',
  })
}

/** The lines of a record, log after log. Throws a UsageError if observations are missing. */
export async function* readCompleteLog(
  logs: readonly string[],
): AsyncIterable<Exclude<LogLine, { readonly kind: 'gap' }>> {
  for (const file of logs.filter(hasHeader))
    for await (const line of readLog(file)) {
      if (line.kind === 'gap') assertComplete(file, line.skipped)
      else yield line
    }
}

/** Throws a UsageError if a log skipped observations. */
export function assertComplete(file: string, skipped: number): void {
  if (skipped === 0) return
  throw new UsageError({
    where: file,
    got: `a record that leaves out ${plural(skipped, 'observation')}, because the disk was too slow`,
    expected: 'a record without gaps; run it again with a faster disk',
  })
}

/**
 * The arrivals that the recorded stage `name` repeats: those of all stages of the run in directory `run`, or of
 * `stage`. Throws a UsageError for a run that cannot be repeated.
 */
export async function readRecording(
  name: string,
  { run, stage }: { readonly run: string; readonly stage: string | null },
  max = maxRecorded,
): Promise<Recording> {
  const { plan, head, logs } = await openCompleteRun(run)
  const names = plan.stages.map(each => each.name)
  const selected = plan.stages.filter(each => stage === null || each.name === stage)
  const [first] = selected
  if (first === undefined)
    throw new UsageError({
      where: `stage ${name}`,
      got: JSON.stringify(stage),
      expected: `a stage of run ${head.runId}: ${oneOf(names)}`,
      ...nearest(stage ?? '', names),
    })
  const selectedNames = new Set(selected.map(each => each.name))
  const arrivals = await readArrivals(readCompleteLog(logs), each => selectedNames.has(each), max)
  if (arrivals === null)
    throw new UsageError({
      where: `stage ${name}`,
      got: `more than ${max} arrivals in run ${head.runId}`,
      expected: `at most ${max}, since a plan contains them all; name one stage of the run with the key "stage"`,
    })
  const { offsetsMs, calls, callers, callNames, callerNames, isComplete } = arrivals
  const positions = callerNames.map(caller => plan.callers.names.indexOf(caller))
  const offsetMs = (index: number) => Math.max(0, (offsetsMs[index] ?? 0) - first.startMs)
  const lastMs = offsetsMs.length === 0 ? 0 : Math.floor(offsetMs(offsetsMs.length - 1)) + 1
  const plannedMs = selected.reduce((sum, { durationMs }) => sum + durationMs, 0)
  return {
    runId: head.runId,
    // A truncated run is repeated up to its last arrival.
    durationMs: isComplete ? Math.max(plannedMs, lastMs) : lastMs,
    count: offsetsMs.length,
    offsetMs,
    call: index => callNames[calls[index] ?? 0] ?? '',
    caller: index => positions[callers[index] ?? 0] ?? 0,
  }
}

/** The due time, call and caller of each arrival of a run, in the order of due times. */
type RecordedArrivals = {
  /** Milliseconds since the load of the run started. */
  readonly offsetsMs: Float64Array
  /** Positions in `callNames`, and in `callerNames`. */
  readonly calls: Uint32Array
  readonly callers: Uint32Array
  readonly callNames: readonly string[]
  readonly callerNames: readonly string[]
  /** Whether the run ended as planned. */
  readonly isComplete: boolean
}

/**
 * The arrivals of the selected stages of a run; null if there are more than `max`. Dropped arrivals were due, so they
 * count. The requests of a replay are one arrival. Stores only columns of numbers, about fifty bytes per arrival.
 */
export async function readArrivals(
  lines: AsyncIterable<LogLine>,
  isSelected: (stage: string) => boolean,
  max: number,
): Promise<RecordedArrivals | null> {
  const [callNames, callerNames] = [createNameColumn(), createNameColumn()]
  let columns = columnsOf(1_024)
  let count = 0
  const starts: number[] = []
  let openedMs = 0
  let logs = 0
  let completeLogs = 0
  for await (const line of lines) {
    if (line.kind === 'head') logs++
    if (line.kind === 'end') {
      if (line.end.ended === 'complete') completeLogs++
      if (typeof line.end.loadStartMs === 'number') starts.push(line.end.loadStartMs)
    }
    if (line.kind !== 'observation') continue
    const { observation } = line
    const { id, stage, call, caller, dueMs, endMs } = observation
    if (stage === '(opening)') openedMs = Math.max(openedMs, endMs ?? 0)
    if (!isSelected(stage) || !isFirstRequest(observation)) continue
    if (count === max) return null
    if (count === columns.requestIds.length) columns = grown(columns)
    columns.requestIds[count] = id
    columns.offsetsMs[count] = dueMs
    columns.calls[count] = callNames.positionOf(call)
    columns.callers[count] = callerNames.positionOf(caller)
    count++
  }
  // A killed run has no recorded start. The load started after the last opening balance check.
  const startMs = starts.length === 0 ? openedMs : Math.min(...starts)
  // A log has its observations in the order of their end.
  const { requestIds, offsetsMs, calls, callers } = columns
  const at = (column: Float64Array, index: number) => column[index] ?? 0
  const order = Uint32Array.from({ length: count }, (_, index) => index).sort(
    (a, b) => at(offsetsMs, a) - at(offsetsMs, b) || at(requestIds, a) - at(requestIds, b),
  )
  return {
    offsetsMs: Float64Array.from(order, index => Math.max(0, at(offsetsMs, index) - startMs)),
    calls: Uint32Array.from(order, index => calls[index] ?? 0),
    callers: Uint32Array.from(order, index => callers[index] ?? 0),
    callNames: callNames.all,
    callerNames: callerNames.all,
    isComplete: logs > 0 && completeLogs === logs,
  }
}

const columnsOf = (length: number) => ({
  requestIds: new Float64Array(length),
  offsetsMs: new Float64Array(length),
  calls: new Uint32Array(length),
  callers: new Uint32Array(length),
})

function grown(columns: ReturnType<typeof columnsOf>): ReturnType<typeof columnsOf> {
  const wider = columnsOf(columns.requestIds.length * 2)
  wider.requestIds.set(columns.requestIds)
  wider.offsetsMs.set(columns.offsetsMs)
  wider.calls.set(columns.calls)
  wider.callers.set(columns.callers)
  return wider
}

function createNameColumn(): { readonly all: readonly string[]; readonly positionOf: (name: string) => number } {
  const all: string[] = []
  const positions = new Map<string, number>()
  return {
    all,
    positionOf: name => {
      const known = positions.get(name)
      if (known !== undefined) return known
      positions.set(name, all.length)
      return all.push(name) - 1
    },
  }
}

/**
 * The data of a run directory for a comparison. A killed run has neither report nor slices: it is incomplete, and any
 * comparison with it is inconclusive. Throws a UsageError if there is no run, or if its version wrote no slices.
 */
export async function readComparedRun(path: string): Promise<RecordedComparedRun> {
  const judged = readJudgedPlan(path)
  if (hasReport(path)) return { ...judged, path, ...comparedRun(readReport(path), judged.plan, readSlices(path)) }
  const { plan, head } = await openRun(path)
  const { runId: id, target, version, startedAtMs } = head
  const info = { id, target, version, seed: plan.seed, startedAt: new Date(startedAtMs).toISOString() }
  const slices: Slices = { schema: 1, cellsPerOctave, calls: [] }
  return { ...judged, path, info, slices, isComplete: false, verdict: 'inconclusive' }
}

export function comparedRun({ run, verdict }: Report, plan: Plan, slices: Slices): ComparedRun {
  const { id, startedAt, target, version, seed } = run
  const info = { id, startedAt, target, version, seed }
  return { info, plan, slices, isComplete: endedByItself(run.ended), verdict }
}
