import { plainTable } from '../lib/text-layout.ts'
import { usesOfMix } from '../scenario/tier-rate.ts'
import { peakPerSecond } from './arrivals-between.ts'
import { describeLimits, limitsTable } from './describe-limits.ts'
import { describeLoad, seconds } from './describe-load.ts'
import { wholeRun } from './forecast.ts'
import type { Plan, StagePlan } from './plan.ts'
import { mixOf } from './stage-mix.ts'
import { unprovable } from './unprovable.ts'

/** The plan for people: what would be sent, at which rates against which limits, what it would cost and prove. */
export function describePlan(plan: Plan): string {
  return [
    heading(plan),
    section('Stages', stagesTable(plan)),
    section('Limits, by the profile and by the target', limitsTable(plan.limits)),
    section('Limits of one caller', useTable(plan)),
    section('Failures of one caller, on purpose', failuresTable(plan)),
    section('Requests, as expected', requestsTable(plan)),
    section('Thresholds', thresholdLines(plan)),
  ]
    .filter(part => part !== '')
    .join('\n\n')
    .concat('\n')
}

const section = (title: string, body: string): string => (body === '' ? '' : `${title}\n\n${indent(body)}`)
const indent = (text: string): string => text.replace(/^(?=.)/gm, '  ')

function heading(plan: Plan): string {
  const { scenario, question, seed, target, service, profile, callers, limits, budgetUsd, forecast } = plan
  const { credits, worstUsd, durationMs, requests } = forecast
  const worst = worstUsd === null ? 'unknown, since a price is not known' : `$${worstUsd}`
  const keys = callers.keysEach === 1 ? '' : `, ${callers.keysEach} keys each`
  const shared = callers.shared ? ', shared with others' : ''
  const facts = [
    ['target', target ?? `a reference service of our own${busyService(service)}`],
    ['profile', profile],
    ['callers', `${callers.names.length} of tier ${callers.accountTier}${keys}${shared}`],
    ['limits', describeLimits(limits)],
    ['seed', String(seed)],
    ['duration', seconds(durationMs)],
    ['forecast', `${count(requests)} requests, ${count(credits)} credits, at worst ${worst}`],
    ['budget', budgetUsd === null ? 'none' : `$${budgetUsd}${overBudget(worstUsd, budgetUsd)}`],
  ]
  const title = question === null ? scenario : `${scenario}: ${question}`
  return `${title}\n\n${indent(plainTable([], facts))}`
}

function busyService(service: Plan['service']): string {
  if (service === null) return ''
  const { slots, serviceTimeMs, spread, queue } = service
  const perSecond = Number(((slots * 1_000) / serviceTimeMs).toPrecision(4))
  return `: ${slots} slots, ${seconds(serviceTimeMs)} each (${spread}), so ${perSecond}/s; ${queue} may wait`
}

function overBudget(worstUsd: string | null, budgetUsd: string): string {
  if (worstUsd === null || Number(worstUsd) <= Number(budgetUsd)) return ''
  return ', less than the forecast at worst: the run may stop early'
}

function stagesTable({ stages }: Plan): string {
  return plainTable(
    ['stage', 'from', 'lasts', 'callers', 'load'],
    stages.map(stage => [
      stage.name,
      seconds(stage.startMs),
      seconds(stage.durationMs),
      String(stage.callers),
      describeLoad(stage),
    ]),
  )
}

/** Of the requests and the tokens of one model only those are shown that are nearer to their limit. */
function useTable({ forecast: { limits }, stages, calls }: Plan): string {
  const share = (row: Limit) => row.perMinute / row.limit
  const rivalOf = (row: Limit) =>
    limits.find(other => other.stage === row.stage && other !== row && modelScope(other) === modelScope(row))
  const shown = limits.filter(row => {
    const rival = rivalOf(row)
    return (
      rival === undefined || share(row) > share(rival) || (share(row) === share(rival) && modelScope(row) === row.scope)
    )
  })
  if (shown.length === 0) return ''
  return plainTable(
    ['stage', 'scope', 'peak a minute', 'busiest minute', 'limit', 'used'],
    shown.map(row => {
      const stage = stages.find(({ name }) => name === row.stage)
      const peak = stage === undefined ? null : peakPerMinute(stage, row.scope, calls)
      return [
        row.stage === wholeRun ? 'whole run' : row.stage,
        row.scope,
        peak === null ? '' : count(peak),
        count(row.perMinute),
        count(row.limit),
        `${Math.round(share(row) * 100)}%${row.perMinute > row.limit * (1 + 1e-9) ? ', over' : ''}`,
      ]
    }),
  )
}

function failuresTable({ forecast: { failures } }: Plan): string {
  const [first] = failures
  if (first === undefined) return ''
  return plainTable(
    ['stage', `in ${seconds(first.windowMs)}`, 'tolerated', ''],
    failures.map(({ stage, expected, tolerated, isMeant }) => {
      const over = isMeant ? 'beyond it on purpose' : 'over: if that is meant, "beyond-failures: true" says so'
      return [stage, count(expected), count(tolerated), expected > tolerated ? over : '']
    }),
  )
}

type Limit = Plan['forecast']['limits'][number]

const modelScope = ({ scope }: Limit): string => scope.replace(/ tokens$/, '')

/** What one caller would take in a minute if the stage kept its highest rate for that long. */
function peakPerMinute(stage: StagePlan, scope: string, calls: Plan['calls']): number | null {
  const perSecond = peakPerSecond(stage)
  const use = usesOfMix(mixOf(stage), calls).get(scope)
  return perSecond === null || use === undefined ? null : (perSecond * 60 * use.amount) / stage.callers
}

function requestsTable({ forecast: { calls }, stages }: Plan): string {
  const perSecond = (name: string, requests: number): string => {
    const { load, durationMs = 1_000 } = stages.find(stage => stage.name === name) ?? {}
    // How quickly they come is what such a stage is to find out.
    return load?.model === 'saturate' ? '' : count((requests * 1_000) / durationMs)
  }
  return plainTable(
    ['stage', 'call', 'requests', 'per second', 'provable'],
    calls.map(({ stage, call, requests, isAtMost, provablePercentile }) => [
      stage,
      call,
      count(requests),
      perSecond(stage, requests),
      provablePercentile === null ? 'no percentile' : `${isAtMost ? 'at best' : 'up to'} p${provablePercentile}`,
    ]),
  )
}

function thresholdLines(plan: Plan): string {
  return plan.thresholds
    .map(threshold => {
      const problem = unprovable(plan, threshold)
      return problem === null ? threshold.expression : `${threshold.expression}\n  ${problem}`
    })
    .join('\n')
}

const count = (value: number): string =>
  (value < 10 ? Number(value.toFixed(2)) : Math.round(value)).toLocaleString('en')
