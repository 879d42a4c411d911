import { isLoopback } from '../callers/api-keys.ts'
import { pico } from '../lib/money.ts'
import { type Mistake, UsageError } from '../lib/usage-error.ts'
import { describePlan } from '../plan/describe-plan.ts'
import type { Plan } from '../plan/plan.ts'

/** Throws a UsageError before anything is sent, where a plan could spend what nobody has allowed. */
export function assertAffordable(plan: Plan): void {
  const refusal = refusalOf(plan)
  if (refusal === null) return
  // Who has no budget yet learns from the forecast how much it should be.
  if (plan.budgetUsd === null) process.stderr.write(`${describePlan(plan)}\n`)
  throw new UsageError(refusal)
}

/**
 * Why a plan must not be carried out; null when it may. Money is never spent unasked: a target that is not on this machine
 * needs a budget, and a plan that could exceed its budget is refused.
 */
export function refusalOf({ target, budgetUsd, forecast }: Plan): Mistake | null {
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
        expected: 'prices in the profile, so that the budget can be kept',
      }
  }
  if (budgetUsd !== null && forecast.worstUsd !== null && pico(forecast.worstUsd) > pico(budgetUsd))
    return { where: 'budget', got: `$${budgetUsd}`, expected: `at least $${forecast.worstUsd}, the forecast at worst` }
  return null
}
