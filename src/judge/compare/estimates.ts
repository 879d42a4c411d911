import { tSurvival } from '../../lib/statistics/student-t.ts'
import { samplesFor } from '../metrics/histogram.ts'
import { type BucketCounts, type Slice, type SlicedTiming, type Slices, timeBuckets } from '../metrics/slices.ts'

/**
 * A number of one run, with its uncertainty. Values close in time are correlated, so slices count as independent, and the
 * values in them do not.
 */
export type Estimate = {
  /** For the report. */
  readonly value: number
  /** For the comparison: the logarithm of the value if changes are relative. */
  readonly point: number
  /** Of the point, within the run. */
  readonly variance: number
  /** Degrees of freedom of that variance. */
  readonly freedom: number
}

type Amount = (slice: Slice) => number

/** Fewer slices with values do not show how steady they are. */
export const minSlices = 4

/** A time with fewer values is not estimated. */
export const minValues = 8

/** With fewer values, ranks bound a median better than Woodruff's interval. */
export const enoughForWoodruff = 100

/** A percentile of a timing in ms; null: too few values to bound it. */
export function estimatePercentile(slices: readonly Slice[], timing: SlicedTiming, percent: number): Estimate | null {
  const all = sumBuckets(slices.map(({ times }) => times[timing] ?? []))
  const count = countOf(all)
  if (count < Math.max(minValues, samplesFor(percent))) return null
  const share = percent / 100
  const position = quantilePosition(all, share)
  const below = (slice: Slice) => countBelow(slice.times[timing] ?? [], position)
  const values = (slice: Slice) => countOf(slice.times[timing] ?? [])
  const found = ratioOf(slices, below, values)
  if (found === null) return null
  // Woodruff's interval: the error of the share below the percentile gives the error of the percentile.
  const off = Math.sqrt(Math.max(found.variance, (share * (1 - share)) / count))
  const margin = 0.5 / count
  const low = quantilePosition(all, Math.max(margin, share - off))
  const high = quantilePosition(all, Math.min(1 - margin, share + off))
  const deviation = ((high - low) * Math.LN2) / timeBuckets.perOctave / 2
  const value = positionMs(position)
  return { value, point: Math.log(value), variance: deviation ** 2, freedom: found.freedom }
}

/**
 * How much a percentile of a run would vary with a single value, by the logarithm, and how many values there are; null: too
 * few. Values close in time are alike, which the slices show.
 */
export function spreadOf(
  { calls }: Slices,
  of: {
    readonly call: string | null
    readonly stage: string | null
    readonly timing: SlicedTiming
    readonly percent: number
  },
): { readonly deviation: number; readonly values: number } | null {
  const slices = new Map<string, Slice>()
  for (const cell of calls) {
    if ((of.call ?? cell.call) !== cell.call || (of.stage ?? cell.stage) !== cell.stage) continue
    for (const slice of cell.slices) {
      const key = `${cell.stage} ${slice.index}`
      const times = sumBuckets([slices.get(key)?.times[of.timing] ?? [], slice.times[of.timing] ?? []])
      slices.set(key, { ...slice, times: { [of.timing]: times } })
    }
  }
  const all = [...slices.values()]
  const estimate = estimatePercentile(all, of.timing, of.percent)
  const values = all.reduce((sum, slice) => sum + countOf(slice.times[of.timing] ?? []), 0)
  return estimate === null ? null : { deviation: Math.sqrt(estimate.variance * values), values }
}

/** A rate per second of the duration of the stage. */
export function estimateRate(slices: readonly Slice[], count: Amount): Estimate | null {
  const seconds = (slice: Slice) => slice.activeMs / 1000
  const found = ratioOf(slices, count, seconds)
  if (found === null) return null
  const { total, of, ratio, variance, freedom } = found
  // For zero, half an event: a very low logarithm with a large variance.
  const shown = total === 0 ? 0.5 / of : ratio
  const relative = total === 0 ? 2 : variance / ratio ** 2
  return { value: ratio, point: Math.log(shown), variance: relative, freedom }
}

/** A share from 0 to 1. One of each kind is added, so that rare does not count as never. */
export function estimateShare(slices: readonly Slice[], count: Amount, among: Amount): Estimate | null {
  const found = ratioOf(slices, count, among)
  if (found === null) return null
  const { total, of, ratio, variance, freedom } = found
  const point = (total + 1) / (of + 2)
  return { value: ratio, point, variance: Math.max(variance, (point * (1 - point)) / (of + 2)), freedom }
}

/** A mean; null: too few values. */
export function estimateMean(slices: readonly Slice[], amount: Amount, among: Amount): Estimate | null {
  const found = ratioOf(slices, amount, among)
  if (found === null || found.of < samplesFor(50)) return null
  const { ratio, variance, freedom } = found
  return { value: ratio, point: Math.log(ratio), variance: ratio === 0 ? 0 : variance / ratio ** 2, freedom }
}

