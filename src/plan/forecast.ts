import type { Contract } from '../contract/contract.ts'
import { type LimitScope, limitName } from '../contract/limits.ts'
import { promisesAny } from '../contract/promises.ts'
import { promisesCredits } from '../scenario/calls/rpc.ts'
import { paymentOf } from '../scenario/calls/wallets.ts'
import { type LimitOf, limitUsageOfMix } from '../scenario/tier-rate.ts'
import { peakUsageOfCaller } from './busiest-window.ts'
import { maxUsd } from './cost.ts'
import { type Call, type Forecast, mixOf, type Plan, type StagePlan, totalWeight, traitsOf } from './plan.ts'
import { arrivalsBetween } from './rate-curve.ts'
import { admittedRatio, provablePercentile } from './sample-size.ts'

const minuteMs = 60_000

/** The row of the forecast for the busiest minute of the whole run, in place of a stage. */
export const wholeRunRow = '(run)'

/** What the plan will send, spend and prove. Counts are expectations, rounded to whole requests and credits. */
export function forecast(plan: Omit<Plan, 'forecast'>, contract: Contract, limitOf: LimitOf): Forecast {
  const rows = plan.stages.flatMap(stage => rowsOf(stage, plan.calls))
  const limits = limitsOf(plan, limitOf)
  const calls = rows.map(({ stage, name, call, arrivals }) => {
    const samples = Math.round(arrivals * traitsOf(call).samples(contract) * admittedRatio(stage, call, limits))
    return {
      call: name,
      stage: stage.name,
      requests: Math.round(arrivals * traitsOf(call).requests),
      samples,
      isAtMost: stage.load.model !== 'open' && stage.load.model !== 'sequence',
      provablePercentile: provablePercentile(samples),
    }
  })
  const credits = promisesCredits(contract)
    ? rows.reduce((sum, { call, arrivals }) => sum + arrivals * traitsOf(call).cost.credits(contract), 0)
    : 0
  return {
    requests: calls.reduce((sum, { requests }) => sum + requests, 0),
    durationMs: plan.stages.reduce((sum, { durationMs }) => sum + durationMs, 0),
    credits: Math.round(credits),
    worstUsd: maxUsd([...rows, ...openingTopUps(plan.callers)], contract),
    calls,
    failures: failuresForecast(plan, limits, contract),
    limits,
  }
}

/** What wallets pay before the load. */
function openingTopUps({ wallets }: Plan['callers']): readonly Pick<Row, 'call' | 'arrivals'>[] {
  if (wallets === null || wallets.topUpUsd === null) return []
  return [{ call: paymentOf(wallets.topUpUsd), arrivals: wallets.chains.length }]
}

type Row = { readonly stage: StagePlan; readonly name: string; readonly call: Call; readonly arrivals: number }

function rowsOf(stage: StagePlan, calls: Plan['calls']): readonly Row[] {
  const mix = mixOf(stage)
  const total = totalWeight(mix)
  const arrivals = arrivalsBetween(stage, 0, stage.durationMs)
  return mix.flatMap(([name, weight]) => {
    const call = calls[name]
    return call === undefined ? [] : [{ stage, name, call, arrivals: (arrivals * weight) / total }]
  })
}

function limitsOf({ stages, calls }: Omit<Plan, 'forecast'>, limitOf: LimitOf): Forecast['limits'] {
  const row = (name: string, scope: LimitScope, of: readonly StagePlan[]) => ({
    stage: name,
    scope: limitName(scope),
    perMinute: peakUsageOfCaller(of, minuteMs, call => amountOf(calls[call], scope)),
    limit: limitOf(scope),
  })
  const drawn = stages.map(stage => ({ stage, uses: limitUsageOfMix(mixOf(stage), calls) }))
  const scopes = new Map(drawn.flatMap(({ uses }) => [...uses].map(([name, { scope }]) => [name, scope])))
  const rows = [
    ...drawn.flatMap(({ stage, uses }) => [...uses.values()].map(({ scope }) => row(stage.name, scope, [stage]))),
    ...[...scopes.values()].map(scope => row(wholeRunRow, scope, stages)),
  ]
  // Without a documented limit there is nothing to compare with.
  return rows.filter(({ limit }) => Number.isFinite(limit))
}

function amountOf(call: Call | undefined, scope: LimitScope): number {
  const uses = call === undefined ? [] : traitsOf(call).limits
  return uses.find(use => limitName(use.scope) === limitName(scope))?.amount ?? 0
}

/**
 * Expected failures of one caller within the window of the abuse block, by stage: requests that the target must refuse,
 * and those above a limit. Stages without failures are left out.
 */
function failuresForecast(
  { stages, calls }: Pick<Plan, 'stages' | 'calls'>,
  limits: Forecast['limits'],
  contract: Contract,
): Forecast['failures'] {
  if (!promisesAny(contract, ['abuse.*'])) return []
  const { failures: tolerated, windowMs } = contract.abuse
  return stages.flatMap(stage => {
    const meant = peakUsageOfCaller([stage], windowMs, call => failuresOf(calls[call], contract))
    const beyond = limits
      .filter(row => row.stage === stage.name && !row.scope.endsWith(' tokens'))
      .reduce((sum, { perMinute, limit }) => sum + Math.max(0, perMinute - limit), 0)
    const expected = Math.round(meant + beyond)
    return expected === 0 ? [] : [{ stage: stage.name, windowMs, expected, tolerated, isMeant: stage.beyondFailures }]
  })
}

/** Expected failures of one arrival. */
const failuresOf = (call: Call | undefined, contract: Contract): number =>
  call === undefined ? 0 : traitsOf(call).refusals(contract)

/** The time that one request may take: a distant network, a slow service, and a signature. */
const requestMs = 5_000
/** The time that a model may take for each token. */
const tokenMs = 50

/**
 * After how many milliseconds a sequence is cut off, if the scenario does not say: its duration, and time for each of its
 * calls. Only a service that is broken takes so long.
 */
export function sequenceAtMostMs(
  calls: readonly string[],
  { durationMs, beyondFailures }: Pick<StagePlan, 'durationMs' | 'beyondFailures'>,
  plan: Pick<Plan, 'calls'>,
  contract: Contract,
): number {
  const planned = calls.flatMap(name => plan.calls[name] ?? [])
  const callsMs = planned.reduce((sum, call) => sum + callMs(call), 0)
  return Math.ceil(durationMs + callsMs + (beyondFailures ? 0 : failuresMs(planned, contract)))
}

function callMs(call: Call): number {
  const { requests, maxTokens, waitMs } = traitsOf(call)
  return requests * requestMs + maxTokens * tokenMs + waitMs
}

/** How long refusals wait until their caller may fail again. It may have failed before the stage. */
function failuresMs(calls: readonly Call[], contract: Contract): number {
  if (!promisesAny(contract, ['abuse.*'])) return 0
  const refusals = calls.reduce((sum, call) => sum + Math.ceil(traitsOf(call).refusals(contract)), 0)
  return Math.ceil(refusals / Math.max(1, contract.abuse.failures / 2)) * contract.abuse.windowMs
}
