import type { Contract } from '../contract/contract.ts'
import { UsageError } from '../lib/usage-error.ts'
import { visible, visibleJson } from '../lib/visible.ts'
import { describePlan } from '../plan/describe-plan.ts'
import type { PublishedLimits } from '../plan/limits.ts'
import type { Plan } from '../plan/plan.ts'
import { loadKeys } from '../produce/callers/api-keys.ts'
import { discoverLimits } from '../run/discovery.ts'
import { exitCodes, text, type Values } from './flags.ts'
import { budgetMistake, contractOf, draftPlan } from './load-plan.ts'

export async function planCommand(values: Values): Promise<number> {
  const contract = contractOf(values)
  const draft = await draftPlan(text(values, 'scenario') ?? '', contract, values)
  // Only --target permits limit discovery. A target in the scenario does not.
  const discovers = text(values, 'target') !== null && draft.plan.target !== null
  const plan = discovers ? draft.replan(await discover(draft.plan, contract)) : draft.plan
  const json = text(values, 'format') === 'json'
  process.stdout.write(visible(json ? visibleJson(`${JSON.stringify(plan, null, 2)}\n`) : describePlan(plan)))
  return exitCodes.pass
}

/** Discovers the limits, if a run with this plan would be allowed. */
async function discover(plan: Plan, contract: Contract): Promise<PublishedLimits> {
  try {
    const mistake = budgetMistake(plan)
    if (mistake !== null) throw new UsageError(mistake)
    return await discoverLimits(plan.target ?? '', loadKeys(plan, 'plan').callers, plan, contract)
  } catch (cause) {
    if (!(cause instanceof UsageError)) throw cause
    return {
      kind: 'not-asked',
      why: `the limits of the target are unknown, since a run would be refused (${cause.message})`,
    }
  }
}
