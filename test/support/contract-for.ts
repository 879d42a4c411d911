import type { Contract } from '../../src/contract/contract.ts'
import { documentedContract } from '../../src/contract/documented.ts'
import { loadProfile } from '../../src/contract/profile.ts'
import { profileNamedIn, readScenario } from '../../src/scenario/load-scenario.ts'

/** The contract of a shipped scenario as after a discovery, since its profile may leave the models to the target. */
export function contractFor(file: string): Contract {
  const name = profileNamedIn(readScenario(file), file)
  const contract = name === null ? documentedContract : loadProfile(`scenarios/profiles/${name}.yaml`)
  return contract.models.length > 0 ? contract : { ...contract, models: documentedContract.models }
}
