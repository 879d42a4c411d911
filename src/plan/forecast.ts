import type { Contract } from '../contract/contract.ts'
import { type LimitOf, requestsPerArrival, type Scope, scopeName, usesOf, usesOfMix } from '../scenario/tier-rate.ts'
import { arrivalsBetween } from './arrivals-between.ts'
import { busiestOfCaller } from './caller-draw.ts'
import { admittedShare, samplesPerArrival } from './expected-samples.ts'
import { failuresForecast } from './failures-forecast.ts'
import type { CallPlan, Forecast, Plan, StagePlan } from './plan.ts'
import { provablePercentile } from './provable-percentile.ts'
import { creditsPerArrival, worstUsd } from './spend.ts'
import { mixOf } from './stage-mix.ts'

const minuteMs = 60_000

/** The stage under which the forecast shows the busiest minute of the whole run. */
export const wholeRun = '(run)'

/** What the plan would send, spend and prove. Counts are expectations, rounded to whole requests and credits. */
export function forecast(plan: Omit<Plan, 'forecast'>, contract: Contract, limitOf: LimitOf): Forecast {
  const rows = plan.stages.flatMap(stage => rowsOf(stage, plan.calls))
  const limits = limitsOf(plan, limitOf)
  const calls = rows.map(({ stage, name, call, arrivals }) => {
    const samples = Math.round(arrivals * samplesPerArrival(call, contract) * admittedShare(stage, call, limits))
    return {
      call: name,
      stage: stage.name,
      requests: Math.round(arrivals * requestsPerArrival(call)),
      samples,
      isAtMost: stage.load.model !== 'open' && stage.load.model !== 'sequence',
      provablePercentile: provablePercentile(samples),
    }
  })
  const credits = rows.reduce((sum, { call, arrivals }) => sum + arrivals * creditsPerArrival(call, contract), 0)
  return {
    requests: calls.reduce((sum, { requests }) => sum + requests, 0),
    durationMs: plan.stages.reduce((sum, { durationMs }) => sum + durationMs, 0),
    credits: Math.round(credits),
    worstUsd: worstUsd(rows, contract),
    calls,
    failures: failuresForecast(plan, limits, contract),
    limits,
  }
}

type Row = { readonly stage: StagePlan; readonly name: string; readonly call: CallPlan; readonly arrivals: number }

function rowsOf(stage: StagePlan, calls: Plan['calls']): readonly Row[] {
  const mix = mixOf(stage)
  const total = mix.reduce((sum, [, weight]) => sum + weight, 0)
  const arrivals = arrivalsBetween(stage, 0, stage.durationMs)
  return mix.flatMap(([name, weight]) => {
    const call = calls[name]
    return call === undefined ? [] : [{ stage, name, call, arrivals: (arrivals * weight) / total }]
  })
}

function limitsOf({ stages, calls }: Omit<Plan, 'forecast'>, limitOf: LimitOf): Forecast['limits'] {
  const row = (name: string, scope: Scope, of: readonly StagePlan[]) => ({
    stage: name,
    scope: scopeName(scope),
    perMinute: busiestOfCaller(of, minuteMs, call => amountOf(calls[call], scope)),
    limit: limitOf(scope),
  })
  const drawn = stages.map(stage => ({ stage, uses: usesOfMix(mixOf(stage), calls) }))
  const scopes = new Map(drawn.flatMap(({ uses }) => [...uses].map(([name, { scope }]) => [name, scope])))
  const rows = [
    ...drawn.flatMap(({ stage, uses }) => [...uses.values()].map(({ scope }) => row(stage.name, scope, [stage]))),
    ...[...scopes.values()].map(scope => row(wholeRun, scope, stages)),
  ]
  // What has no documented limit cannot be near it.
  return rows.filter(({ limit }) => Number.isFinite(limit))
}

function amountOf(call: CallPlan | undefined, scope: Scope): number {
  const uses = call === undefined ? [] : usesOf(call)
  return uses.find(use => scopeName(use.scope) === scopeName(scope))?.amount ?? 0
}
