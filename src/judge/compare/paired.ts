import { tQuantile, tSurvival } from '../../lib/statistics/student-t.ts'
import { type Slice, type SlicedTiming, type Slices, timeBuckets } from '../metrics/slices.ts'

/**
 * The difference of two runs that sent the same requests at the same time. Both sides of a slice share its requests, its
 * instant and its machine, so that only their difference varies.
 */
export type PairedDifference = {
  /** NEW − OLD: of the mean logarithms of times, of shares, or of amounts per call. */
  readonly value: number
  /** Its standard error, by how the slices differ, and the degrees of freedom of that. */
  readonly error: number
  readonly freedom: number
  /** Values of both sides. */
  readonly values: number
  /** The sums of both sides over the slices that count. */
  readonly old: PairedSum
  readonly new: PairedSum
}

type PairedSum = { readonly total: number; readonly of: number }

/** What a slice adds: a mean is Σ total ÷ Σ of. */
export type Amounts = (slice: Slice) => PairedSum

/** Fewer pairs of slices do not show how much they vary. */
export const minPairs = 4

/** The pairs of slices of the same calls and stages. A slice that only one side has is left out. */
export function pairsOf(
  old: Slices,
  fresh: Slices,
  isChosen: (call: string, stage: string) => boolean,
): readonly (readonly [Slice, Slice])[] {
  return old.calls.flatMap(({ call, stage, slices }) => {
    if (!isChosen(call, stage)) return []
    const twin = fresh.calls.find(cell => cell.call === call && cell.stage === stage)
    const known = new Map(twin?.slices.map(slice => [slice.index, slice]))
    return slices.flatMap(slice => {
      const other = known.get(slice.index)
      return other === undefined ? [] : [[slice, other] as const]
    })
  })
}

/** null: too few pairs of slices have values on both sides. */
export function pairedDifference(
  pairs: readonly (readonly [Slice, Slice])[],
  amounts: Amounts,
): PairedDifference | null {
  const used = pairs
    .map(([old, fresh]) => ({ old: amounts(old), new: amounts(fresh) }))
    .filter(pair => pair.old.of > 0 && pair.new.of > 0)
    .map(pair => ({
      ...pair,
      difference: pair.new.total / pair.new.of - pair.old.total / pair.old.of,
      // The variance of a difference of means falls with this.
      weight: (pair.old.of * pair.new.of) / (pair.old.of + pair.new.of),
    }))
  const weight = used.reduce((sum, pair) => sum + pair.weight, 0)
  // As many pairs of the same weight would say as much.
  const effective = weight ** 2 / used.reduce((sum, pair) => sum + pair.weight ** 2, 0)
  if (!(effective >= minPairs)) return null
  const value = used.reduce((sum, pair) => sum + pair.weight * pair.difference, 0) / weight
  const squares = used.reduce((sum, pair) => sum + (pair.weight * (pair.difference - value)) ** 2, 0)
  const sumOf = (side: 'old' | 'new') => ({
    total: used.reduce((sum, pair) => sum + pair[side].total, 0),
    of: used.reduce((sum, pair) => sum + pair[side].of, 0),
  })
  const [old, fresh] = [sumOf('old'), sumOf('new')]
  const freedom = effective - 1
  const error = Math.sqrt((squares * effective) / freedom) / weight
  return { value, error, freedom, values: old.of + fresh.of, old, new: fresh }
}

/** The mean logarithm of a time. Its difference is the logarithm of the ratio of the geometric means. */
export const logTimes =
  (timing: SlicedTiming): Amounts =>
  ({ times }) => {
    const buckets = times[timing] ?? []
    return {
      total:
        buckets.reduce((sum, [bucket, count]) => sum + count * (bucket + 0.5), 0) * (Math.LN2 / timeBuckets.perOctave),
      of: buckets.reduce((sum, [, count]) => sum + count, 0),
    }
  }

/** The probability that such a difference, or a greater one, is by chance alone. */
export const chanceOfGreater = ({ value, error, freedom }: PairedDifference): number =>
  value === 0 ? 0.5 : error === 0 ? Number(value < 0) : tSurvival(value / error, freedom)

/** Beyond these bounds, the difference is with the probability `tail` each. */
export function differenceBounds(
  { value, error, freedom }: PairedDifference,
  tail: number,
): { low: number; high: number } {
  const margin = error === 0 ? 0 : tQuantile(tail, freedom) * error
  return { low: value - margin, high: value + margin }
}

/** Beyond this many standard errors in one of ten cases. */
const powerDeviations = 1.282

/**
 * How many more values would decide with a probability of 90 %, if the difference stays as it is: either that it is above 0
 * (`alpha` is the error of that), or that it is below the margin (`tail`).
 */
export function moreValues(
  { value, error, values }: PairedDifference,
  margin: number,
  { alpha, tail }: { readonly alpha: number; readonly tail: number },
): number {
  const factorFor = (distance: number, chance: number) =>
    distance <= 0
      ? Number.POSITIVE_INFINITY
      : ((error * (tQuantile(chance, Number.POSITIVE_INFINITY) + powerDeviations)) / distance) ** 2
  const factor = Math.min(factorFor(value, alpha), factorFor(margin - value, tail))
  return Math.max(1, Math.ceil(values * (factor - 1)))
}
