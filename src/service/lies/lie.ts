import type { ClauseId } from '../../contract/clauses.ts'
import type { Contract } from '../../contract/contract.ts'
import type { Behavior } from '../behavior.ts'
import type { Reply, RequestState } from '../message.ts'

/** A misbehaviour of the service: the decisions that it makes otherwise, over those that it would have made. */
export type Lie = {
  /** Unique, in kebab case. */
  readonly name: string
  /** What it does, in a line. */
  readonly says: string
  readonly bend: (honest: Behavior, contract: Contract) => Partial<Behavior>
  /** Clauses that cannot but break, or seem to, along with its own. */
  readonly alsoBreaks: readonly ClauseId[]
}

export type Lies = Partial<Readonly<Record<ClauseId, readonly [Lie, ...Lie[]]>>>

/** `honest`, bent by each lie in turn. A lie may remember: it is bent anew for each service. */
export function bend(honest: Behavior, contract: Contract, lies: readonly Lie[]): Behavior {
  let behaviour = honest
  for (const lie of lies) behaviour = { ...behaviour, ...lie.bend(behaviour, contract) }
  return behaviour
}

export const lie = (name: string, says: string, bend: Lie['bend'], alsoBreaks: readonly ClauseId[] = []): Lie => {
  return { name, says, bend, alsoBreaks }
}

/** A lie that is told when everything is decided: another reply in place of the one that was meant. */
export const replyLie = (
  name: string,
  says: string,
  change: (reply: Reply, visit: RequestState, contract: Contract) => Reply,
  alsoBreaks: readonly ClauseId[] = [],
): Lie => ({
  name,
  says,
  bend: (honest, contract) => ({ finish: (reply, visit) => change(honest.finish(reply, visit), visit, contract) }),
  alsoBreaks,
})
