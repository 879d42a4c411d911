import { formatRatio } from '../lib/format.ts'
import type { Plan, Threshold } from '../plan/plan.ts'
import type { MutantResult } from './mutant-run.ts'
import type { MutantRuns } from './mutant-threads.ts'
import { honestTerms, type MutantTerms } from './mutants.ts'

/** The smallest slowdown of the service that a threshold notices in nine of ten runs. */
export type Sensitivity = {
  readonly threshold: string
  /** By how much longer everything takes: 0.38 is 38 %. null: not measured, and `text` says why. */
  readonly slowdown: number | null
  /** The share of runs with this slowdown in which the threshold fails. */
  readonly power: number
  readonly text: string
}

const power = 0.9
/** The same quantile of the standard normal distribution. */
const quantile = 1.2816
/** Runs without a slowdown find where to look. */
const firstRuns = 16
/** The runs there decide how certain the result is. A long scenario gets fewer of them. */
const nearRuns = { min: 16, max: 120 } as const
const maxRequests = 20_000
/** Seeds of services that no other run has. */
const firstSeed = 1_000_001
/** A service that is slower by more is not a subject of a threshold. */
const maxSlowdown = 100

const timesOf = (thresholds: readonly Threshold[]) =>
  thresholds
    .map(({ measure, operator }, index) => ({ index, isUpper: measure.kind === 'timing' && /^<=?$/.test(operator) }))
    .filter(({ isUpper }) => isUpper)

type Timed = Pick<Plan, 'thresholds' | 'forecast' | 'stages'>

const runsNear = ({ forecast }: Timed): number =>
  Math.min(nearRuns.max, Math.max(nearRuns.min, Math.round(maxRequests / Math.max(1, forecast.requests))))

/** The last stage whose times a bound is about; a bound without a stage is about all. */
function lastTimed({ thresholds, stages }: Timed): string {
  const named = timesOf(thresholds).map(({ index }) => thresholds[index]?.stage ?? null)
  return stages.findLast(({ name }) => named.includes(null) || named.includes(name))?.name ?? ''
}

/** How many runs `measureSensitivity` makes at most. */
export const sensitivityRuns = (plan: Timed): number =>
  timesOf(plan.thresholds).length === 0 ? 0 : firstRuns + timesOf(plan.thresholds).length * runsNear(plan)

/**
 * Measures each upper bound on a time. A slower service draws the same, so the values of its runs are spread like
 * those of the honest ones, as a ratio of their mean.
 */
export async function measureSensitivity(
  plan: Timed,
  runs: MutantRuns,
  onRun: () => void,
): Promise<readonly Sensitivity[]> {
  const { thresholds } = plan
  const times = timesOf(thresholds)
  const count = runsNear(plan)
  const timesUntil = lastTimed(plan)
  if (times.length === 0) return []
  const values = async (slowdown: number, each: number, seed: number) => {
    const results: MutantResult[] = []
    const fault: MutantTerms['fault'] = slowdown === 0 ? null : { kind: 'slower', ratio: slowdown }
    const all = Array.from({ length: each }, (_, run) => ({ ...honestTerms, fault, serviceSeed: seed + run }))
    await runs.run(
      all.map(terms => ({ ...terms, failFast: false, timesUntil })),
      (_, result) => {
        results.push(result)
        onRun()
      },
    )
    return (index: number) => results.flatMap(result => result.thresholds[index]?.value ?? [])
  }
  const first = await values(0, firstRuns, firstSeed)
  const measured: Sensitivity[] = []
  for (const [position, { index }] of times.entries()) {
    const { expression, bound } = thresholds[index] as Threshold
    const honest = logMoments(first(index))
    const unmeasured = (text: string) => measured.push({ threshold: expression, slowdown: null, power, text })
    if (honest === null) {
      unmeasured('the honest service gives it no value')
      continue
    }
    // Where it would be if all of the value were time of the service.
    const near = bound / Math.exp(honest.mean - quantile * honest.deviation) - 1
    if (near <= 0) {
      unmeasured('the honest service often crosses it')
      continue
    }
    if (near > maxSlowdown) {
      unmeasured(`it notices no slowdown of up to ${maxSlowdown} times`)
      continue
    }
    const there = logMoments((await values(near, count, firstSeed + firstRuns + position * count))(index))
    if (there === null) {
      unmeasured('a slower service gives it no value')
      continue
    }
    const deviation = pooled([honest, there])
    // Between two slowdowns, the logarithm of the value is almost linear in that of the duration.
    const slope = (there.mean - honest.mean) / Math.log1p(near)
    const missing = Math.log(bound) + quantile * deviation - there.mean
    const found = Math.expm1(Math.log1p(near) + missing / slope)
    measured.push({
      threshold: expression,
      slowdown: found,
      power,
      text: `notices a slowdown of ${formatRatio(found)} or more with power ${power}`,
    })
  }
  return measured
}

type Moments = { readonly count: number; readonly mean: number; readonly deviation: number }

/** Mean and standard deviation of the logarithms; null: there are too few values. */
function logMoments(values: readonly number[]): Moments | null {
  const logs = values.filter(value => value > 0).map(Math.log)
  if (logs.length < 2) return null
  const mean = logs.reduce((sum, each) => sum + each, 0) / logs.length
  const variance = logs.reduce((sum, each) => sum + (each - mean) ** 2, 0) / (logs.length - 1)
  return { count: logs.length, mean, deviation: Math.sqrt(variance) }
}

function pooled(all: readonly Moments[]): number {
  const degrees = all.reduce((sum, { count }) => sum + count - 1, 0)
  return Math.sqrt(all.reduce((sum, { count, deviation }) => sum + (count - 1) * deviation ** 2, 0) / degrees)
}
