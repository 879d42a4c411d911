import type { Contract } from '../contract/contract.ts'
import { documentedContract } from '../contract/documented.ts'
import { loadProfile } from '../contract/profile.ts'
import { pico } from '../lib/money.ts'
import { type Mistake, UsageError } from '../lib/usage-error.ts'
import { visible } from '../lib/visible.ts'
import { describePlan } from '../plan/describe-plan.ts'
import { notDiscovered, type PublishedLimits } from '../plan/limits.ts'
import { makePlan } from '../plan/make-plan.ts'
import type { Plan } from '../plan/plan.ts'
import type { Recording } from '../plan/recorded-load.ts'
import { isLoopback } from '../produce/callers/api-keys.ts'
import { loadScenario } from '../scenario/load-scenario.ts'
import { readRecording } from '../storage/recorded-run.ts'
import { number, text, type Values } from './flags.ts'

/** The documented contract, or the one of `--profile`. */
export function contractOf(values: Values): Contract {
  const profile = text(values, 'profile')
  return profile === null ? documentedContract : loadProfile(profile)
}

/** A plan before limit discovery, and how to make it again with the limits that the target published. */
export type DraftPlan = { readonly plan: Plan; readonly replan: (publishedLimits: PublishedLimits) => Plan }

/** The plan of a scenario file under the flags. */
export async function draftPlan(file: string, contract: Contract, values: Values): Promise<DraftPlan> {
  const overrides = {
    seed: number(values, 'seed'),
    target: text(values, 'target'),
    budgetUsd: text(values, 'budget-usd'),
  }
  const scenario = loadScenario(file, contract)
  const recordings = new Map<string, Recording>()
  for (const stage of scenario.stages)
    if (stage.shape === 'recorded') recordings.set(stage.name, await readRecording(stage.name, stage))
  const replan = (publishedLimits: PublishedLimits) =>
    makePlan(scenario, contract, overrides, { recordings, publishedLimits })
  return { plan: replan(notDiscovered), replan }
}

/** Throws a UsageError, before anything is sent, if a plan could spend more than its budget. */
export function assertWithinBudget(plan: Plan): void {
  const mistake = budgetMistake(plan)
  if (mistake === null) return
  // The forecast shows which budget the run needs.
  if (plan.budgetUsd === null) process.stderr.write(`${visible(describePlan(plan))}\n`)
  throw new UsageError(mistake)
}

/**
 * Why a plan must not run; null if it may. Turnpike never spends money without permission: a target that is not on this
 * machine needs a budget, and a plan that could exceed its budget is refused.
 */
export function budgetMistake({ target, budgetUsd, forecast }: Plan): Mistake | null {
  if (target !== null && !isLoopback(target)) {
    if (budgetUsd === null)
      return {
        where: '--budget-usd',
        got: 'nothing',
        expected: `a budget, because ${new URL(target).host} is not on this machine`,
      }
    if (forecast.worstUsd === null)
      return {
        where: 'forecast',
        got: 'a model without a known price',
        expected: 'its price in the profile, so that the budget can be enforced',
      }
  }
  if (budgetUsd !== null && forecast.worstUsd !== null && pico(forecast.worstUsd) > pico(budgetUsd))
    return {
      where: 'budget',
      got: `$${budgetUsd}`,
      expected: `at least $${forecast.worstUsd}, the worst case of the forecast`,
    }
  return null
}
