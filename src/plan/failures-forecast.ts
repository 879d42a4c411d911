import type { Contract } from '../contract/contract.ts'
import { isOwnRefusal } from '../contract/probes.ts'
import { busiestOfCaller } from './caller-draw.ts'
import type { CallPlan, Forecast, Plan } from './plan.ts'

/**
 * How often one caller is expected to fail on purpose, by stage, in the time in which a service counts failures: by
 * requests that are to be refused, and by those beyond a limit. Stages in which nobody does are left out.
 */
export function failuresForecast(
  { stages, calls }: Pick<Plan, 'stages' | 'calls'>,
  limits: Forecast['limits'],
  contract: Contract,
): Forecast['failures'] {
  const { failures: tolerated, windowMs } = contract.abuse
  return stages.flatMap(stage => {
    const meant = busiestOfCaller([stage], windowMs, call => failuresOf(calls[call], contract))
    const beyond = limits
      .filter(row => row.stage === stage.name && !row.scope.endsWith(' tokens'))
      .reduce((sum, { perMinute, limit }) => sum + Math.max(0, perMinute - limit), 0)
    const expected = Math.round(meant + beyond)
    return expected === 0 ? [] : [{ stage: stage.name, windowMs, expected, tolerated, isMeant: stage.beyondFailures }]
  })
}

/** Expected failures of one arrival. */
function failuresOf(call: CallPlan | undefined, contract: Contract): number {
  if (call?.kind === 'replay') return call.conflicting
  return call?.kind === 'probe' && isOwnRefusal(call.probe, contract) ? 1 : 0
}
