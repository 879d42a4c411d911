import type { Slice } from '../metrics/slices.ts'
import type { ComparedRow, Criteria, Effect } from './comparison.ts'
import { type Estimate, mean } from './estimates.ts'
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
  /** How much worse it is, and its upper bound, in units of the minimum effect. */
  readonly worse: number
  readonly atMostWorse: number
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
  return { ...values, ...testShift(measure, ofRun, known, criteria, open) }
}

/** Why there is no estimate. */
function missingReason({ values, needed }: ComparedMeasure, cells: readonly (readonly Slice[])[]): string {
  const fewest = Math.min(...cells.map(values))
  return fewest < needed ? `too few values: ${fewest} of ${needed}` : `values too close in time: all ${fewest}`
}

function testShift(
  measure: ComparedMeasure,
  run: Estimate,
  baselines: readonly Estimate[],
  { minEffect, noiseFloor }: Criteria,
  openReason: string | null,
): Pick<TestResult, 'effect' | 'test'> {
  const { kind, better } = measure
  const { shift, error, freedom } = estimateEffect(run, baselines, noiseFloor * noisiness(measure))
  const margin = error === 0 ? 0 : tQuantile(beyond, freedom) * error
  const effect = effectOf(kind, shift, margin)
  if (openReason !== null) return { effect, test: { kind: 'none', reason: openReason } }
  const worse = better === 'lower' ? shift : -shift
  const t = shift === 0 ? 0 : worse / error
  const matters = kind === 'share' ? minEffect * shareForRatios : Math.log1p(minEffect)
  return {
    effect,
    test: {
      kind: 'made',
      chanceOfWorse: tSurvival(t, freedom),
      chanceOfBetter: tSurvival(-t, freedom),
      worse: worse / matters,
      atMostWorse: (worse + margin) / matters,
    },
  }
}

/**
 * How much more than a median a measure varies from run to run. The number of stalls in a run decides its p99, and no
 * single run shows how much that number varies.
 */
function noisiness({ kind, percent }: ComparedMeasure): number {
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
  /** Standard error of the shift. */
  readonly error: number
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

/** The probability that Student's t exceeds `t`. The degrees of freedom may be infinite. */
export function tSurvival(t: number, freedom: number): number {
  if (t < 0) return 1 - tSurvival(-t, freedom)
  if (t === Number.POSITIVE_INFINITY) return 0
  const bounded = Math.min(freedom, maxFreedom)
  return incompleteBeta(bounded / (bounded + t * t), bounded / 2, 0.5) / 2
}

/** The value that Student's t exceeds with the probability `tail`, which is below 0.5. */
export function tQuantile(tail: number, freedom: number): number {
  let low = 0
  let high = 1
  while (tSurvival(high, freedom) > tail) high *= 2
  for (let step = 0; step < 60; step++) {
    const middle = (low + high) / 2
    if (tSurvival(middle, freedom) > tail) low = middle
    else high = middle
  }
  return high
}

const maxFreedom = 1e6

/** The regularized incomplete beta function, by Lentz's continued fraction. */
function incompleteBeta(x: number, a: number, b: number): number {
  if (x <= 0) return 0
  if (x >= 1) return 1
  // The fraction converges quickly only on this side.
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(1 - x, b, a)
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x)) / a
  const awayFromZero = (value: number) => (Math.abs(value) < 1e-300 ? 1e-300 : value)
  let c = 1
  let d = 1 / awayFromZero(1 - ((a + b) * x) / (a + 1))
  let fraction = d
  for (let m = 1; m <= maxTerms; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m))
    d = 1 / awayFromZero(1 + even * d)
    c = awayFromZero(1 + even / c)
    fraction *= d * c
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1))
    d = 1 / awayFromZero(1 + odd * d)
    c = awayFromZero(1 + odd / c)
    const factor = d * c
    fraction *= factor
    if (Math.abs(factor - 1) < 1e-14) break
  }
  return front * fraction
}

const maxTerms = 10_000

/** Stirling's series is precise enough from 10; the recurrence shifts smaller values there. */
function logGamma(x: number): number {
  let shift = 0
  let z = x
  for (; z < 10; z++) shift += Math.log(z)
  const inverse = 1 / (z * z)
  const series = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse / 1680))) / z
  return (z - 0.5) * Math.log(z) - z + Math.log(2 * Math.PI) / 2 + series - shift
}
