import { type Caller, loadCallers } from '../callers/callers.ts'
import { loadSpareKeys, type SpareKeys } from '../callers/spare-keys.ts'
import type { Plan } from '../plan/plan.ts'
import { isLoopback } from './affordable.ts'

export type Keys = { readonly callers: readonly Caller[]; readonly spareKeys: SpareKeys }

/**
 * The keys of a plan, from its file or the environment. The accounts of a service of our own are made for the run; keys
 * for another service are none of its business. Throws a UsageError when a key is missing.
 */
export function loadKeys({ target, callers }: Plan, runId: string): Keys {
  const environment = target === null ? undefined : process.env.TURNPIKE_KEYS
  const source = { environment, loopback: target === null || isLoopback(target), runId }
  const { TURNPIKE_UNPAYING_KEY: unpaying = '', TURNPIKE_EMPTY_KEY: empty = '' } = process.env
  return {
    callers: loadCallers(callers, source),
    spareKeys: loadSpareKeys(target === null ? {} : { unpaying, empty }, callers, source),
  }
}
