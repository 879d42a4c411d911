import type { Contract } from '../contract/contract.ts'
import { contractIn, type DraftOverrides, type DraftPlan, draftScenario, scenarioAt } from '../library/draft.ts'
import { profileFile } from '../library/shipped-files.ts'
import { countKeys } from '../produce/callers/api-keys.ts'
import { listFlag, number, text, type Values } from './flags.ts'
import { ownSecrets } from './secrets.ts'

/** The contract of `--profile`, or the documented one. */
export function contractOf(values: Values): Contract {
  const profile = text(values, 'profile')
  return contractIn(profile === null ? null : profileFile(profile, null), ownSecrets)
}

/** What a profile says about each request to a target that is to be learned; nothing without one. */
export const demandedIn = (profile: string | null): Contract | null =>
  profile === null ? null : contractIn(profileFile(profile, null), ownSecrets)

export const overridesIn = (values: Values): DraftOverrides => ({
  profile: text(values, 'profile'),
  target: text(values, 'target'),
  seed: number(values, 'seed'),
  budgetUsd: text(values, 'budget-usd'),
  topUpUsd: text(values, 'top-up'),
  only: listFlag(values, 'only'),
  limitsFrom: text(values, 'limits-from') === 'documented' ? 'documented' : 'target',
})

/** A scenario, a file or the name of a shipped one, and the flags that override it. */
export const draftInput = (scenario: string, values: Values) => ({
  scenario: scenarioAt(scenario),
  overrides: overridesIn(values),
})

/** The plan of a scenario under the flags, for the keys that there are. */
export function draftPlan(name: string, values: Values): Promise<DraftPlan> {
  const { scenario, overrides } = draftInput(name, values)
  return draftScenario(scenario, { ...overrides, keys: countKeys() }, ownSecrets)
}
