import type { LogLine } from './log.ts'
import { isFirstRequest } from './observation.ts'

/** When the arrivals of a run were due, what each called and for whom, in the order in which they were due. */
export type RecordedArrivals = {
  /** Milliseconds since the load of the run began. */
  readonly offsetsMs: Float64Array
  /** Positions in `callNames`, and in `callerNames`. */
  readonly calls: Uint32Array
  readonly callers: Uint32Array
  readonly callNames: readonly string[]
  readonly callerNames: readonly string[]
  /** Whether the run ended by itself. */
  readonly isWhole: boolean
}

/**
 * The arrivals of the wanted stages of a run, at most `most` of them; null when there are more. What was dropped was due,
 * and so counts; the requests of a replay are one arrival. Only columns of numbers are kept, some fifty bytes an arrival.
 */
export async function collectArrivals(
  lines: AsyncIterable<LogLine>,
  isWanted: (stage: string) => boolean,
  most: number,
): Promise<RecordedArrivals | null> {
  const [callNames, callerNames] = [createNames(), createNames()]
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
    const { seq, stage, call, caller, dueMs, endMs } = observation
    if (stage === '(opening)') openedMs = Math.max(openedMs, endMs ?? 0)
    if (!isWanted(stage) || !isFirstRequest(observation)) continue
    if (count === most) return null
    if (count === columns.seqs.length) columns = grown(columns)
    columns.seqs[count] = seq
    columns.offsetsMs[count] = dueMs
    columns.calls[count] = callNames.positionOf(call)
    columns.callers[count] = callerNames.positionOf(caller)
    count++
  }
  // Where nobody has written it down, as after a kill: the load begins behind the last of the opening statements.
  const startMs = starts.length === 0 ? openedMs : Math.min(...starts)
  // A log has its observations in the order in which they ended.
  const { seqs, offsetsMs, calls, callers } = columns
  const at = (column: Float64Array, index: number) => column[index] ?? 0
  const order = Uint32Array.from({ length: count }, (_, index) => index).sort(
    (a, b) => at(offsetsMs, a) - at(offsetsMs, b) || at(seqs, a) - at(seqs, b),
  )
  return {
    offsetsMs: Float64Array.from(order, index => Math.max(0, at(offsetsMs, index) - startMs)),
    calls: Uint32Array.from(order, index => calls[index] ?? 0),
    callers: Uint32Array.from(order, index => callers[index] ?? 0),
    callNames: callNames.all,
    callerNames: callerNames.all,
    isWhole: logs > 0 && wholeLogs === logs,
  }
}

const columnsOf = (length: number) => ({
  seqs: new Float64Array(length),
  offsetsMs: new Float64Array(length),
  calls: new Uint32Array(length),
  callers: new Uint32Array(length),
})

function grown(columns: ReturnType<typeof columnsOf>): ReturnType<typeof columnsOf> {
  const wider = columnsOf(columns.seqs.length * 2)
  wider.seqs.set(columns.seqs)
  wider.offsetsMs.set(columns.offsetsMs)
  wider.calls.set(columns.calls)
  wider.callers.set(columns.callers)
  return wider
}

function createNames(): { readonly all: readonly string[]; readonly positionOf: (name: string) => number } {
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
