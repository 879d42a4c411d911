import type { Contract } from '../contract/contract.ts'
import { assertComparable, assertDistinct, type Baselines, type JudgedPlan } from '../judge/compare/comparable.ts'
import { compareRuns } from '../judge/compare/compare-runs.ts'
import { type Comparison, type Criteria, defaultCriteria, outcomeStatus } from '../judge/compare/comparison.ts'
import { UsageError } from '../lib/usage-error.ts'
import { recordedLimits } from '../plan/limits.ts'
import { type ComparisonFormat, comparisonRenderers } from '../report/render/renderers.ts'
import { readComparedRun } from '../storage/recorded-run.ts'
import { writeComparison } from '../storage/run-directory.ts'
import { exitCodes, text, texts, type Values } from './flags.ts'
import type { Draft } from './load-plan.ts'
import { show, stdoutPage } from './print.ts'

/**
 * The runs that a run is to be compared with, read before anything is sent; null: the flags name none. Throws a UsageError
 * where they are of another plan, even if the target grants what it granted then.
 */
export async function baselinesOf(
  values: Values,
  drafts: readonly Draft[],
  contract: Contract,
): Promise<Baselines | null> {
  const criteria = criteriaOf(values)
  const paths = texts(values, 'baseline')
  const [draft, ...others] = drafts
  if (paths.length === 0 || draft === undefined) return null
  if (others.length > 0) {
    throw new UsageError({ where: '--baseline', got: `${drafts.length} scenarios`, expected: 'one scenario' })
  }
  const runs = await Promise.all(paths.map(readComparedRun))
  assertDistinct(runs)
  for (const baseline of runs) {
    const plan = draft.replan(recordedLimits(baseline.plan.limits))
    assertComparable(baseline, plan.scenario, { plan, contract })
  }
  return { runs, criteria }
}

/** Throws a UsageError where the target now grants something else, and rates with it are other ones. */
export function assertStillComparable(baselines: Baselines | null, intent: JudgedPlan): void {
  for (const baseline of baselines?.runs ?? []) assertComparable(baseline, intent.plan.scenario, intent)
}

export const criteriaOf = (values: Values): Criteria => ({
  minEffect: share(values, 'min-effect', defaultCriteria.minEffect, 0.001),
  noiseFloor: share(values, 'noise-floor', defaultCriteria.noiseFloor, 0),
})

const most = 0.5

function share(values: Values, flag: string, usual: number, least: number): number {
  const said = text(values, flag)
  if (said === null) return usual
  const [, percent] = /^(\d+(?:\.\d+)?) ?%$/.exec(said) ?? []
  const value = Number(percent) / 100
  if (value >= least && value <= most) return value
  const expected = `a share from ${least * 100}% to ${most * 100}%, such as ${usual * 100}%`
  throw new UsageError({ where: `--${flag}`, got: JSON.stringify(said), expected })
}

/** The last of the directories is the run, those before it are its baselines. */
export async function compareCommand(values: Values): Promise<number> {
  const criteria = criteriaOf(values)
  const paths = texts(values, 'run-dirs')
  if (paths.length < 2) {
    throw new UsageError({ where: 'command line', got: 'one run', expected: 'baselines, and behind them the run' })
  }
  const recorded = await Promise.all(paths.map(readComparedRun))
  assertDistinct(recorded)
  const last = recorded.at(-1)
  if (last === undefined) throw new Error('there are two runs at least')
  const baselines = recorded.slice(0, -1)
  for (const baseline of baselines) assertComparable(baseline, last.path, last)
  const comparison = compareRuns(baselines, last, criteria)
  const out = text(values, 'out')
  if (out !== null) await writeComparison(out, comparison)
  showComparison(comparison, values)
  return exitCodes[outcomeStatus[comparison.verdict]]
}

function showComparison(comparison: Comparison, values: Values): void {
  const format = (text(values, 'format') ?? 'text') as ComparisonFormat
  show(comparisonRenderers[format].render(comparison, stdoutPage()), format)
}
