import type { CheckName } from '../../contract/clause.ts'
import type { Contract } from '../../contract/contract.ts'
import type { Observation } from '../../observation/observation.ts'
import type { Say } from './findings.ts'

/** Judges a single observation. */
export type Check<Name extends CheckName> = (observation: Observation, contract: Contract, say: Say<Name>) => void

/** Reports on these clauses, and possibly on others. */
export type Reporter<Clause extends string> = {
  readonly kept: (clause: Clause) => void
  readonly broken: (clause: Clause, message: string, requestIds: readonly number[]) => void
}

/** Reports whether one observation passed a clause. `because` is called only if it failed. */
export type Expect<Clause extends string> = (clause: Clause, kept: boolean, message: () => string) => void

export const expectFor =
  <Clause extends string>(say: Reporter<Clause>, id: number): Expect<Clause> =>
  (clause, kept, message) => {
    if (kept) say.kept(clause)
    else say.broken(clause, message(), [id])
  }
