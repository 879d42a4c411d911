import type { CheckName } from '../contract/clauses.ts'
import type { Contract } from '../contract/contract.ts'
import type { Observation } from '../observation/observation.ts'
import type { Say } from './docket.ts'

/** Judges one observation, and only that. */
export type Check<Name extends CheckName> = (observation: Observation, contract: Contract, say: Say<Name>) => void

/** What was got, short enough for a sentence. */
export function quote(value: unknown): string {
  const text = value === undefined ? 'nothing' : (JSON.stringify(value) ?? String(value))
  return text.length > 80 ? `${text.slice(0, 77)}...` : text
}
