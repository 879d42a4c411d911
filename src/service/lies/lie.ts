import type { ClauseId } from '../../contract/clauses.ts'
import type { Contract } from '../../contract/contract.ts'
import type { Behavior } from '../behavior.ts'

/** A seeded contract violation of the service: the decisions that it replaces. */
export type Lie = {
  /** Unique, in kebab case. */
  readonly name: string
  /** What the service does, in one line. */
  readonly text: string
  readonly overrides: Overrides
  /** Further clauses that it violates, or appears to violate. */
  readonly alsoViolates: readonly ClauseId[]
}

export type Overrides = (honest: Behavior, contract: Contract) => Partial<Behavior>

/** A lie as a table row, under its name: what the service does, how, and the further clauses that it violates. */
export type LieRow = readonly [text: string, overrides: Overrides, alsoViolates?: readonly ClauseId[]]

export type LieRows = Readonly<Record<string, LieRow>>

/** Lies by the clause that they violate. */
export type Lies = Partial<Readonly<Record<ClauseId, LieRows>>>

export const lie = (name: string, text: string, overrides: Overrides, alsoViolates: readonly ClauseId[] = []): Lie => {
  return { name, text, overrides, alsoViolates }
}

/** `honest` with each lie applied in turn. A lie may have state: each service applies it once more. */
export function withOverrides(honest: Behavior, contract: Contract, lies: readonly Lie[]): Behavior {
  let behavior = honest
  for (const lie of lies) behavior = { ...behavior, ...lie.overrides(behavior, contract) }
  return behavior
}
