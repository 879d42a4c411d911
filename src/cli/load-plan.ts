import type { Contract } from '../contract/contract.ts'
import { documented } from '../contract/documented.ts'
import { loadProfile } from '../contract/profile.ts'
import { makePlan } from '../plan/make-plan.ts'
import type { Plan } from '../plan/plan.ts'
import { loadScenario } from '../scenario/load.ts'
import { number, text, type Values } from './command.ts'
import { readRecordings } from './read-recordings.ts'

/** The contract that the flags name. */
export function contractOf(values: Values): Contract {
  const profile = text(values, 'profile')
  return profile === null ? documented : loadProfile(profile)
}

/** The plan of a scenario file under the flags. */
export async function loadPlan(file: string, contract: Contract, values: Values): Promise<Plan> {
  const overrides = {
    seed: number(values, 'seed'),
    target: text(values, 'target'),
    budgetUsd: text(values, 'budget-usd'),
  }
  const scenario = loadScenario(file, contract)
  return makePlan(scenario, contract, overrides, await readRecordings(scenario))
}
