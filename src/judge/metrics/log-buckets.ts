import { bucketFloorUs, type Histogram } from './histogram.ts'

/** Buckets that each are wider than the one below by the same factor: `perOctave` of them from a value to its double. */
type LogBuckets = {
  readonly perOctave: number
  /** Bucket *i* holds values from `floorOf(i)` up to the floor of the next one. Values outside go to the first or last. */
  readonly count: number
  readonly bucketOf: (value: number) => number
  /** The lower end of a bucket; a fraction gives a value inside of it. */
  readonly floorOf: (bucket: number) => number
}

/** Buckets that begin at `from`. A value that is no number must not come here. */
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
  /** Stretches of buckets without a gap: how far each begins after the end of the one before, the first after 0. */
  readonly spans: readonly { readonly offset: number; readonly length: number }[]
  /** What each bucket of the spans holds more than the one before it. */
  readonly deltas: readonly number[]
}

/** Buckets that grow by 2.2 %: what is read from them is off by no more. */
export const nativeSchema = 5
const nativePerOctave = 2 ** nativeSchema
/** Values are kept in whole microseconds. */
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

/** By the bucket of the histogram: one that lies in two native buckets belongs to the lower one, as with a scrape. */
const nativeBuckets: (number | null)[] = []

function nativeBucketOf(hdrBucket: number): number | null {
  const known = nativeBuckets[hdrBucket]
  if (known !== undefined) return known
  const us = bucketFloorUs(hdrBucket)
  // A native bucket holds its upper end and not its lower one. Added to 0, for the ceiling of a little less is -0.
  const bucket = us === 0 ? null : 0 + Math.ceil(octavesAbove(1e6, us) * nativePerOctave)
  nativeBuckets[hdrBucket] = bucket
  return bucket
}
