import type { ClauseId } from '../../contract/clauses.ts'
import type { Contract } from '../../contract/contract.ts'
import type { Behavior } from '../behavior.ts'

/** A lie without its name. */
export type LieRow = {
  /** What the service does, in one line. */
  readonly text: string
  /** The decisions that it replaces. */
  readonly overrides: LieOverrides
  /** Further clauses that it violates, or appears to violate. */
  readonly alsoViolates: readonly ClauseId[]
}

/** A seeded contract violation of the service, with its unique name in kebab case. */
export type Lie = LieRow & { readonly name: string }

export type LieOverrides = (honest: Behavior, contract: Contract) => Partial<Behavior>

export type LieRows = Readonly<Record<string, LieRow>>

/** Lies by name, by the clause that they violate. */
export type Lies = Partial<Readonly<Record<ClauseId, LieRows>>>

export const row = (text: string, overrides: LieOverrides): LieRow => ({ text, overrides, alsoViolates: [] })

export const alsoViolating = (alsoViolates: readonly ClauseId[], lie: LieRow): LieRow => ({ ...lie, alsoViolates })

export const lie = (
  name: string,
  text: string,
  overrides: LieOverrides,
  alsoViolates: readonly ClauseId[] = [],
): Lie => {
  return { name, text, overrides, alsoViolates }
}

/** `honest` with each lie applied in turn. A lie may have state: each service applies it once more. */
export function withOverrides(honest: Behavior, contract: Contract, lies: readonly Lie[]): Behavior {
  let behavior = honest
  for (const lie of lies) behavior = { ...behavior, ...lie.overrides(behavior, contract) }
  return behavior
}
