import type { Draw } from './busiest-window.ts'
import { unpackArrivals } from './packed-arrivals.ts'
import type { Mix, Shape } from './plan.ts'

type Recorded = Extract<Shape, { readonly kind: 'recorded' }>

/** The arrivals of one caller, in order; calls are positions in the mix. */
type Own = { readonly offsetsMs: number[]; readonly calls: number[] }

/** Unpacked once for each shape: a forecast asks for every caller and every limit. */
const unpacked = new WeakMap<Recorded, ReadonlyMap<number, Own>>()

function ownOf(shape: Recorded): ReadonlyMap<number, Own> {
  const known = unpacked.get(shape)
  if (known !== undefined) return known
  const byCaller = new Map<number, Own>()
  for (const { offsetMs, call, caller } of unpackArrivals(shape.packed)) {
    let own = byCaller.get(caller)
    if (own === undefined) {
      own = { offsetsMs: [], calls: [] }
      byCaller.set(caller, own)
    }
    own.offsetsMs.push(offsetMs)
    own.calls.push(call)
  }
  unpacked.set(shape, byCaller)
  return byCaller
}

export const callersIn = (shape: Recorded): readonly number[] => [...ownOf(shape).keys()]

/** What one caller takes in a recorded stage that begins at `startMs`, arrival by arrival. */
export function recordedDraw(
  shape: Recorded,
  startMs: number,
  caller: number,
  mix: Mix,
  amountOf: (call: string) => number,
): Draw {
  const { offsetsMs, calls } = ownOf(shape).get(caller) ?? { offsetsMs: [], calls: [] }
  const amounts = mix.map(([call]) => amountOf(call))
  const before = new Float64Array(offsetsMs.length + 1)
  for (const [index, call] of calls.entries()) before[index + 1] = (before[index] ?? 0) + (amounts[call] ?? 0)
  const instants = offsetsMs.map(offsetMs => startMs + offsetMs)
  const takenBefore = (atMs: number) => before[firstFrom(instants, atMs)] ?? 0
  return {
    taken: (fromMs, toMs) => takenBefore(toMs) - takenBefore(fromMs),
    // A window with the most of them can always be moved to begin with one.
    starts: () => instants,
    isStepped: true,
  }
}

/** The position of the first of `sorted` that is not below `value`. */
function firstFrom(sorted: readonly number[], value: number): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((sorted[middle] ?? 0) < value) low = middle + 1
    else high = middle
  }
  return low
}
