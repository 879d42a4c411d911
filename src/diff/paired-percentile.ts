import { type BucketCounts, type SlicedTiming, timeBuckets } from '../judge/metrics/slices.ts'

export const comparedTimings = [
  'latency',
  'service-time',
  'ttft',
  'tpot',
  'icl',
] as const satisfies readonly SlicedTiming[]

/** A percentile of a time, such as `p95.ttft`. */
export type PercentileName = `p${number}.${(typeof comparedTimings)[number]}`

const named = new RegExp(`^p(\\d{2}(?:\\.\\d)?)\\.(${comparedTimings.join('|')})$`)

/** null: it is not a name of a percentile from 50 on. */
export function percentileOf(name: string): { readonly share: number; readonly timing: SlicedTiming } | null {
  const [, percent, timing] = named.exec(name) ?? []
  const known = comparedTimings.find(each => each === timing)
  return known === undefined || Number(percent) < 50 ? null : { share: Number(percent) / 100, timing: known }
}

export const isPercentileName = (name: string): name is PercentileName => percentileOf(name) !== null

/** The times of both sides in one slice. */
export type PairedTimesOfSlice = { readonly old: BucketCounts; readonly new: BucketCounts }

/** How a percentile of NEW differs from that of OLD, as logarithms of ratios. */
export type PairedPercentile = {
  readonly value: number
  /** Each with 95 % confidence; at most a factor of 16. */
  readonly low: number
  readonly high: number
  /** The probability that equal sides differ as much, in this direction and in the other. */
  readonly chanceOfGreater: number
  readonly chanceOfLess: number
  /** In milliseconds. */
  readonly old: number
  readonly new: number
  /** Values of both sides. */
  readonly values: number
}

/** A bound that the slices do not show is this many buckets away: a factor of 16. */
const maxShift = 4 * timeBuckets.perOctave
/** The error of a bound on either side. */
export const boundError = 0.05
const perBucket = Math.LN2 / timeBuckets.perOctave

/**
 * Compares a percentile in pairs of slices. If NEW takes r times as long as OLD, then its times divided by r exceed the
 * percentile of all times together as often as those of OLD do, slice by slice; and had both sides of a slice changed
 * places, their difference would only have another sign. So the chance of a sum of differences is known exactly: that of
 * random signs. The ratios that this test does not refuse are the interval. null: no pair has times of both sides.
 */
export function pairedPercentile(all: readonly PairedTimesOfSlice[], share: number): PairedPercentile | null {
  const pairs = all.filter(pair => pair.old.length > 0 && pair.new.length > 0)
  if (pairs.length === 0) return null
  const [old, fresh] = [pooled(pairs.map(pair => pair.old)), pooled(pairs.map(pair => pair.new))]
  const [before, now] = [
    percentileIn([{ counts: old, shift: 0 }], share),
    percentileIn([{ counts: fresh, shift: 0 }], share),
  ]
  /** The differences of slices if the times of NEW were lower by `shift` buckets. */
  const differencesAt = (shift: number): readonly number[] => {
    const both = [
      { counts: old, shift: 0 },
      { counts: fresh, shift },
    ]
    const bound = percentileIn(both, share)
    return pairs.map(pair => {
      const [ofOld, ofNew] = [sizeOf(pair.old), sizeOf(pair.new)]
      const difference = countAbove(pair.new, bound + shift) / ofNew - countAbove(pair.old, bound) / ofOld
      // The variance of a difference of shares falls with this.
      return (difference * ofOld * ofNew) / (ofOld + ofNew)
    })
  }
  const value = now - before
  const equal = differencesAt(0)
  const high = shiftFrom(value, 1, shift => chanceOfSigns(differencesAt(shift).map(each => -each)))
  const low = shiftFrom(value, -1, shift => chanceOfSigns(differencesAt(shift)))
  const ms = (bucket: number) => timeBuckets.floorOf(bucket) / 1000
  return {
    ...{ value: value * perBucket, low: low * perBucket, high: high * perBucket },
    chanceOfGreater: chanceOfSigns(equal),
    chanceOfLess: chanceOfSigns(equal.map(each => -each)),
    ...{ old: ms(before), new: ms(now), values: sizeOf(old) + sizeOf(fresh) },
  }
}

/** How many halvings make a bound exact to a fraction of a bucket. */
const halvings = 12

/** The first shift in a direction that the test refuses. */
function shiftFrom(value: number, direction: 1 | -1, chanceAt: (shift: number) => number): number {
  const isRefused = (distance: number) => chanceAt(value + direction * distance) < boundError
  let far = 1
  while (far < maxShift && !isRefused(far)) far *= 2
  if (far >= maxShift) return value + direction * maxShift
  let near = far === 1 ? 0 : far / 2
  for (let step = 0; step < halvings; step++) {
    const middle = (near + far) / 2
    if (isRefused(middle)) far = middle
    else near = middle
  }
  return value + direction * far
}

const sizeOf = (counts: BucketCounts): number => counts.reduce((sum, [, count]) => sum + count, 0)

function pooled(all: readonly BucketCounts[]): BucketCounts {
  const counts = new Map<number, number>()
  for (const each of all) for (const [bucket, count] of each) counts.set(bucket, (counts.get(bucket) ?? 0) + count)
  return [...counts].toSorted(([a], [b]) => a - b)
}

/** The values of a bucket are spread over it evenly. */
const countAbove = (counts: BucketCounts, bound: number): number =>
  counts.reduce((sum, [bucket, count]) => sum + count * Math.min(1, Math.max(0, bucket + 1 - bound)), 0)

type Shifted = { readonly counts: BucketCounts; readonly shift: number }

/** The bucket, with a fraction, that this share of all values is below. */
function percentileIn(all: readonly Shifted[], share: number): number {
  const wanted = (1 - share) * all.reduce((sum, { counts }) => sum + sizeOf(counts), 0)
  const above = (bound: number) => all.reduce((sum, { counts, shift }) => sum + countAbove(counts, bound + shift), 0)
  let low = Math.min(...all.map(({ counts, shift }) => (counts[0]?.[0] ?? 0) - shift))
  let high = Math.max(...all.map(({ counts, shift }) => (counts.at(-1)?.[0] ?? 0) + 1 - shift))
  for (let step = 0; step < 40; step++) {
    const middle = (low + high) / 2
    if (above(middle) > wanted) low = middle
    else high = middle
  }
  return high
}

/** Sums of signs are counted in steps of this share of the greatest sum. */
const steps = 1_000

/** The probability that a sum is at least as great if each term has either sign with the same chance. */
function chanceOfSigns(terms: readonly number[]): number {
  const greatest = terms.reduce((sum, term) => sum + Math.abs(term), 0)
  if (greatest === 0) return 1
  // Rounding takes no side, so that the chance of the rounded sum is exact.
  const rounded = terms.map(term => Math.round((term / greatest) * steps))
  const reach = rounded.reduce((sum, term) => sum + Math.abs(term), 0)
  const found = rounded.reduce((sum, term) => sum + term, 0)
  // A negative term is twice its size below a positive one: how far the sum is below its greatest.
  const chances = new Float64Array(reach + 1)
  chances[0] = 1
  let used = 0
  for (const term of rounded) {
    const step = Math.abs(term)
    used += step
    for (let below = used; below >= 0; below--)
      chances[below] = ((chances[below] ?? 0) + (below >= step ? (chances[below - step] ?? 0) : 0)) / 2
  }
  return chances.subarray(0, (reach - found) / 2 + 1).reduce((sum, chance) => sum + chance, 0)
}
