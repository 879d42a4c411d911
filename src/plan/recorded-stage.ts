import { UsageError } from '../lib/usage-error.ts'
import type { Recorded, Scenario } from '../scenario/scenario.ts'
import { packArrivals } from './packed-arrivals.ts'
import type { Load, Mix } from './plan.ts'

/** What a recorded stage repeats, as it was read from the directory of its run. */
export type Recording = {
  readonly runId: string
  /** How long what is repeated lasted. */
  readonly durationMs: number
  /** The arrivals by their position, in the order in which they were due. */
  readonly count: number
  readonly offsetMs: (index: number) => number
  readonly call: (index: number) => string
  /** Position of the caller in its run. */
  readonly caller: (index: number) => number
}

/** By the name of the stage that repeats it. */
export type Recordings = ReadonlyMap<string, Recording>

/**
 * The load of a recorded stage. The weights of its mix are how often each call comes. Throws a UsageError when the
 * scenario has not all of the calls, or not all of the callers.
 */
export function recordedLoad(
  name: string,
  { stage, speed }: Recorded,
  { runId, count, offsetMs, call, caller }: Recording,
  { calls, callers }: Pick<Scenario, 'calls' | 'callers'>,
): Load {
  const counts = new Map<string, number>()
  let mostCallers = 0
  for (let index = 0; index < count; index++) {
    counts.set(call(index), (counts.get(call(index)) ?? 0) + 1)
    mostCallers = Math.max(mostCallers, caller(index) + 1)
  }
  const mix: Mix = [...counts]
  const unknown = mix.flatMap(([known]) => (Object.hasOwn(calls, known) ? [] : [known]))
  const where = `stage ${name}`
  const of = `run ${runId}`
  if (count === 0) throw new UsageError({ where, got: `no arrivals in ${of}`, expected: 'a run that sent something' })
  if (unknown.length > 0)
    throw new UsageError({
      where,
      got: `calls of ${of} that this scenario has not: ${unknown.join(', ')}`,
      expected: 'a call of each name under "calls"',
    })
  if (mostCallers > callers.count)
    throw new UsageError({
      where,
      got: `${mostCallers} callers in ${of}`,
      expected: `at most ${callers.count}, which is callers.count`,
    })
  const positions = new Map(mix.map(([known], position) => [known, position]))
  const packed = packArrivals(
    (function* () {
      for (let index = 0; index < count; index++)
        yield { offsetMs: offsetMs(index) / speed, call: positions.get(call(index)) ?? 0, caller: caller(index) }
    })(),
  )
  return { model: 'open', shape: { kind: 'recorded', run: runId, stage, speed, packed }, mix }
}
