import { type ClauseId, clauseIds } from '../contract/clauses.ts'
import type { Contract } from '../contract/contract.ts'
import { notPromised } from '../contract/promises.ts'
import type { JsonObject } from '../lib/json.ts'
import type { Plan } from '../plan/plan.ts'
import { liesAbout } from '../service/lies/lies.ts'

/** By how much a service is worse than an honest one. */
export type FaultTerms = {
  /** `slower` by this ratio; `errors` with this probability; `limit` that differs by this ratio, `slow-worker` by this ratio. */
  readonly kind: 'slower' | 'errors' | 'limit' | 'charge' | 'slow-worker' | 'lost'
  readonly ratio: number
}

/** How a service in memory differs from an honest one, as plain data. */
export type MutantTerms = {
  /** The lie that it tells; null: none. */
  readonly lie: string | null
  /** null: it is neither slower nor less reliable. */
  readonly fault: FaultTerms | null
  /** Of what the service draws; null: that of the run. */
  readonly serviceSeed: number | null
  /** The scenario that is run in place of the own one; null: the own one. */
  readonly scenario: JsonObject | null
  /** Whether the first violation ends the run, since the verdict is known then. */
  readonly failFast: boolean
  /** Whether nothing is judged: only the callers matter whose replies differ from those of an honest service. */
  readonly repliesOnly?: boolean
  /** If only times are measured and nothing is judged, the name of the last stage that is sent. */
  readonly timesUntil?: string
}

export type ServiceTerms = Omit<MutantTerms, 'failFast'>

/** A service as documented. */
export const honestTerms: ServiceTerms = { lie: null, fault: null, serviceSeed: null, scenario: null }

/** A service that differs from the honest one in one way. */
export type Mutant = {
  readonly name: string
  /** The first part of the id of its clause, such as `billing`; `faults` for those of quantity. */
  readonly group: string
  /** What the service does, in one line. */
  readonly text: string
  /** The promise that it breaks; null: none, since times are not promised. */
  readonly clause: ClauseId | null
  readonly terms: Pick<MutantTerms, 'lie' | 'fault'>
}

const groupOf = (id: ClauseId): string => id.split('.')[0] ?? id

/** The lies about clauses that the profile promises, and that `--only` selects. */
export const promisedLies = (plan: Plan, contract: Contract): readonly Mutant[] =>
  judgedClauses(plan, contract).flatMap(clause =>
    liesAbout(clause, contract).map(({ name, text }) => ({
      ...{ name, group: groupOf(clause), text, clause },
      terms: { lie: name, fault: null },
    })),
  )

function judgedClauses({ only }: Plan, contract: Contract): readonly ClauseId[] {
  const missing = notPromised(contract)
  const selected = only?.clauses ?? clauseIds
  return clauseIds.filter(id => selected.includes(id) && !missing.includes(id))
}

/** The clauses that the profile leaves out, and how many lies are about them. */
export function unpromised(contract: Contract): { readonly clauses: readonly ClauseId[]; readonly lies: number } {
  const missing = notPromised(contract)
  return { clauses: missing, lies: missing.reduce((sum, id) => sum + liesAbout(id, contract).length, 0) }
}
