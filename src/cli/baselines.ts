import { assertComparable, assertDistinct, type Baselines, type JudgedPlan } from '../compare/comparable.ts'
import { type Criteria, defaultCriteria } from '../compare/comparison.ts'
import type { Contract } from '../contract/contract.ts'
import { UsageError } from '../lib/usage-error.ts'
import { recordedLimits } from '../plan/limits.ts'
import { readComparedRun } from '../storage/recorded-run.ts'
import { text, texts, type Values } from './command.ts'
import type { Draft } from './load-plan.ts'

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
  minimalEffect: share(values, 'minimal-effect', defaultCriteria.minimalEffect, 0.001),
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
