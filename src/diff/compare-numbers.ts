import { type Slice, type SlicedTiming, type Slices, slicesPerStage, timeBuckets } from '../judge/metrics/slices.ts'
import { formatDuration, formatRatio, plural } from '../lib/format.ts'
import { tQuantile, tSurvival } from '../lib/statistics/student-t.ts'
import type { Report } from '../report/document.ts'
import { defaultMargins, type MarginName, type Margins } from './margins.ts'
import {
  boundError,
  comparedTimings,
  isPercentileName,
  type PairedPercentile,
  type PercentileName,
  pairedPercentile,
  percentileOf,
} from './paired-percentile.ts'

/** What one side of a diff gave. */
export type DiffSide = { readonly report: Report; readonly slices: Slices }

export type SideVerdict = 'no-worse' | 'worse' | 'cannot-tell'

/** A number of both sides, over all calls or of one. */
export type ComparedNumber = {
  readonly measure: MarginName | PercentileName
  /** null: over all calls. */
  readonly call: string | null
  /** ms: the geometric mean, or the percentile. ratio: a share of the requests. credits, usd: for each successful call. */
  readonly unit: 'ms' | 'ratio' | 'credits' | 'usd'
  readonly old: number
  readonly new: number
  /** NEW ÷ OLD − 1; for shares NEW − OLD. `low` and `high` each hold with 95 % confidence. */
  readonly change: { readonly value: number; readonly low: number; readonly high: number }
  readonly margin: number
  /** Values of both sides. */
  readonly values: number
  readonly verdict: SideVerdict | 'better'
  /** Whether NEW is only no worse if this is shown to be within its margin. */
  readonly isRequired: boolean
  /** How many more requests to both sides would decide; null: it is decided. */
  readonly moreRequests: number | null
}

type Measure = {
  readonly name: MarginName
  readonly unit: ComparedNumber['unit']
  readonly amounts: Amounts
}

/** The mean logarithm of a time. Its difference is the logarithm of the ratio of the geometric means. */
const logTimes =
  (timing: SlicedTiming): Amounts =>
  ({ times }) => {
    const buckets = times[timing] ?? []
    return {
      total:
        buckets.reduce((sum, [bucket, count]) => sum + count * (bucket + 0.5), 0) * (Math.LN2 / timeBuckets.perOctave),
      of: buckets.reduce((sum, [, count]) => sum + count, 0),
    }
  }

const timed = (name: MarginName & SlicedTiming): Measure => ({ name, unit: 'ms', amounts: logTimes(name) })

const measures: readonly Measure[] = [
  ...comparedTimings.map(timed),
  { name: 'failures', unit: 'ratio', amounts: ({ failed, faulty, sent }) => ({ total: failed + faulty, of: sent }) },
  { name: 'refusals', unit: 'ratio', amounts: ({ refused, sent }) => ({ total: refused, of: sent }) },
  {
    name: 'credits',
    unit: 'credits',
    amounts: ({ claimedCredits, succeeded }) => ({ total: Number(claimedCredits), of: succeeded }),
  },
  { name: 'cost', unit: 'usd', amounts: ({ claimedUsd, succeeded }) => ({ total: Number(claimedUsd), of: succeeded }) },
]

/** Times that must be within their margins, if there are any. */
const required: readonly MarginName[] = ['latency', 'ttft', 'tpot']
/** The probability that equal targets seem different in any of these times, and in any other number. */
const falseAlarms = { required: 0.003, others: 0.002 }

type Tested = {
  readonly name: ComparedNumber['measure']
  readonly unit: ComparedNumber['unit']
  readonly call: string | null
  readonly found: Found
}

/** A difference, its bounds, and how likely chance alone gives it. Those of times are logarithms of ratios. */
type Found = PairedPercentile & {
  /** Its standard error. */
  readonly error: number
}

