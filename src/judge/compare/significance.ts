import { tQuantile, tSurvival } from '../../lib/statistics/student-t.ts'
import { type Slice, timeBuckets } from '../metrics/slices.ts'
import type { ComparedRow, Criteria, Effect } from './comparison.ts'
import { byExcess, byRank, type Estimate, enoughForWoodruff, mean, testRanks } from './estimates.ts'
import type { ComparedMeasure } from './measures.ts'

/** The test of one number. All tests together decide which are significant. */
export type TestResult = Pick<ComparedRow, 'base' | 'run' | 'effect'> & {
  readonly test:
    | CompletedTest
    /** Free before and charged now, or the reverse: not by chance. */
    | { readonly kind: 'plain'; readonly verdict: 'improved' | 'regressed' }
    | { readonly kind: 'none'; readonly reason: string }
}

export type CompletedTest = {
  readonly kind: 'made'
  /** The p-values: the probability of this effect if nothing has changed. */
  readonly chanceOfWorse: number
  readonly chanceOfBetter: number
  /** How much worse it is, and the bounds of that, in units of the minimum effect. */
  readonly worse: number
  readonly atLeastWorse: number
  readonly atMostWorse: number
  /** The upper bound again, as a ratio or a difference: 0.5 is half as much again, or 50 percentage points. */
  readonly worst: number
  /** The fewest values of a run. */
  readonly values: number
}

/** The probability that the effect is beyond one end of its interval. */
const beyond = 0.05
/** The minimum difference of shares, as a part of the minimum effect: 1 percentage point for 5 %. */
const shareForRatios = 0.2

/**
 * Tests a number of the run against its baselines. `openReason` gives a reason why the number is inconclusive anyway.
 * Returns null if neither the run nor its baselines have values.
 */
export function testMeasure(
  measure: ComparedMeasure,
  run: readonly Slice[],
  baselines: readonly (readonly Slice[])[],
  criteria: Criteria,
  openReason: (base: number) => string | null,
): TestResult | null {
  const cells = [run, ...baselines]
  if (cells.every(slices => measure.values(slices) === 0)) return null
  const ofRun = measure.estimate(run)
  const known = baselines.map(measure.estimate).filter(estimate => estimate !== null)
  const base = known.length < baselines.length ? null : baseValue(measure, known)
  const values = { base, run: ofRun?.value ?? null }
  if (ofRun === null || base === null) {
    // No lateness is too high for a number without a value.
    const reason = openReason(Number.POSITIVE_INFINITY) ?? missingReason(measure, cells)
    return { ...values, effect: null, test: { kind: 'none', reason } }
  }
  const open = openReason(base)
  if (measure.kind === 'price' && (base === 0 || ofRun.value === 0)) {
    if (base === ofRun.value) return null
    if (open !== null) return { ...values, effect: null, test: { kind: 'none', reason: open } }
    return { ...values, effect: null, test: { kind: 'plain', verdict: base === 0 ? 'regressed' : 'improved' } }
  }
  return { ...values, ...testShift(measure, { run, baselines, ofRun, known }, criteria, open) }
}

/** Why there is no estimate. */
function missingReason({ values, needed }: ComparedMeasure, cells: readonly (readonly Slice[])[]): string {
  const fewest = Math.min(...cells.map(values))
  return fewest < needed ? `too few values: ${fewest} of ${needed}` : `values too close in time: all ${fewest}`
}

/** The slices of each run, and what they estimate. */
type Compared = {
  readonly run: readonly Slice[]
  readonly baselines: readonly (readonly Slice[])[]
  readonly ofRun: Estimate
  readonly known: readonly Estimate[]
}

