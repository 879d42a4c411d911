import type { Slice } from '../metrics/slices.ts'
import type { ComparedRow, Criteria, Effect } from './comparison.ts'
import { contrast } from './contrast.ts'
import { type Estimate, mean } from './estimates.ts'
import type { ComparedMeasure } from './measures.ts'
import { tailValue, upperTail } from './student-t.ts'

/** What one number says by itself; which of them may be believed, all of them together decide. */
export type Tested = Pick<ComparedRow, 'base' | 'run' | 'effect'> & {
  readonly test:
    | TestMade
    /** Free before and charged now, or the other way round: no chance makes that. */
    | { readonly kind: 'plain'; readonly verdict: 'improved' | 'regressed' }
    | { readonly kind: 'none'; readonly because: string }
}

export type TestMade = {
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
): Tested | null {
  const cells = [run, ...baselines]
  if (cells.every(slices => measure.values(slices) === 0)) return null
  const ofRun = measure.estimate(run)
  const known = baselines.map(measure.estimate).filter(estimate => estimate !== null)
  const base = known.length < baselines.length ? null : baseValue(measure, known)
  const values = { base, run: ofRun?.value ?? null }
  if (ofRun === null || base === null) {
    const least = Math.min(...cells.map(measure.values))
    return {
      ...values,
      effect: null,
      test: { kind: 'none', because: `too few values, or too close together: ${least}` },
    }
  }
  const because = doubt(base)
  if (measure.kind === 'price' && (base === 0 || ofRun.value === 0)) {
    if (base === ofRun.value) return null
    if (because !== null) return { ...values, effect: null, test: { kind: 'none', because } }
    return { ...values, effect: null, test: { kind: 'plain', verdict: base === 0 ? 'regressed' : 'improved' } }
  }
  return { ...values, ...testShift(measure, ofRun, known, criteria, because) }
}

function testShift(
  measure: ComparedMeasure,
  run: Estimate,
  baselines: readonly Estimate[],
  { minimalEffect, noiseFloor }: Criteria,
  doubt: string | null,
): Pick<Tested, 'effect' | 'test'> {
  const { kind, better } = measure
  const { shift, error, freedom } = contrast(run, baselines, noiseFloor * noisiness(measure))
  const margin = error === 0 ? 0 : tailValue(beyond, freedom) * error
  const effect = effectOf(kind, shift, margin)
  if (doubt !== null) return { effect, test: { kind: 'none', because: doubt } }
  const worse = better === 'lower' ? shift : -shift
  const t = shift === 0 ? 0 : worse / error
  const matters = kind === 'share' ? minimalEffect * shareForRatios : Math.log1p(minimalEffect)
  return {
    effect,
    test: {
      kind: 'made',
      chanceOfWorse: upperTail(t, freedom),
      chanceOfBetter: upperTail(-t, freedom),
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
