import { parseScenario, profileNamedIn } from '../scenario/load-scenario.ts'
import type { ScenarioInput } from '../scenario/schema.ts'
import { contractIn, scenarioOf } from './draft.ts'
import { createSecrets } from './secrets.ts'
import { profileFile } from './shipped-files.ts'

/**
 * A scenario in TypeScript: what a scenario file holds, checked at once. Returns it unchanged. Throws a UsageError with
 * every mistake and its place, such as `scenario nightly: calls.chat.kind`. Names of models and networks, and rates, are
 * checked when it runs, because the target may state them.
 */
export function defineScenario(scenario: ScenarioInput): ScenarioInput {
  const { written, file } = scenarioOf(scenario)
  const named = profileNamedIn(written, file)
  const contract = contractIn(named === null ? null : profileFile(named, null), createSecrets())
  parseScenario(written, file, contract, () => true)
  return scenario
}