function testShift(
  measure: ComparedMeasure,
  compared: Compared,
  { minEffect, noiseFloor }: Criteria,
  openReason: string | null,
): Pick<TestResult, 'effect' | 'test'> {
  const { kind, better } = measure
  const found = estimateEffect(compared.ofRun, compared.known, noiseFloor * noisiness(measure))
  const { shift, error, freedom } = found
  const margin = error === 0 ? 0 : tQuantile(beyond, freedom) * error
  const effect = effectOf(kind, shift, margin)
  if (openReason !== null) return { effect, test: { kind: 'none', reason: openReason } }
  const values = Math.min(...[compared.run, ...compared.baselines].map(measure.values))
  const matters = kind === 'share' ? minEffect * shareForRatios : Math.log1p(minEffect)
  const ranks = ranksOf(measure, compared)
  const isRanked = ranks !== null && measure.percent === 50 && values < enoughForWoodruff
  const sign = better === 'lower' ? 1 : -1
  const { worse, t, low, high } = isRanked
    ? ranks.shiftOf(found.noise)
    : {
        worse: sign * shift,
        t: shift === 0 ? 0 : (sign * shift) / error,
        low: sign * shift - margin,
        high: sign * shift + margin,
      }
  return {
    effect,
    test: {
      kind: 'made',
      chanceOfWorse: Math.max(tSurvival(t, freedom), ranks?.chanceOfWorse ?? 0),
      chanceOfBetter: Math.max(tSurvival(-t, freedom), ranks?.chanceOfBetter ?? 0),
      worse: worse / matters,
      atLeastWorse: low / matters,
      atMostWorse: high / matters,
      worst: kind === 'share' ? high : Math.expm1(high),
      values,
    },
  }
}

/** Beyond this, all values of one side are above all of the other. */
const maxRankShift = timeBuckets.count

/**
 * What the ranks of all values say about a percentile; null: the number is none. A percentile alone jumps if it lies
 * between two groups of values, such as cached responses and others. Ranks do not.
 */
function ranksOf({ bucketsOf, percent }: ComparedMeasure, { run, baselines }: Compared) {
  if (bucketsOf === null || percent === null) return null
  const valuesOf = (slices: readonly Slice[]) => slices.map(bucketsOf).filter(buckets => buckets.length > 0)
  const [ofRun, ofBases] = [valuesOf(run), baselines.flatMap(valuesOf)]
  const chances = testRanks(ofRun, ofBases, percent === 50 ? byRank : byExcess(percent))
  if (chances === null) return null
  return {
    chanceOfWorse: chances.ofHigher,
    chanceOfBetter: chances.ofLower,
    /**
     * The shift of the baselines that gives the ranks of the run, as the logarithm of run ÷ base (Hodges and Lehmann), and
     * its bounds: beyond them, the ranks of the run would differ significantly. `noise` is added to them.
     */
    shiftOf: (noise: number) => {
      const lowerAt = (shift: number) => testRanks(ofRun, ofBases, byRank, shift)?.ofLower ?? 1
      const higherAt = (shift: number) => testRanks(ofRun, ofBases, byRank, shift)?.ofHigher ?? 1
      const worse = shiftWhere(shift => lowerAt(shift) <= higherAt(shift))
      const [below, above] = [
        shiftWhere(shift => higherAt(shift) > beyond),
        shiftWhere(shift => lowerAt(shift) < beyond),
      ]
      const deviations = tQuantile(beyond, Number.POSITIVE_INFINITY)
      const errorOf = (bound: number) => Math.hypot((bound - worse) / deviations, noise)
      const [errorBelow, errorAbove] = [errorOf(below), errorOf(above)]
      const error = worse > 0 ? errorBelow : errorAbove
      return {
        worse,
        t: worse === 0 || error === 0 ? 0 : worse / error,
        low: worse - deviations * errorBelow,
        high: worse + deviations * errorAbove,
      }
    },
  }
}

/** The lowest shift, as a logarithm, for which `holds`, which is false below it and true above; infinite: none. */
function shiftWhere(holds: (buckets: number) => boolean): number {
  let [low, high] = [-maxRankShift, maxRankShift]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (holds(middle)) high = middle
    else low = middle
  }
  if (high >= maxRankShift) return Number.POSITIVE_INFINITY
  return low <= -maxRankShift ? Number.NEGATIVE_INFINITY : (high * Math.LN2) / timeBuckets.perOctave
}

/**
 * How much more than a median a measure varies from run to run. The number of stalls in a run decides its p99, and no
 * single run shows how much that number varies.
 */
export function noisiness({ kind, percent }: Pick<ComparedMeasure, 'kind' | 'percent'>): number {
  if (kind === 'share' || kind === 'price') return 0
  if (percent === null || percent < 95) return 1
  return percent < 99 ? 3 : 10
}

