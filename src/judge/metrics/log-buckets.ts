import { bucketFloorUs, type Histogram } from './histogram.ts'

/** Buckets that grow by a constant factor: `perOctave` buckets from a value to its double. */
type LogBuckets = {
  readonly perOctave: number
  /** Bucket *i* holds values from `floorOf(i)` up to the floor of the next one. Values outside go to the first or last. */
  readonly count: number
  readonly bucketOf: (value: number) => number
  /** The lower end of a bucket; a fraction gives a value inside it. */
  readonly floorOf: (bucket: number) => number
}

/** Buckets that start at `from`. Values must not be NaN. */
export function createLogBuckets(from: number, perOctave: number, count: number): LogBuckets {
  return {
    perOctave,
    count,
    bucketOf: value => {
      const bucket = Math.floor(octavesAbove(from, value) * perOctave)
      return bucket > 0 ? Math.min(bucket, count - 1) : 0
    },
    floorOf: bucket => from * 2 ** (bucket / perOctave),
  }
}

const octavesAbove = (from: number, value: number): number => Math.log2(value / from)

/**
 * A native histogram of Prometheus: bucket *i* holds values in seconds above `growth ** (i - 1)` and up to `growth ** i`.
 * `growth` is 2 to the power of `2 ** -schema`.
 */
export type NativeHistogram = {
  readonly schema: number
  /** Values up to this many seconds count as zero. */
  readonly zeroThreshold: number
  readonly zeroCount: number
  readonly count: number
  readonly sumSeconds: number
  /** Runs of consecutive buckets: `offset` is the gap after the previous run; for the first one, the start. */
  readonly spans: readonly { readonly offset: number; readonly length: number }[]
  /** The difference between the counts of each bucket and the previous one. */
  readonly deltas: readonly number[]
}

/** Buckets grow by 2.2 %, which bounds the error of quantiles. */
export const nativeSchema = 5
const nativePerOctave = 2 ** nativeSchema
/** Values are whole microseconds. */
const zeroThresholdSeconds = 0.5e-6

export function nativeHistogram(histogram: Histogram): NativeHistogram {
  const spans: { offset: number; length: number }[] = []
  const counts: number[] = []
  let zeroCount = 0
  let last: number | null = null
  histogram.eachBucket((hdrBucket, count) => {
    const bucket = nativeBucketOf(hdrBucket)
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
    zeroThreshold: zeroThresholdSeconds,
    zeroCount,
    count: histogram.count(),
    sumSeconds: histogram.sumMs() / 1000,
    spans,
    deltas: counts.map((count, index) => count - (counts[index - 1] ?? 0)),
  }
}

/** A histogram bucket that spans two native buckets belongs to the lower one, as in a scrape. */
const nativeBuckets: (number | null)[] = []

function nativeBucketOf(hdrBucket: number): number | null {
  const known = nativeBuckets[hdrBucket]
  if (known !== undefined) return known
  const us = bucketFloorUs(hdrBucket)
  // A native bucket includes its upper end, not its lower one. Adding 0 turns -0 into 0.
  const bucket = us === 0 ? null : 0 + Math.ceil(octavesAbove(1e6, us) * nativePerOctave)
  nativeBuckets[hdrBucket] = bucket
  return bucket
}
