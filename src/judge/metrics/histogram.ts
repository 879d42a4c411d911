import { Int32Histogram } from 'hdr-histogram-js'
import { samplesToProve } from '../../plan/sample-size.ts'
import { into, mapBy } from '../merge.ts'
import type { Percentiles } from '../results.ts'

/** A distribution of milliseconds in bounded memory: 1 µs to 1 h, three significant digits. */
export type Histogram = {
  readonly count: () => number
  readonly clamped: () => number
  /** Rounded to nanoseconds, not to buckets, so that the order of additions does not matter; 0 if empty. */
  readonly sumMs: () => number
  /** Exact; null if empty. */
  readonly minMs: () => number | null
  readonly maxMs: () => number | null
  /** The smallest value that `percent` % of the values do not exceed, up to 0.1 % too high; null if empty. */
  readonly atPercentile: (percent: number) => number | null
  /** For each boundary, the number of values up to it. The boundaries ascend. */
  readonly countsUpTo: (boundariesMs: readonly number[]) => readonly number[]
  /** Visits each non-empty bucket by its index. */
  readonly eachBucket: (visit: (index: number, count: number) => void) => void
  readonly snapshot: () => HistogramSnapshot
}

/** The content of a histogram as plain data, for merging. */
export type HistogramSnapshot = {
  /** Pairs: the index of a non-empty bucket, then its count. */
  readonly buckets: Uint32Array
  readonly count: number
  readonly clamped: number
  readonly sumNs: number
  readonly minMs: number
  readonly maxMs: number
}

export type MutableHistogram = Histogram & {
  /** Values out of range are clamped, and counted as `clamped`; NaN is left out. */
  readonly record: (ms: number) => void
  /** Adds the content of another one. */
  readonly merge: (snapshot: HistogramSnapshot) => void
}

const US_PER_MS = 1000
const NS_PER_MS = 1e6
const HIGHEST_US = 3600 * 1000 * US_PER_MS
/** A histogram grows when a value needs it: the whole range would take 94 KB, of which most stay empty. */
const FIRST_HIGHEST_US = 2 ** 17
const SIGNIFICANT_DIGITS = 3

export function createHistogram(): MutableHistogram {
  const hdr = new Int32Histogram(1, FIRST_HIGHEST_US, SIGNIFICANT_DIGITS)
  let clamped = 0
  let sumNs = 0
  let minMs = Number.POSITIVE_INFINITY
  let maxMs = Number.NEGATIVE_INFINITY

  const addTo = (index: number, count: number) => {
    if (index >= hdr.countsArrayLength) hdr.resize(Math.min(HIGHEST_US, 2 * bucketFloorUs(index)))
    hdr.addToCountAtIndex(index, count)
    hdr.addToTotalCount(count)
  }

  const eachBucket = (visit: (index: number, count: number) => void) => {
    // Most of the range is above the largest value.
    const last = hdr.totalCount === 0 ? -1 : bucketOf(Math.round(maxMs * US_PER_MS))
    for (let index = 0; index <= last; index++) {
      const count = hdr.getCountAtIndex(index)
      if (count > 0) visit(index, count)
    }
  }

  return {
    record: ms => {
      if (Number.isNaN(ms)) return
      const us = Math.round(ms * US_PER_MS)
      const within = Math.min(Math.max(us, 0), HIGHEST_US)
      if (within !== us) clamped++
      addTo(bucketOf(within), 1)
      const value = within === us ? ms : within / US_PER_MS
      sumNs += Math.round(value * NS_PER_MS)
      if (value < minMs) minMs = value
      if (value > maxMs) maxMs = value
    },
    merge: ({ buckets, count: _, ...other }) => {
      for (let at = 0; at < buckets.length; at += 2) addTo(buckets[at] ?? 0, buckets[at + 1] ?? 0)
      clamped += other.clamped
      sumNs += other.sumNs
      minMs = Math.min(minMs, other.minMs)
      maxMs = Math.max(maxMs, other.maxMs)
    },
    count: () => hdr.totalCount,
    clamped: () => clamped,
    sumMs: () => sumNs / NS_PER_MS,
    minMs: () => (hdr.totalCount === 0 ? null : minMs),
    maxMs: () => (hdr.totalCount === 0 ? null : maxMs),
    atPercentile: percent => {
      if (hdr.totalCount === 0) return null
      // HdrHistogram returns the upper end of a bucket, which may exceed every value in it.
      return Math.max(minMs, Math.min(maxMs, hdr.getValueAtPercentile(percent) / US_PER_MS))
    },
    countsUpTo: boundariesMs => {
      const lastIndices = boundariesMs.map(ms => bucketOf(Math.min(ms * US_PER_MS, HIGHEST_US)))
      const counts = boundariesMs.map(() => 0)
      let bucket = 0
      let total = 0
      eachBucket((index, count) => {
        for (; bucket < lastIndices.length && index > (lastIndices[bucket] ?? 0); bucket++) counts[bucket] = total
        total += count
      })
      return counts.fill(total, bucket)
    },
    eachBucket,
    snapshot: () => {
      const buckets: number[] = []
      eachBucket((index, count) => buckets.push(index, count))
      return { buckets: Uint32Array.from(buckets), count: hdr.totalCount, clamped, sumNs, minMs, maxMs }
    },
  }
}

