import { cellFloorUs, type Histogram } from './histogram.ts'

/**
 * A histogram as Prometheus keeps it whole: the bucket *i* holds values in seconds above `growth ** (i - 1)` and up to
 * `growth ** i`, where `growth` is 2 to the power of `2 ** -schema`.
 */
export type NativeHistogram = {
  readonly schema: number
  /** Seconds up to which a value counts as none. */
  readonly zeroThreshold: number
  readonly zeroCount: number
  readonly count: number
  readonly sumSeconds: number
  /** Stretches of buckets without a gap: how far each begins behind the end of the one before, the first behind 0. */
  readonly spans: readonly { readonly offset: number; readonly length: number }[]
  /** What each bucket of the spans holds more than the one before it. */
  readonly deltas: readonly number[]
}

/** Buckets that grow by 2.2 %: what is read from them is off by no more. */
export const nativeSchema = 5
const bucketsPerDoubling = 2 ** nativeSchema
/** Values are kept in whole microseconds. */
const ZERO_THRESHOLD_SECONDS = 0.5e-6

export function nativeHistogram(histogram: Histogram): NativeHistogram {
  const spans: { offset: number; length: number }[] = []
  const counts: number[] = []
  let zeroCount = 0
  let last: number | null = null
  histogram.eachCell((cell, count) => {
    const bucket = bucketOf(cell)
    if (bucket === null) {
      zeroCount += count
      return
    }
    const span = spans.at(-1)
    if (bucket === last) {
      counts.push((counts.pop() ?? 0) + count)
      return
    }
    counts.push(count)
    if (span !== undefined && last !== null && bucket === last + 1) span.length++
    else spans.push({ offset: last === null ? bucket : bucket - last - 1, length: 1 })
    last = bucket
  })
  return {
    schema: nativeSchema,
    zeroThreshold: ZERO_THRESHOLD_SECONDS,
    zeroCount,
    count: histogram.count(),
    sumSeconds: histogram.sumMs() / 1000,
    spans,
    deltas: counts.map((count, index) => count - (counts[index - 1] ?? 0)),
  }
}

/** A cell that two buckets share belongs to the lower one, as with the buckets that are scraped. */
const bucketOfCell: (number | null)[] = []

function bucketOf(cell: number): number | null {
  const known = bucketOfCell[cell]
  if (known !== undefined) return known
  const us = cellFloorUs(cell)
  // Added to 0, for the ceiling of what is a little less is -0.
  const bucket = us === 0 ? null : 0 + Math.ceil(Math.log2(us / 1e6) * bucketsPerDoubling)
  bucketOfCell[cell] = bucket
  return bucket
}
