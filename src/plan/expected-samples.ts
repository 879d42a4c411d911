import type { Contract } from '../contract/contract.ts'
import { probeOf } from '../contract/probes.ts'
import { requestsPerArrival, scopeName, usesOf } from '../scenario/tier-rate.ts'
import type { CallPlan, Forecast, StagePlan } from './plan.ts'

/** The expected requests of one arrival that should succeed: what is refused is not timed. */
export function samplesPerArrival(call: CallPlan, contract: Contract): number {
  if (call.kind === 'probe')
    return probeOf(call.probe)
      .promised(contract)
      .every(status => status >= 300)
      ? 0
      : 1
  return requestsPerArrival(call) - (call.kind === 'replay' ? call.conflicting : 0)
}

/** The share of a call's requests that limits leave room for, when every minute of the stage is as its busiest. */
export function admittedShare({ name }: StagePlan, call: CallPlan, limits: Forecast['limits']): number {
  const scopes = usesOf(call).map(({ scope }) => scopeName(scope))
  const rows = limits.filter(row => row.stage === name && scopes.includes(row.scope))
  return rows.reduce((least, { perMinute, limit }) => Math.min(least, perMinute > limit ? limit / perMinute : 1), 1)
}
