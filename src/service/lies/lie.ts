import type { Contract } from '../../contract/contract.ts'
import type { Behaviour } from '../behaviour.ts'

/** A misbehaviour of the service: the decisions that it makes otherwise, over those that it would have made. */
export type Lie = {
  /** Unique, in kebab case. */
  readonly name: string
  /** What it does, in a line. */
  readonly says: string
  readonly bend: (honest: Behaviour, contract: Contract) => Partial<Behaviour>
}

/** `honest`, bent by each lie in turn. A lie may remember: it is bent anew for each service. */
export function bend(honest: Behaviour, contract: Contract, lies: readonly Lie[]): Behaviour {
  let behaviour = honest
  for (const lie of lies) behaviour = { ...behaviour, ...lie.bend(behaviour, contract) }
  return behaviour
}
