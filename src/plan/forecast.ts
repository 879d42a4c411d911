import { choicesOf } from '../contract/chat-options.ts'
import type { Contract } from '../contract/contract.ts'
import {
  limitPerMinute,
  requestsPerArrival,
  type Scope,
  scopeName,
  type Use,
  usesOf,
  usesOfMix,
} from '../scenario/tier-rate.ts'
import { arrivalsBetween } from './arrivals-between.ts'
import { busiestWindow } from './busiest-window.ts'
import { failuresForecast } from './failures-forecast.ts'
import type { CallPlan, Forecast, Mix, Plan, StagePlan } from './plan.ts'
import { provablePercentile } from './provable-percentile.ts'
import { countedPromptTokens, creditsPerArrival, worstUsd } from './spend.ts'

const minuteMs = 60_000

/** The stage under which the forecast shows the busiest minute of the whole run. */
export const wholeRun = '(run)'

/** What the plan would send, spend and prove. Counts are expectations, rounded to whole requests and credits. */
export function forecast(plan: Omit<Plan, 'forecast'>, contract: Contract): Forecast {
  const rows = plan.stages.flatMap(stage => rowsOf(stage, plan.calls))
  const calls = rows.map(({ stage, name, call, arrivals }) => {
    const requests = Math.round(arrivals * requestsPerArrival(call))
    return { call: name, stage: stage.name, requests, provablePercentile: provablePercentile(requests) }
  })
  const credits = rows.reduce((sum, { call, arrivals }) => sum + arrivals * creditsPerArrival(call, contract), 0)
  const limits = limitsOf(plan, contract)
  const mixes = plan.stages.map(stage => ({ stage, mix: mixOf(stage) }))
  return {
    requests: calls.reduce((sum, { requests }) => sum + requests, 0),
    durationMs: plan.stages.reduce((sum, { durationMs }) => sum + durationMs, 0),
    credits: Math.round(credits),
    worstUsd: worstUsd(rows, contract),
    calls,
    failures: failuresForecast(mixes, plan.calls, limits, contract),
    limits,
  }
}

/** The calls of a stage with their weights; those of a sequence count once for each time that they are in it. */
export function mixOf({ load }: StagePlan): Mix {
  if (load.model !== 'sequence') return load.mix
  return [...new Set(load.calls)].map(name => [name, load.calls.filter(each => each === name).length])
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

function limitsOf(plan: Omit<Plan, 'forecast'>, contract: Contract): Forecast['limits'] {
  const draws = plan.stages.map(stage => ({ stage, uses: usesOfMix(mixOf(stage), plan.calls, countedUses) }))
  const scopes = new Map<string, Scope>(
    draws.flatMap(({ uses }) => [...uses].map(([name, { scope }]) => [name, scope])),
  )
  const drawOn = (name: string, of: readonly (typeof draws)[number][]) =>
    of.flatMap(({ stage, uses }) => {
      const use = uses.get(name)
      return use === undefined ? [] : [{ stage, perArrival: use.amount / stage.callers }]
    })
  const row = (stage: string, scope: Scope, of: typeof draws) => ({
    stage,
    scope: scopeName(scope),
    perMinute: Math.max(...callersToWatch(of).map(one => busiestWindow(drawOn(scopeName(scope), one), minuteMs))),
    limit: limitPerMinute(scope, plan.callers.accountTier, contract),
  })
  const rows = [
    ...draws.flatMap(draw => [...draw.uses.values()].map(({ scope }) => row(draw.stage.name, scope, [draw]))),
    ...[...scopes.values()].map(scope => row(wholeRun, scope, draws)),
  ]
  // What has no documented limit cannot be near it.
  return rows.filter(({ limit }) => Number.isFinite(limit))
}

/** The draws of each caller who may be the busiest: where stages share most callers, one of them begins. */
function callersToWatch<D extends { readonly stage: StagePlan }>(draws: readonly D[]): readonly (readonly D[])[] {
  const starts = [...new Set(draws.map(({ stage }) => stage.firstCaller))]
  return starts.map(caller =>
    draws.filter(({ stage }) => stage.firstCaller <= caller && caller < stage.firstCaller + stage.callers),
  )
}

/** What a call takes, with its tokens as they are counted in forecasts. */
export function countedUses(call: CallPlan): readonly Use[] {
  return usesOf(call).map(use =>
    use.scope.kind === 'chat-tokens' && call.kind === 'chat'
      ? { ...use, amount: countedPromptTokens(call.promptTokens) + call.maxCompletionTokens * choicesOf(call.options) }
      : use,
  )
}
