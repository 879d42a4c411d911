import type { Contract } from '../contract/contract.ts'
import { documentedContract } from '../contract/documented.ts'
import { loadProfile } from '../contract/profile.ts'
import { isLoopback } from '../lib/loopback.ts'
import { pico } from '../lib/money.ts'
import { type Mistake, UsageError } from '../lib/usage-error.ts'
import { visible } from '../lib/visible.ts'
import { describePlan } from '../plan/describe-plan.ts'
import { makePlan } from '../plan/make-plan.ts'
import type { Plan } from '../plan/plan.ts'
import type { Recording } from '../plan/recorded-load.ts'
import { type Discovery, discoveredContract, nothingDiscovered } from '../run/discovery.ts'
import { parseScenario, profileNamedIn, readScenario } from '../scenario/load-scenario.ts'
import { readRecording } from '../storage/recorded-run.ts'
import { listFlag, number, text, type Values } from './flags.ts'
import { assertNoSecret } from './secrets.ts'
import { profileFile, scenarioFile } from './shipped-files.ts'

/** The contract of `--profile`, or the documented one. */
export function contractOf(values: Values): Contract {
  const profile = text(values, 'profile')
  return contractIn(profile === null ? null : profileFile(profile, null))
}

/** The contract of the profile at this path, or the documented one. */
function contractIn(profile: string | null): Contract {
  if (profile === null) return documentedContract
  const contract = loadProfile(profile)
  assertNoSecret(profile, contract, 'profile')
  return contract
}

/** A plan, and the contract that it was made for and is judged by. */
type ContractedPlan = { readonly plan: Plan; readonly contract: Contract }

/** A plan before discovery, and how to make it again with what the target states. */
export type DraftPlan = ContractedPlan & {
  /** The path of the profile; null for the documented contract. */
  readonly profile: string | null
  readonly replan: (discovery: Discovery) => ContractedPlan
  /** The budget in the scenario file. */
  readonly ownBudgetUsd: string | null
}

/** The plan of a scenario, a file or the name of a shipped one, under the flags. */
export async function draftPlan(scenarioName: string, values: Values): Promise<DraftPlan> {
  const file = scenarioFile(scenarioName)
  const written = readScenario(file)
  const profile = profileOf(values, written, file)
  const contract = contractIn(profile)
  const target = text(values, 'target')
  const only = [...new Set(listFlag(values, 'only'))]
  const topUp = text(values, 'top-up')
  const overrides = { seed: number(values, 'seed'), target, budgetUsd: text(values, 'budget-usd'), topUp, only }
  // A strange target has its own models, networks and limits, which only a discovery can tell.
  const isUnknown = (own: string | null) => (target ?? own) !== null || contract.models.length === 0
  const draft = parseScenario(written, file, contract, isUnknown)
  const recordings = new Map<string, Recording>()
  for (const stage of draft.stages)
    if (stage.shape === 'recorded') recordings.set(stage.name, await readRecording(stage.name, stage))
  const limitsFrom = text(values, 'limits-from') === 'documented' ? 'documented' : 'target'
  const replan = (discovery: Discovery): ContractedPlan => {
    const layered = discoveredContract(contract, discovery, draft.callers.accountTier, limitsFrom)
    const scenario = parseScenario(written, file, layered)
    return {
      plan: makePlan(scenario, layered, overrides, { recordings, publishedLimits: discovery.limits }),
      contract: layered,
    }
  }
  const plan = makePlan(draft, contract, overrides, { recordings, publishedLimits: nothingDiscovered.limits })
  // The address may contain a key, as with some nodes. It is masked wherever it is shown.
  assertNoSecret(file, { ...plan, target: null }, 'scenario')
  return { plan, contract, profile, replan, ownBudgetUsd: draft.budgetUsd }
}

/** The path of the profile of `--profile`, or of the one that the scenario names; null for the documented contract. */
function profileOf(values: Values, scenario: string, file: string): string | null {
  const flag = text(values, 'profile')
  if (flag !== null) return profileFile(flag, null)
  const named = profileNamedIn(scenario, file)
  return named === null ? null : profileFile(named, file)
}

/**
 * Throws a UsageError, before anything is sent, if a plan could spend more than its budget. `isDraft`: a price may still
 * be discovered.
 */
export function assertWithinBudget(plan: Plan, { isDraft }: { readonly isDraft: boolean }): void {
  const mistake = budgetMistake(plan, { isDraft })
  if (mistake === null) return
  const refusal = new UsageError(mistake)
  // The forecast shows which budget the run needs.
  if (plan.budgetUsd === null) process.stderr.write(`${visible(describePlan(plan, refusal.message))}\n`)
  throw refusal
}

/**
 * Why a plan must not run; null if it may. Turnpike never spends money without permission: a target that is not on this
 * machine needs a budget, and a plan that could exceed its budget is refused.
 */
export function budgetMistake(
  { target, budgetUsd, isBudgetUnlimited, forecast }: Plan,
  { isDraft }: { readonly isDraft: boolean },
): Mistake | null {
  if (isBudgetUnlimited) return null
  if (target !== null && !isLoopback(target)) {
    if (budgetUsd === null)
      return {
        where: '--budget-usd',
        got: 'nothing',
        expected: `a budget, because ${new URL(target).host} is not on this machine`,
        ...(forecast.worstUsd !== null && { hint: `the worst case of the forecast is $${forecast.worstUsd}` }),
      }
    if (forecast.worstUsd === null && !isDraft)
      return {
        where: 'forecast',
        got: 'a model without a known price',
        expected: 'its price in the profile, so that the budget can be enforced, or --budget-usd unlimited',
      }
  }
  if (budgetUsd !== null && forecast.worstUsd !== null && pico(forecast.worstUsd) > pico(budgetUsd))
    return {
      where: 'budget',
      got: `$${budgetUsd}`,
      expected: `at least $${forecast.worstUsd}, the worst case of the forecast`,
      hint: 'raise the budget, or send less',
    }
  return null
}