function effectOf(kind: ComparedMeasure['kind'], shift: number, margin: number): Effect {
  const [value, low, high] = [shift, shift - margin, shift + margin]
  return kind === 'share'
    ? { kind: 'difference', value, low, high }
    : { kind: 'relative', value: Math.expm1(value), low: Math.expm1(low), high: Math.expm1(high) }
}

/** For ratios the geometric mean, so that base × effect gives the run. */
function baseValue({ kind }: ComparedMeasure, baselines: readonly Estimate[]): number {
  const isRelative = kind !== 'share' && baselines.every(({ value }) => value > 0)
  return isRelative ? Math.exp(mean(baselines.map(({ point }) => point))) : mean(baselines.map(({ value }) => value))
}

/** The distance of a run from its baselines, and its standard error. */
type EffectEstimate = {
  /** The mean of the baselines, on the scale of the points. */
  readonly basePoint: number
  readonly shift: number
  /** Standard error of the shift, and the part of it that runs add to what their slices show. */
  readonly error: number
  readonly noise: number
  readonly freedom: number
}

/** The noise floor weighs this many runs, in addition to the baselines. */
const runsOfFloor = 4

/**
 * Runs vary more than the slices of one run show: by the machine, the neighbors, the hour. So the variance of a run is that
 * of its slices plus the noise floor, or that between the baselines, whichever is larger.
 */
export function estimateEffect(run: Estimate, baselines: readonly Estimate[], noiseFloor: number): EffectEstimate {
  const points = baselines.map(({ point }) => point)
  const basePoint = mean(points)
  const within = mean(baselines.map(({ variance }) => variance))
  const spread = points.reduce((sum, point) => sum + (point - basePoint) ** 2, 0)
  const seen: VarianceEstimate = {
    variance: (runsOfFloor * (noiseFloor ** 2 + within) + spread) / (runsOfFloor + baselines.length - 1),
    freedom: runsOfFloor + baselines.length - 1,
  }
  const vary = (variance: number, freedom: number): VarianceEstimate => {
    const stated = withFloor(variance, freedom, noiseFloor)
    return baselines.length > 1 && seen.variance > stated.variance ? seen : stated
  }
  const ofRun = vary(run.variance, run.freedom)
  const freedoms = baselines.map(({ freedom }) => freedom)
  const ofOneBaseline = vary(
    within,
    freedoms.reduce((sum, freedom) => sum + freedom, 0),
  )
  const ofBase = { ...ofOneBaseline, variance: ofOneBaseline.variance / baselines.length }
  const variance = ofRun.variance + ofBase.variance
  return {
    basePoint,
    shift: run.point - basePoint,
    error: Math.sqrt(variance),
    noise: Math.sqrt(Math.max(0, variance - run.variance - within / baselines.length)),
    freedom: ofRun === seen || ofOneBaseline === seen ? seen.freedom : pooledFreedom([ofRun, ofBase]),
  }
}

type VarianceEstimate = { readonly variance: number; readonly freedom: number }

/** The floor is given, not measured, so it adds degrees of freedom (Satterthwaite). */
function withFloor(variance: number, freedom: number, floor: number): VarianceEstimate {
  const sum = variance + floor ** 2
  return { variance: sum, freedom: variance === 0 ? Number.POSITIVE_INFINITY : freedom * (sum / variance) ** 2 }
}

function pooledFreedom(parts: readonly VarianceEstimate[]): number {
  const sum = parts.reduce((total, { variance }) => total + variance, 0)
  const uncertainty = parts.reduce((total, { variance, freedom }) => total + variance ** 2 / freedom, 0)
  return uncertainty === 0 ? Number.POSITIVE_INFINITY : sum ** 2 / uncertainty
}

/**
 * The significant tests, by Benjamini and Hochberg: on average, at most `share` of them are wrong. If nothing has changed,
 * any test is significant in at most `share` of all cases. Both hold for correlated tests, like those of one run.
 */
export function benjaminiHochberg<Test>(
  tests: readonly Test[],
  chanceOf: (test: Test) => number,
  share: number,
): readonly Test[] {
  const ascending = tests.toSorted((a, b) => chanceOf(a) - chanceOf(b))
  const last = ascending.findLastIndex((test, rank) => chanceOf(test) <= (share * (rank + 1)) / tests.length)
  return ascending.slice(0, last + 1)
}
