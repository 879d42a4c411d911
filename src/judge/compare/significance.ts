import type { Slice } from '../metrics/slices.ts'
import type { ComparedRow, Criteria, Effect } from './comparison.ts'
import { type Estimate, mean } from './estimates.ts'
import type { ComparedMeasure } from './measures.ts'

/** What one number says by itself; which of them may be believed, all of them together decide. */
export type TestResult = Pick<ComparedRow, 'base' | 'run' | 'effect'> & {
  readonly test:
    | CompletedTest
    /** Free before and charged now, or the other way round: no chance makes that. */
    | { readonly kind: 'plain'; readonly verdict: 'improved' | 'regressed' }
    | { readonly kind: 'none'; readonly reason: string }
}

export type CompletedTest = {
  readonly kind: 'made'
  /** The chance of seeing so much of it if nothing has changed. */
  readonly chanceOfWorse: number
  readonly chanceOfBetter: number
  /** By how much it is worse, and the most by which it may be, in units of the smallest change that matters. */
  readonly worse: number
  readonly atMostWorse: number
}

/** On each side of an effect, the chance that it lies beyond. */
const beyond = 0.05
/** What of the minimal effect a difference between ratios must be: 1 percentage point for 5 %. */
const shareForRatios = 0.2

/**
 * Holds a number of the run against the same of its baselines. `doubt` says why the number itself is in doubt, where it is.
 * null: neither the run nor its baselines have anything of it.
 */
export function testMeasure(
  measure: ComparedMeasure,
  run: readonly Slice[],
  baselines: readonly (readonly Slice[])[],
  criteria: Criteria,
  doubt: (base: number) => string | null,
): TestResult | null {
  const cells = [run, ...baselines]
  if (cells.every(slices => measure.values(slices) === 0)) return null
  const ofRun = measure.estimate(run)
  const known = baselines.map(measure.estimate).filter(estimate => estimate !== null)
  const base = known.length < baselines.length ? null : baseValue(measure, known)
  const values = { base, run: ofRun?.value ?? null }
  if (ofRun === null || base === null) {
    const min = Math.min(...cells.map(measure.values))
    return {
      ...values,
      effect: null,
      test: { kind: 'none', reason: `too few values, or too close together: ${min}` },
    }
  }
  const message = doubt(base)
  if (measure.kind === 'price' && (base === 0 || ofRun.value === 0)) {
    if (base === ofRun.value) return null
    if (message !== null) return { ...values, effect: null, test: { kind: 'none', reason: message } }
    return { ...values, effect: null, test: { kind: 'plain', verdict: base === 0 ? 'regressed' : 'improved' } }
  }
  return { ...values, ...testShift(measure, ofRun, known, criteria, message) }
}

function testShift(
  measure: ComparedMeasure,
  run: Estimate,
  baselines: readonly Estimate[],
  { minEffect, noiseFloor }: Criteria,
  doubt: string | null,
): Pick<TestResult, 'effect' | 'test'> {
  const { kind, better } = measure
  const { shift, error, freedom } = estimateEffect(run, baselines, noiseFloor * noisiness(measure))
  const margin = error === 0 ? 0 : tQuantile(beyond, freedom) * error
  const effect = effectOf(kind, shift, margin)
  if (doubt !== null) return { effect, test: { kind: 'none', reason: doubt } }
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
 * How much more than a median it varies from run to run. Whether a run meets with none or with three moments at which all
 * stands still decides its p99, and no run shows how many there could have been.
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

/** Of what is compared by its ratio the geometric mean, so that base and effect make the run. */
function baseValue({ kind }: ComparedMeasure, baselines: readonly Estimate[]): number {
  const isRelative = kind !== 'share' && baselines.every(({ value }) => value > 0)
  return isRelative ? Math.exp(mean(baselines.map(({ point }) => point))) : mean(baselines.map(({ value }) => value))
}

/** How far a run is from its baselines, and how far it would be if nothing had changed. */
type EffectEstimate = {
  /** The mean of the baselines, on the scale on which points are compared. */
  readonly basePoint: number
  readonly shift: number
  /** Standard error of the shift. */
  readonly error: number
  readonly freedom: number
}

/** The noise floor counts as much as this many runs, beside what baselines show. */
const runsOfFloor = 4

/**
 * A run is one draw from the runs that there could have been, and varies more than its own slices show: by the machine,
 * the neighbours, the hour. So it is taken to vary by what its slices show and the noise floor on top, or by what the
 * baselines among each other show, whichever is more.
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

/** The floor is stated, not measured, and so adds certainty about the variance (Satterthwaite). */
function withFloor(variance: number, freedom: number, floor: number): VarianceEstimate {
  const sum = variance + floor ** 2
  return { variance: sum, freedom: variance === 0 ? Number.POSITIVE_INFINITY : freedom * (sum / variance) ** 2 }
}

function pooledFreedom(parts: readonly VarianceEstimate[]): number {
  const sum = parts.reduce((total, { variance }) => total + variance, 0)
  const doubt = parts.reduce((total, { variance, freedom }) => total + variance ** 2 / freedom, 0)
  return doubt === 0 ? Number.POSITIVE_INFINITY : sum ** 2 / doubt
}

/**
 * Which of many tests may be believed: by Benjamini and Hochberg, so that of those that are believed no more than `share`
 * are wrong on average, and where nothing has changed at all, any is believed in no more than `share` of all cases. Both
 * hold for tests that rise and fall together, as those of one run do.
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

/** The chance that a value of Student's t exceeds `t`. The degrees of freedom may be infinite. */
export function tSurvival(t: number, freedom: number): number {
  if (t < 0) return 1 - tSurvival(-t, freedom)
  if (t === Number.POSITIVE_INFINITY) return 0
  const bounded = Math.min(freedom, maxFreedom)
  return incompleteBeta(bounded / (bounded + t * t), bounded / 2, 0.5) / 2
}

/** The value that is exceeded with the chance `tail`, below one half. */
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

/** The regularized incomplete beta function, by its continued fraction in the form of Lentz. */
function incompleteBeta(x: number, a: number, b: number): number {
  if (x <= 0) return 0
  if (x >= 1) return 1
  // The fraction converges quickly on this side only.
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

/** Stirling's series, which is exact enough from 10 on; below, the recurrence leads there. */
function logGamma(x: number): number {
  let shift = 0
  let z = x
  for (; z < 10; z++) shift += Math.log(z)
  const inverse = 1 / (z * z)
  const series = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse / 1680))) / z
  return (z - 0.5) * Math.log(z) - z + Math.log(2 * Math.PI) / 2 + series - shift
}
