import type { RecordedComparedRun } from '../judge/compare/comparable.ts'
import type { ComparedRun } from '../judge/compare/compare-runs.ts'
import { cellsPerOctave, type Slices } from '../judge/metrics/slices.ts'
import { plural } from '../lib/format.ts'
import { nearest, oneOf, UsageError } from '../lib/usage-error.ts'
import { hasHeader, type LogLine, readLog } from '../observation/log.ts'
import { isFirstRequest } from '../observation/observation.ts'
import type { Plan } from '../plan/plan.ts'
import type { Recording } from '../plan/recorded-load.ts'
import type { Report } from '../report/document.ts'

import { hasReport, openRun, type RecordedRun, readJudgedPlan, readReport, readSlices } from './run-directory.ts'

/** A run that has kept all of its observations. Throws a UsageError when it has not. */
export async function openCompleteRun(directory: string): Promise<RecordedRun> {
  const run = await openRun(directory)
  const { record } = run.plan
  if (record === 'all') return run
  throw new UsageError({ where: directory, got: `a run with "record: ${record}"`, expected: 'one with "record: all"' })
}

/** The lines of a record, log after log. Throws a UsageError where some were left out. */
export async function* readCompleteLog(
  logs: readonly string[],
): AsyncIterable<Exclude<LogLine, { readonly kind: 'gap' }>> {
  for (const file of logs.filter(hasHeader))
    for await (const line of readLog(file)) {
      if (line.kind === 'gap') assertComplete(file, line.skipped)
      else yield line
    }
}

/** Throws a UsageError where observations were left out of a log. */
export function assertComplete(file: string, skipped: number): void {
  if (skipped === 0) return
  throw new UsageError({
    where: file,
    got: `a record that leaves out ${plural(skipped, 'observation')}, for the disk did not keep up`,
    expected: 'a whole one',
  })
}

/** A stage repeats at most this many arrivals: a plan should not hold more. */
const maxRecorded = 5_000_000

/**
 * What a recorded stage repeats: all stages of the run in the directory `run`, or the one that is named. `name` is that of
 * the stage that repeats it. Throws a UsageError for a run that cannot be repeated.
 */
export async function readRecording(
  name: string,
  { run, stage }: { readonly run: string; readonly stage: string | null },
): Promise<Recording> {
  const { plan, head, logs } = await openCompleteRun(run)
  const names = plan.stages.map(each => each.name)
  const wanted = plan.stages.filter(each => stage === null || each.name === stage)
  const [first] = wanted
  if (first === undefined)
    throw new UsageError({
      where: `stage ${name}`,
      got: JSON.stringify(stage),
      expected: `a stage of run ${head.runId}: ${oneOf(names)}`,
      ...nearest(stage ?? '', names),
    })
  const wantedNames = new Set(wanted.map(each => each.name))
  const arrivals = await readArrivals(readCompleteLog(logs), each => wantedNames.has(each), maxRecorded)
  if (arrivals === null)
    throw new UsageError({
      where: `stage ${name}`,
      got: `more than ${maxRecorded} arrivals in run ${head.runId}`,
      expected: 'fewer, or "stage" with one of its stages',
    })
  const { offsetsMs, calls, callers, callNames, callerNames, isComplete } = arrivals
  const positions = callerNames.map(caller => plan.callers.names.indexOf(caller))
  const offsetMs = (index: number) => Math.max(0, (offsetsMs[index] ?? 0) - first.startMs)
  const lastMs = offsetsMs.length === 0 ? 0 : Math.floor(offsetMs(offsetsMs.length - 1)) + 1
  const plannedMs = wanted.reduce((sum, { durationMs }) => sum + durationMs, 0)
  return {
    runId: head.runId,
    // What was cut short is repeated as far as it went.
    durationMs: isComplete ? Math.max(plannedMs, lastMs) : lastMs,
    count: offsetsMs.length,
    offsetMs,
    call: index => callNames[calls[index] ?? 0] ?? '',
    caller: index => positions[callers[index] ?? 0] ?? 0,
  }
}

/** When the arrivals of a run were due, what each called and for whom, in the order in which they were due. */
type RecordedArrivals = {
  /** Milliseconds since the load of the run began. */
  readonly offsetsMs: Float64Array
  /** Positions in `callNames`, and in `callerNames`. */
  readonly calls: Uint32Array
  readonly callers: Uint32Array
  readonly callNames: readonly string[]
  readonly callerNames: readonly string[]
  /** Whether the run ended by itself. */
  readonly isComplete: boolean
}

/**
 * The arrivals of the wanted stages of a run, at most `most` of them; null when there are more. What was dropped was due,
 * and so counts; the requests of a replay are one arrival. Only columns of numbers are kept, some fifty bytes an arrival.
 */
export async function readArrivals(
  lines: AsyncIterable<LogLine>,
  isWanted: (stage: string) => boolean,
  max: number,
): Promise<RecordedArrivals | null> {
  const [callNames, callerNames] = [createNameColumn(), createNameColumn()]
  let columns = columnsOf(1_024)
  let count = 0
  const starts: number[] = []
  let openedMs = 0
  let logs = 0
  let wholeLogs = 0
  for await (const line of lines) {
    if (line.kind === 'head') logs++
    if (line.kind === 'end') {
      if (line.end.ended === 'complete') wholeLogs++
      if (typeof line.end.loadStartMs === 'number') starts.push(line.end.loadStartMs)
    }
    if (line.kind !== 'observation') continue
    const { observation } = line
    const { id, stage, call, caller, dueMs, endMs } = observation
    if (stage === '(opening)') openedMs = Math.max(openedMs, endMs ?? 0)
    if (!isWanted(stage) || !isFirstRequest(observation)) continue
    if (count === max) return null
    if (count === columns.requestIds.length) columns = grown(columns)
    columns.requestIds[count] = id
    columns.offsetsMs[count] = dueMs
    columns.calls[count] = callNames.positionOf(call)
    columns.callers[count] = callerNames.positionOf(caller)
    count++
  }
  // Where it is not recorded, as after a kill: the load begins after the last of the opening statements.
  const startMs = starts.length === 0 ? openedMs : Math.min(...starts)
  // A log has its observations in the order in which they ended.
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
    isComplete: logs > 0 && wholeLogs === logs,
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
 * What a run directory holds for a comparison. A run that was killed has neither report nor slices: it did not end by
 * itself, and nothing can be told of it. Throws a UsageError where there is no run, or one of a version without slices.
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
  return { info, plan, slices, isComplete: run.ended === 'complete', verdict }
}