/** Each measure over all calls, and of each call. */
export function compareNumbers(old: DiffSide, fresh: DiffSide, margins: Margins): readonly ComparedNumber[] {
  const warmUps = old.report.plan?.stages.flatMap(({ name, isWarmUp }) => (isWarmUp ? name : [])) ?? []
  const calls = [...new Set(old.slices.calls.map(({ call }) => call))]
  const stages = [...new Set(old.slices.calls.map(({ stage }) => stage))].filter(stage => !warmUps.includes(stage))
  const pairsFor = (call: string | null, stage: string) =>
    pairsOf(old.slices, fresh.slices, (name, of) => (call ?? name) === name && of === stage)
  const means = measures.flatMap(({ name, unit, amounts }) =>
    // What calls cost differs so much that only their own mean means something.
    [...(unit === 'ms' || unit === 'ratio' ? [null] : []), ...calls].flatMap((call): readonly Tested[] => {
      const difference = pairedDifference(
        stages.flatMap(stage => pairsFor(call, stage)),
        amounts,
      )
      const isEmpty = difference === null || (difference.old.total === 0 && difference.new.total === 0)
      return isEmpty ? [] : [{ name, unit, call, found: foundMean(difference, unit === 'ms') }]
    }),
  )
  const percentiles = percentilesIn(margins).flatMap(name =>
    [null, ...calls].flatMap((call): readonly Tested[] => {
      const found = foundPercentile(
        name,
        stages.map(stage => pairsFor(call, stage)),
      )
      return found === null ? [] : [{ name, unit: 'ms', call, found }]
    }),
  )
  const tested = [...means, ...percentiles]
  const isRequired = ({ call, name, unit }: Tested) =>
    (call === null && required.some(each => each === name)) ||
    (margins[name] !== undefined && (call === null || unit === 'credits' || unit === 'usd'))
  const all = { required: tested.filter(isRequired).length, others: tested.filter(each => !isRequired(each)).length }
  return tested.map(each => {
    const group = isRequired(each) ? 'required' : 'others'
    const margin = margins[each.name] ?? (isPercentileName(each.name) ? 0 : defaultMargins[each.name])
    return judged(each, { margin, alpha: falseAlarms[group] / all[group], isRequired: group === 'required' })
  })
}

/** The mean times of both sides in a slice of time. */
type SlicePair = {
  /** On the clock of both runs, in milliseconds. */
  readonly startMs: number
  readonly endMs: number
  /** Geometric means of all calls in milliseconds. */
  readonly old: number
  readonly new: number
}

/** A time by slices, as the pairs that its comparison uses. */
export type PairedTimes = { readonly measure: MarginName; readonly slices: readonly SlicePair[] }

/** The times of all calls that the verdict waits for, slice by slice. */
export function timesBySlice(old: DiffSide, fresh: DiffSide): readonly PairedTimes[] {
  const stages = (old.report.plan?.stages ?? []).filter(({ isWarmUp }) => !isWarmUp)
  return measures.flatMap(({ name, amounts }) => {
    if (!required.includes(name)) return []
    const slices = stages.flatMap(({ name: stage, durationMs }) => {
      const pairs = pairsOf(old.slices, fresh.slices, (_, of) => of === stage)
      const sliceMs = durationMs / slicesPerStage
      return [...new Set(pairs.map(([{ index }]) => index))].flatMap((index): readonly SlicePair[] => {
        const meanOf = (side: 0 | 1) => {
          const sums = pairs.flatMap(pair => (pair[0].index === index ? amounts(pair[side]) : []))
          const of = sums.reduce((sum, each) => sum + each.of, 0)
          return of === 0 ? null : Math.exp(sums.reduce((sum, { total }) => sum + total, 0) / of) / 1000
        }
        const [before, now] = [meanOf(0), meanOf(1)]
        if (before === null || now === null) return []
        return [{ startMs: index * sliceMs, endMs: (index + 1) * sliceMs, old: before, new: now }]
      })
    })
    return slices.length === 0 ? [] : [{ measure: name, slices: slices.toSorted((a, b) => a.startMs - b.startMs) }]
  })
}

/** The times that somebody gave a margin, and that could not be compared. */
export const missingTimes = (numbers: readonly ComparedNumber[], margins: Margins): readonly string[] => {
  const times = measures.flatMap(({ name, unit }) => (unit === 'ms' && margins[name] !== undefined ? name : []))
  return [...times, ...percentilesIn(margins)].filter(name => numbers.every(({ measure }) => measure !== name))
}

const percentilesIn = (margins: Margins): readonly PercentileName[] => Object.keys(margins).filter(isPercentileName)

/** All calls of a slice are one pair, since what disturbs a side at an instant disturbs all of its calls. */
function foundPercentile(name: PercentileName, stages: readonly SlicePairs[]): Found | null {
  const percentile = percentileOf(name)
  if (percentile === null) return null
  const timesOf = ({ times }: Slice) => times[percentile.timing] ?? []
  const slices = stages.flatMap(pairs =>
    [...new Set(pairs.map(([{ index }]) => index))].map(index => {
      const same = pairs.filter(([old]) => old.index === index)
      return { old: same.flatMap(([old]) => timesOf(old)), new: same.flatMap(([, fresh]) => timesOf(fresh)) }
    }),
  )
  const found = pairedPercentile(slices, percentile.share)
  return found && { ...found, error: (found.high - found.low) / (2 * normalBound) }
}