const hdrBuckets = new Int32Histogram(1, HIGHEST_US, SIGNIFICANT_DIGITS)
const bucketsPerOctave = hdrBuckets.subBucketHalfCount
const octaveBits = Math.log2(bucketsPerOctave)

/**
 * The index of the bucket for a whole number of microseconds. HdrHistogram computes the same index with two powers and a
 * logarithm, which would take most of the time of recording a value.
 */
export function bucketOf(us: number): number {
  const octave = Math.max(0, 31 - octaveBits - Math.clz32(us))
  return octave * bucketsPerOctave + (us >>> octave)
}

export const emptyHistogram: Histogram = createHistogram()

/** The lowest whole number of microseconds in the bucket of this index. */
export const bucketFloorUs = (index: number): number => hdrBuckets.valueFromIndex(index)

/** The current content of all of them, in one. */
export function mergeHistograms(histograms: readonly Histogram[]): Histogram {
  const [first, ...rest] = histograms.filter(histogram => histogram.count() > 0)
  if (first === undefined) return emptyHistogram
  if (rest.length === 0) return first
  const merged = createHistogram()
  for (const histogram of [first, ...rest]) merged.merge(histogram.snapshot())
  return merged
}

/** Adds each snapshot to the histogram of the same name. */
export const mergeHistogramsInto = mapBy(into<HistogramSnapshot, MutableHistogram>, createHistogram)

export const histogramSnapshots = <Name>(
  histograms: ReadonlyMap<Name, Histogram>,
): ReadonlyMap<Name, HistogramSnapshot> =>
  new Map([...histograms].map(([name, histogram]) => [name, histogram.snapshot()]))

/** The number of samples needed to bound a percentile; infinite for p0 and p100. */
export const samplesFor = (percent: number): number =>
  percent > 0 && percent < 100 ? samplesToProve(percent) : Number.POSITIVE_INFINITY

/** null: too few samples. */
export function percentileMs(histogram: Histogram, percent: number): number | null {
  return histogram.count() < samplesFor(percent) ? null : histogram.atPercentile(percent)
}

export function percentilesOf(histogram: Histogram): Percentiles {
  const count = histogram.count()
  return {
    count,
    mean: meanMs(histogram),
    p50: percentileMs(histogram, 50),
    p90: percentileMs(histogram, 90),
    p95: percentileMs(histogram, 95),
    p99: percentileMs(histogram, 99),
    p999: percentileMs(histogram, 99.9),
    max: histogram.maxMs(),
  }
}

export const meanMs = (histogram: Histogram): number | null =>
  histogram.count() === 0 ? null : histogram.sumMs() / histogram.count()
