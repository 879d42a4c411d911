import type { Contract } from '../contract/contract.ts'
import { UsageError } from '../lib/usage-error.ts'
import { describePlan } from '../plan/describe-plan.ts'
import type { PublishedLimits } from '../plan/limits.ts'
import type { Plan } from '../plan/plan.ts'
import { loadKeys } from '../produce/callers/api-keys.ts'
import { discoverLimits } from '../run/discovery.ts'
import { exitCodes, text, type Values } from './flags.ts'
import { contractOf, draftPlan, refusalOf } from './load-plan.ts'

export async function planCommand(values: Values): Promise<number> {
  const contract = contractOf(values)
  const draft = await draftPlan(text(values, 'scenario') ?? '', contract, values)
  // A target that only the scenario names was not named for this: without the flag nothing is sent.
  const isAsked = text(values, 'target') !== null && draft.plan.target !== null
  const plan = isAsked ? draft.replan(await ask(draft.plan, contract)) : draft.plan
  const json = text(values, 'format') === 'json'
  process.stdout.write(json ? `${JSON.stringify(plan, null, 2)}\n` : describePlan(plan))
  return exitCodes.pass
}

/** Asks only on behalf of a run that could begin. */
async function ask(plan: Plan, contract: Contract): Promise<PublishedLimits> {
  try {
    const refusal = refusalOf(plan)
    if (refusal !== null) throw new UsageError(refusal)
    return await discoverLimits(plan.target ?? '', loadKeys(plan, 'plan').callers, plan, contract)
  } catch (cause) {
    if (!(cause instanceof UsageError)) throw cause
    return { kind: 'not-asked', why: `the target was not asked, since a run would be refused (${cause.message})` }
  }
}