function foundMean(difference: PairedDifference, isTime: boolean): Found {
  const mean = (sum: PairedSum) => (isTime ? Math.exp(sum.total / sum.of) / 1000 : sum.total / sum.of)
  const { value, error, values } = difference
  return {
    ...{ value, error, values, ...differenceBounds(difference) },
    chanceOfGreater: chanceOfGreater(difference),
    chanceOfLess: chanceOfGreater({ ...difference, value: -value }),
    ...{ old: mean(difference.old), new: mean(difference.new) },
  }
}

type NumberTerms = { readonly margin: number; readonly alpha: number; readonly isRequired: boolean }

function judged({ name, unit, call, found }: Tested, { margin, alpha, isRequired }: NumberTerms): ComparedNumber {
  const isTime = unit === 'ms'
  // Amounts are compared by their ratio, too.
  const scale = unit === 'ratio' || isTime || found.old === 0 ? 1 : found.old
  const { value, low, high } = found
  const shown = (value: number) => (isTime ? Math.expm1(value) : value / scale)
  const limit = isTime ? Math.log1p(margin) : margin * scale
  const isWorse = found.chanceOfGreater < alpha && high >= limit && value > 0
  const isBetter = found.chanceOfLess < alpha && value < 0
  const verdict = isWorse ? 'worse' : isBetter ? 'better' : high < limit ? 'no-worse' : 'cannot-tell'
  return {
    ...{ measure: name, call, unit, margin, verdict },
    ...{ old: found.old, new: found.new, values: found.values },
    change: { value: shown(value), low: shown(low), high: shown(high) },
    isRequired,
    moreRequests: verdict === 'cannot-tell' ? moreValues(found, limit, { alpha, tail: boundError }) : null,
  }
}

/** In one sentence. */
export function whyNumber(number: ComparedNumber): string {
  const { measure, call, margin, verdict, moreRequests } = number
  const name = `${measure}${call === null ? '' : ` of ${call}`}`
  const found = `${name} changed by ${changeOf(number)} (${valuesOf(number)}), margin ${formatRatio(margin)}`
  if (verdict === 'worse') return `NEW is worse: ${found}.`
  if (moreRequests === null) return `${found}.`
  return `${found}: about ${plural(moreRequests, 'more request')} with it, to both sides together, would decide.`
}

const signed = (value: number): string => `${value < 0 ? '−' : '+'}${formatRatio(Math.abs(value))}`

/** `+4.9 % (+3.1 % to +6.7 %)`. */
export const changeOf = ({ change: { value, low, high } }: ComparedNumber): string =>
  `${signed(value)} (${signed(low)} to ${signed(high)})`

/** `121 ms → 127 ms`. */
export function valuesOf({ unit, old, new: fresh }: ComparedNumber): string {
  const text = (value: number) => {
    if (unit === 'ms') return formatDuration(value)
    if (unit === 'ratio') return formatRatio(value)
    return unit === 'usd' ? `$${Number(value.toPrecision(4))}` : `${Number(value.toPrecision(4))} credits`
  }
  return `${text(old)} → ${text(fresh)}`
}

/**
 * The difference of two runs that sent the same requests at the same time. Both sides of a slice share its requests, its
 * instant and its machine, so that only their difference varies.
 */
type PairedDifference = {
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
type Amounts = (slice: Slice) => PairedSum

/** The same slice of both sides, each of one call. */
type SlicePairs = readonly (readonly [Slice, Slice])[]

/** Fewer pairs of slices do not show how much they vary. */
export const minPairs = 4

/** The pairs of slices of the same calls and stages. A slice that only one side has is left out. */
function pairsOf(old: Slices, fresh: Slices, isChosen: (call: string, stage: string) => boolean): SlicePairs {
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
function pairedDifference(pairs: SlicePairs, amounts: Amounts): PairedDifference | null {
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

/** The probability that such a difference, or a greater one, is by chance alone. */
const chanceOfGreater = ({ value, error, freedom }: PairedDifference): number =>
  value === 0 ? 0.5 : error === 0 ? Number(value < 0) : tSurvival(value / error, freedom)

/** Beyond these bounds, the difference is with the probability `boundError` each. */
function differenceBounds({ value, error, freedom }: PairedDifference): { low: number; high: number } {
  const margin = error === 0 ? 0 : tQuantile(boundError, freedom) * error
  return { low: value - margin, high: value + margin }
}

/** Beyond this many standard errors in one of twenty cases. */
const normalBound = 1.645
/** Beyond this many standard errors in one of ten cases. */
const powerDeviations = 1.282

/**
 * How many more values would decide with a probability of 90 %, if the difference stays as it is: either that it is above 0
 * (`alpha` is the error of that), or that it is below the margin (`tail`).
 */
function moreValues(
  { value, error, values }: Pick<Found, 'value' | 'error' | 'values'>,
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