/** Σ amount ÷ Σ among, and its variance by the deviations of the slices; null: too few slices with values. */
function ratioOf(slices: readonly Slice[], amount: Amount, among: Amount) {
  const used = slices.filter(slice => among(slice) > 0)
  if (used.length < minSlices) return null
  const total = used.reduce((sum, slice) => sum + amount(slice), 0)
  const of = used.reduce((sum, slice) => sum + among(slice), 0)
  const ratio = total / of
  const freedom = used.length - 1
  const squares = used.reduce((sum, slice) => sum + (amount(slice) - ratio * among(slice)) ** 2, 0)
  return { total, of, ratio, variance: (squares * used.length) / freedom / of ** 2, freedom }
}

/** A position on the scale of buckets; fractions are inside a bucket. */
type Position = number

/** The position with this share of the values below it, interpolated within a bucket. */
export function quantilePosition(buckets: BucketCounts, share: number): Position {
  let left = share * countOf(buckets)
  for (const [bucket, count] of buckets) {
    if (left <= count) return bucket + left / count
    left -= count
  }
  return (buckets.at(-1)?.[0] ?? 0) + 1
}

export const positionMs = (position: Position): number => timeBuckets.floorOf(position) / 1000

const countBelow = (buckets: BucketCounts, position: Position): number =>
  buckets.reduce((sum, [bucket, count]) => sum + count * Math.min(1, Math.max(0, position - bucket)), 0)

export const countOf = (buckets: BucketCounts): number => buckets.reduce((sum, [, count]) => sum + count, 0)

export function sumBuckets(parts: readonly BucketCounts[]): BucketCounts {
  const sums = new Map<number, number>()
  for (const buckets of parts) for (const [bucket, count] of buckets) sums.set(bucket, (sums.get(bucket) ?? 0) + count)
  return [...sums].toSorted(([a], [b]) => a - b)
}

export const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length

/** The values of a time, slice by slice. Slices without values are left out. */
type Sample = readonly BucketCounts[]

/** The probabilities of scores at least as high, and at least as low, if both sides have the same distribution. */
type RankChances = { readonly ofHigher: number; readonly ofLower: number }

/** The score of a value by its bucket, where `all` are the values of both sides. */
type Scores = (all: BucketCounts) => ReadonlyMap<number, number>

/** By ranks, as Wilcoxon, Mann and Whitney do. Equal values share their mean rank. */
export const byRank: Scores = all => {
  let below = 0
  return new Map(
    all.map(([bucket, count]) => {
      const rank = below + (count + 1) / 2
      below += count
      return [bucket, rank]
    }),
  )
}

/** By whether a value is above a percentile of all values. */
export const byExcess =
  (percent: number): Scores =>
  all => {
    const last = Math.floor(quantilePosition(all, percent / 100))
    return new Map(all.map(([bucket]) => [bucket, bucket > last ? 1 : 0]))
  }

/**
 * Whether the times of `run` score higher than those of `base`. Whole slices are permuted and not values, because values
 * of one slice resemble each other. `shift` moves the values of `base` up by this many buckets. null: a side has no value.
 */
export function testRanks(run: Sample, base: Sample, scores: Scores, shift = 0): RankChances | null {
  const shifted = base.map(buckets => buckets.map(([bucket, count]) => [bucket + shift, count] as const))
  const slices = [...run, ...shifted]
  const all = sumBuckets(slices)
  const [count, ofRun] = [countOf(all), sum(run.map(countOf))]
  if (ofRun === 0 || ofRun === count) return null

  const scoreOf = scores(all)
  const mean = sum(all.map(([bucket, times]) => times * (scoreOf.get(bucket) ?? 0))) / count
  const deviation = (bucket: number) => (scoreOf.get(bucket) ?? 0) - mean
  const totals = slices.map(buckets => sum(buckets.map(([bucket, times]) => times * deviation(bucket))))
  const statistic = sum(totals.slice(0, run.length))

  const asSlices = permuted(run.length, slices.length, sum(totals.map(each => each ** 2)))
  const asValues = permuted(ofRun, count, sum(all.map(([bucket, times]) => times * deviation(bucket) ** 2)))
  // As in all estimates, values never count as more independent than they can be.
  const error = Math.sqrt(Math.max(asSlices, asValues))
  if (error === 0) return { ofHigher: 0.5, ofLower: 0.5 }
  const chanceOf = (excess: number) => tSurvival((excess - halfStep) / error, Number.POSITIVE_INFINITY)
  return { ofHigher: chanceOf(statistic), ofLower: chanceOf(-statistic) }
}

/** The statistic has steps of about 1, and the normal distribution has none. */
const halfStep = 0.5

/** The variance of the sum of `taken` of `count` numbers, chosen at random; `squares` is the sum of their squares. */
const permuted = (taken: number, count: number, squares: number): number =>
  ((taken * (count - taken)) / (count * (count - 1))) * squares

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
