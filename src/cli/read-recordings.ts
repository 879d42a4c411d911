import { nearest, oneOf, UsageError } from '../lib/usage-error.ts'
import { collectArrivals } from '../observation/recorded-arrivals.ts'
import type { Recording, Recordings } from '../plan/recorded-load.ts'
import type { Scenario } from '../scenario/schema.ts'
import type { Recorded } from '../scenario/stage-schema.ts'
import { openWholeRecord, wholeRecord } from './read-record.ts'

/** So many arrivals of a recorded run are repeated at most: more than a plan should hold. */
const mostRecorded = 5_000_000

/** What the recorded stages of a scenario repeat. Throws a UsageError for a run that cannot be repeated. */
export async function readRecordings({ stages }: Scenario): Promise<Recordings> {
  const recordings = new Map<string, Recording>()
  for (const stage of stages)
    if (stage.shape === 'recorded') recordings.set(stage.name, await readRecording(stage.name, stage))
  return recordings
}

async function readRecording(name: string, { run, stage }: Recorded): Promise<Recording> {
  const { plan, head, logs } = await openWholeRecord(run)
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
  const arrivals = await collectArrivals(wholeRecord(logs), each => wantedNames.has(each), mostRecorded)
  if (arrivals === null)
    throw new UsageError({
      where: `stage ${name}`,
      got: `more than ${mostRecorded} arrivals in run ${head.runId}`,
      expected: 'fewer, or "stage" with one of its stages',
    })
  const { offsetsMs, calls, callers, callNames, callerNames, isWhole } = arrivals
  const positions = callerNames.map(caller => plan.callers.names.indexOf(caller))
  const offsetMs = (index: number) => Math.max(0, (offsetsMs[index] ?? 0) - first.startMs)
  const lastMs = offsetsMs.length === 0 ? 0 : Math.floor(offsetMs(offsetsMs.length - 1)) + 1
  const plannedMs = wanted.reduce((sum, { durationMs }) => sum + durationMs, 0)
  return {
    runId: head.runId,
    // What was cut short is repeated as far as it went.
    durationMs: isWhole ? Math.max(plannedMs, lastMs) : lastMs,
    count: offsetsMs.length,
    offsetMs,
    call: index => callNames[calls[index] ?? 0] ?? '',
    caller: index => positions[callers[index] ?? 0] ?? 0,
  }
}
