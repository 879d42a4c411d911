import { deflateSync, inflateSync } from 'node:zlib'
import { UsageError } from '../lib/usage-error.ts'
import type { Scenario } from '../scenario/schema.ts'
import type { Recorded } from '../scenario/stage-schema.ts'
import type { Load, Mix } from './plan.ts'

/** The arrivals that a recorded stage repeats, read from the directory of their run. */
export type Recording = {
  readonly runId: string
  /** Duration of the repeated part. */
  readonly durationMs: number
  /** Number of arrivals. The functions below take an index, in the order of due times. */
  readonly count: number
  readonly offsetMs: (index: number) => number
  readonly call: (index: number) => string
  /** Index of the caller in its run. */
  readonly caller: (index: number) => number
}

/** Recordings by the name of the stage that repeats them. */
export type Recordings = ReadonlyMap<string, Recording>

/**
 * The load of a recorded stage. The weights of its mix count the arrivals of each call. Throws UsageError if the scenario
 * lacks some of the calls or callers.
 */
export function recordedLoad(
  name: string,
  { stage, speed }: Recorded,
  { runId, count, offsetMs, call, caller }: Recording,
  { calls, callers }: Pick<Scenario, 'calls' | 'callers'>,
): Load {
  const counts = new Map<string, number>()
  let callersNeeded = 0
  for (let index = 0; index < count; index++) {
    counts.set(call(index), (counts.get(call(index)) ?? 0) + 1)
    callersNeeded = Math.max(callersNeeded, caller(index) + 1)
  }
  const mix: Mix = [...counts]
  const unknown = mix.flatMap(([known]) => (Object.hasOwn(calls, known) ? [] : [known]))
  const where = `stage ${name}`
  const of = `run ${runId}`
  if (count === 0) throw new UsageError({ where, got: `no arrivals in ${of}`, expected: 'a run with requests' })
  if (unknown.length > 0)
    throw new UsageError({
      where,
      got: `calls in ${of} that the scenario lacks: ${unknown.join(', ')}`,
      expected: 'each of them under "calls"',
    })
  if (callersNeeded > callers.count)
    throw new UsageError({
      where,
      got: `${callersNeeded} callers in ${of}`,
      expected: `at most ${callers.count}, the value of callers.count`,
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

/** One arrival of a recording. `call` is an index into the mix, `caller` one into the callers. */
export type PackedArrival = { readonly offsetMs: number; readonly call: number; readonly caller: number }

/**
 * Packs arrivals into a string for the plan: for each the microseconds since the previous one, the call and the caller,
 * as compressed varints. Offsets are rounded from the start of the stage, so rounding errors do not add up.
 */
export function packArrivals(arrivals: Iterable<PackedArrival>): string {
  let bytes = Buffer.alloc(4_096)
  let length = 0
  const put = (value: number) => {
    let rest = value
    for (; rest >= 128; rest = Math.floor(rest / 128)) bytes[length++] = 128 + (rest % 128)
    bytes[length++] = rest
  }
  let beforeUs = 0
  for (const { offsetMs, call, caller } of arrivals) {
    if (length + 3 * maxNumberBytes > bytes.length) bytes = Buffer.concat([bytes, Buffer.alloc(bytes.length)])
    const offsetUs = Math.round(offsetMs * 1_000)
    put(offsetUs - beforeUs)
    put(call)
    put(caller)
    beforeUs = offsetUs
  }
  return deflateSync(bytes.subarray(0, length)).toString('base64')
}

/** Bytes of a varint of 2⁵³. */
const maxNumberBytes = 8

/** Reverses `packArrivals`, lazily and in order. */
export function* unpackArrivals(packed: string): Iterable<PackedArrival> {
  const bytes = inflateSync(Buffer.from(packed, 'base64'))
  let position = 0
  const take = () => {
    let value = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[position++] ?? 0
      if (byte < 128) return value + byte * scale
      value += (byte - 128) * scale
    }
  }
  let offsetUs = 0
  while (position < bytes.length) {
    offsetUs += take()
    const [call, caller] = [take(), take()]
    yield { offsetMs: offsetUs / 1_000, call, caller }
  }
}
