import type { ReplayStep } from '../arrivals/arrivals.ts'
import type { Contract } from '../contract/contract.ts'
import { isOwnRefusal } from '../contract/probes.ts'
import type { Call } from '../plan/plan.ts'

/**
 * How many requests of an arrival are sent to be refused, and so count towards the abuse block of their caller. Before
 * the arrival is made its steps are not known (null), and then it is as many as there may be.
 */
export function deliberateFailures(
  call: Call | undefined,
  steps: readonly ReplayStep[] | null,
  contract: Contract,
): number {
  if (call?.kind === 'probe') return isOwnRefusal(call.probe, contract) ? 1 : 0
  if (call?.kind !== 'replay') return 0
  return steps === null ? Math.ceil(call.conflicting) : steps.filter(step => step === 'conflict').length
}
