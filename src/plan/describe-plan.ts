import { asPatterns, missingPatterns } from '../contract/promises.ts'
import { plainTable, wrap } from '../lib/text-layout.ts'
import { limitUsageOfMix } from '../scenario/tier-rate.ts'
import { wholeRunRow } from './forecast.ts'
import {
  type Call,
  type FewerKeys,
  type LimitsPlan,
  longestMs,
  type Mix,
  mixOf,
  type OnlyPlan,
  type Plan,
  type Shape,
  type StagePlan,
  type Threshold,
  type Timing,
  totalWeight,
  traitsOf,
  type WalletsPlan,
} from './plan.ts'
import { peakPerSecond } from './rate-curve.ts'
import { samplesToProve, trialArrivals } from './sample-size.ts'
import { warmUpTerms } from './warm-up.ts'

/**
 * The plan as text: what it will send, at which rates against which limits, and what it will cost and prove. `refusal`:
 * why a run would be refused; null if it would not. `columns`: the width of a line, if tables leave as much.
 */
export function describePlan(plan: Plan, refusal?: string | null, columns = 100): string {
  const tableOf = (title: string, { header, rows }: Table): string =>
    section(title, rows.length === 0 ? '' : plainTable(header, rows, columns - margins))
  const { scenario, question } = plan
  return [
    wrap({ columns, color: false }, question === null ? scenario : `${scenario}: ${question}`, 0).join('\n'),
    indent(plainTable([], facts(plan, refusal), columns - margins)),
    tableOf('Stages', stagesTable(plan)),
    tableOf('Limits of the profile and of the target', limitsTable(plan.limits)),
    tableOf('Models, networks and prices', valuesTable(plan)),
    tableOf('Limits of one caller, per minute', usageTable(plan)),
    tableOf('Expected failures of one caller', failuresTable(plan)),
    tableOf('Expected requests', requestsTable(plan)),
    section('Thresholds', thresholdLines(plan)),
    section('Must be judged', asPatterns(plan.mustJudge).join(' ')),
    section('Not promised by the profile, so not judged', missingPatterns(plan.notPromised).join(' ')),
  ]
    .filter(part => part !== '')
    .join('\n\n')
    .concat('\n')
}

/** Blanks before each line of a section, and as many after the longest. */
const margins = 4

/** Without rows it is not shown. */
type Table = { readonly header: readonly string[]; readonly rows: readonly (readonly string[])[] }

const valuesTable = ({ values }: Plan): Table => ({
  header: ['name', 'source', 'value'],
  rows: values.map(({ name, text, source }) => [name, source, text]),
})

const section = (title: string, body: string): string => (body === '' ? '' : `${title}\n\n${indent(body)}`)
const indent = (text: string): string => text.replace(/^(?=.)/gm, '  ')

function facts(plan: Plan, refusal: string | null | undefined): readonly (readonly string[])[] {
  const { seed, target, service, profile, only, fewerKeys, callers, limits, budgetUsd, isBudgetUnlimited, forecast } =
    plan
  const { credits, worstUsd, durationMs, requests } = forecast
  const atMostMs = plan.stages.reduce((sum, stage) => sum + longestMs(stage), 0)
  const worst = worstUsd === null ? 'unknown, since a price is missing' : `$${worstUsd}`
  const keys = callers.keysEach === 1 ? '' : `, ${callers.keysEach} keys per caller`
  const shared = callers.shared ? ', shared with others' : ''
  return [
    ['target', target ?? `embedded reference service${serviceCapacity(service)}`],
    ['profile', profile],
    ...(only === null ? [] : [['only', describeOnly(only)]]),
    ...(fewerKeys === null ? [] : [['keys', describeFewerKeys(fewerKeys)]]),
    ...(plan.notOffered.length === 0 ? [] : [['not offered', plan.notOffered.join(', ')]]),
    ['callers', `${callers.names.length} of tier ${callers.accountTier}${keys}${shared}`],
    ...(callers.wallets === null ? [] : [['wallets', describeWallets(callers.wallets)]]),
    ['limits', describeLimits(limits)],
    ['seed', String(seed)],
    ['duration', atMostMs > durationMs ? `${seconds(durationMs)}, at most ${seconds(atMostMs)}` : seconds(durationMs)],
    ['warm-up', describeWarmUp(plan)],
    ['forecast', `${count(requests)} requests, ${count(credits)} credits, worst case ${worst}`],
    [
      'budget',
      budgetUsd === null
        ? isBudgetUnlimited
          ? 'unlimited'
          : 'none'
        : `$${budgetUsd}${overBudget(worstUsd, budgetUsd)}`,
    ],
    ...(refusal === undefined ? [] : [['run', refusal === null ? 'allowed' : `refused: ${refusal}`]]),
  ]
}

/** For example `20 of the callers, on base, top up $5 each before the load`. */
function describeWallets({ chains, topUpUsd, maxPaidUsd }: WalletsPlan): string {
  const on = `${chains.length} of the callers, on ${[...new Set(chains)].join(' and ')}`
  if (maxPaidUsd === '0') return `${on}, pay nothing without --top-up`
  const most = maxPaidUsd === null ? '' : `, pay at most $${maxPaidUsd} together`
  return `${on}${topUpUsd === null ? '' : `, top up $${topUpUsd} each before the load`}${most}`
}

/** The warm-up sends no request to the target, so it costs only time. */
function describeWarmUp(plan: Plan): string {
  const terms = warmUpTerms(plan, 1)
  return terms === null ? 'none, for so few requests' : `at most ${seconds(terms.maxMs)} before the first request`
}

function serviceCapacity(service: Plan['service']): string {
  if (service === null) return ''
  const { concurrency, serviceTimeMs, distribution, queueLength } = service
  const perSecond = Number(((concurrency * 1_000) / serviceTimeMs).toPrecision(4))
  return `: concurrency ${concurrency}, ${seconds(serviceTimeMs)} per request (${distribution}), so ${perSecond}/s; queue length ${queueLength}`
}

function overBudget(worstUsd: string | null, budgetUsd: string): string {
  if (worstUsd === null || Number(worstUsd) <= Number(budgetUsd)) return ''
  return ', below the worst case'
}

function stagesTable({ stages }: Plan): Table {
  const mostOf = stages.some(stage => longestMs(stage) > stage.durationMs) ? [longestMs] : []
  return {
    header: ['stage', 'start', 'duration', ...mostOf.map(() => 'at most'), 'callers', 'load'],
    rows: stages.map(stage => [
      stage.name,
      seconds(stage.startMs),
      seconds(stage.durationMs),
      ...mostOf.map(most => seconds(most(stage))),
      String(stage.callers),
      describeLoad(stage),
    ]),
  }
}

/** For each model, shows requests or tokens, whichever is closer to its limit. */
function usageTable({ forecast: { limits }, stages, calls }: Plan): Table {
  const share = (row: Limit) => row.perMinute / row.limit
  const otherOf = (row: Limit) =>
    limits.find(each => each.stage === row.stage && each !== row && modelScope(each) === modelScope(row))
  const shown = limits.filter(row => {
    const other = otherOf(row)
    return (
      other === undefined || share(row) > share(other) || (share(row) === share(other) && modelScope(row) === row.scope)
    )
  })
  return {
    header: ['stage', 'scope', 'peak', 'busiest minute', 'limit', 'used'],
    rows: shown.map(row => {
      const stage = stages.find(({ name }) => name === row.stage)
      const peak = stage === undefined ? null : peakPerMinute(stage, row.scope, calls)
      return [
        row.stage === wholeRunRow ? 'whole run' : row.stage,
        row.scope,
        peak === null ? '' : count(peak),
        count(row.perMinute),
        count(row.limit),
        `${Math.round(share(row) * 100)}%${row.perMinute > row.limit * (1 + 1e-9) ? ', exceeded' : ''}`,
      ]
    }),
  }
}

function failuresTable({ forecast: { failures } }: Plan): Table {
  const [first] = failures
  return {
    header: ['stage', `per ${seconds(first?.windowMs ?? 0)}`, 'tolerated', ''],
    rows: failures.map(({ stage, expected, tolerated, isMeant }) => {
      const over = isMeant ? 'exceeded on purpose' : 'exceeded; if intended, set "exceed-failure-limit: true"'
      return [stage, count(expected), count(tolerated), expected > tolerated ? over : '']
    }),
  }
}

type Limit = Plan['forecast']['limits'][number]

const modelScope = ({ scope }: Limit): string => scope.replace(/ tokens$/, '')

/** Usage of one caller per minute at the highest rate of the stage. */
function peakPerMinute(stage: StagePlan, scope: string, calls: Plan['calls']): number | null {
  const perSecond = peakPerSecond(stage)
  const use = limitUsageOfMix(mixOf(stage), calls).get(scope)
  return perSecond === null || use === undefined ? null : (perSecond * 60 * use.amount) / stage.callers
}

function requestsTable({ forecast: { calls }, stages }: Plan): Table {
  const perSecond = (name: string, requests: number): string => {
    const { load, durationMs = 1_000 } = stages.find(stage => stage.name === name) ?? {}
    // The rate of a saturate stage is its result, not its input.
    return load?.model === 'saturate' ? '' : count((requests * 1_000) / durationMs)
  }
  return {
    header: ['stage', 'call', 'requests', 'per second', 'provable'],
    rows: calls.map(({ stage, call, requests, isAtMost, provablePercentile }) => [
      stage,
      call,
      count(requests),
      perSecond(stage, requests),
      provablePercentile === null ? 'no percentile' : `${isAtMost ? 'at best' : 'up to'} p${provablePercentile}`,
    ]),
  }
}

function thresholdLines(plan: Plan): string {
  return plan.thresholds
    .map(threshold => {
      const problem = sampleSizeWarning(plan, threshold)
      return problem === null ? threshold.expression : `${threshold.expression}\n  ${problem}`
    })
    .join('\n')
}

const count = (value: number): string =>
  (value < 10 ? Number(value.toFixed(2)) : Math.round(value)).toLocaleString('en')

/** In one line: what is sent, and which thresholds are not judged. */
export function describeOnly({ names, clauses: judged, calls, leftOut }: OnlyPlan): string {
  const sent = calls === null ? 'sends every call, since any of them may exercise it' : `sends only ${calls.join(', ')}`
  const thresholds = judged !== null ? '; judges no threshold' : `; leaves out ${leftOut.join(', ')}`
  return `${names.join(', ')}: ${sent}${leftOut.length === 0 ? '' : thresholds}`
}

/** In one line: how many keys there are, and what is not judged for that reason. */
export const describeFewerKeys = ({ given, of, leftOut }: FewerKeys): string =>
  `${given} for ${of} callers${leftOut.length === 0 ? '' : `; leaves out ${leftOut.join(', ')}`}`

/** In one line: which limits rates use, and what the target published. */
export function describeLimits({ by, discovery, scopes }: LimitsPlan): string {
  if (discovery.kind === 'not-asked') return `from the profile: ${discovery.why}`
  const { caller } = discovery
  if (discovery.kind === 'failed') return `from the profile: discovery as ${caller} failed (${discovery.why})`
  const count = scopes.filter(differs).length
  const differing = count === 0 ? 'none differs' : count === 1 ? '1 differs' : `${count} differ`
  return by === 'target'
    ? `from the target (caller ${caller}); ${differing} from the profile`
    : `from the profile, by "limits-from"; ${differing} at the target (caller ${caller})`
}

/** Each limit by the profile and by the target; without rows if the target published none. */
function limitsTable({ discovery, scopes }: LimitsPlan): Table {
  return {
    header: ['per minute', 'profile', 'target', 'rates use', ''],
    rows: (discovery.kind === 'answered' ? scopes : []).map(row => [
      row.scope,
      amount(row.profile),
      amount(row.target),
      row.from === null ? 'neither' : row.from === 'default' ? 'a default' : `the ${row.from}`,
      differs(row) ? 'differs' : '',
    ]),
  }
}

/** The limits that profile and target state differently, one text for each. */
export function differingLimits({ scopes }: LimitsPlan): readonly string[] {
  return scopes
    .filter(differs)
    .map(({ scope, profile, target }) => `${scope} ${amount(target)} instead of ${amount(profile)}`)
}

type Row = LimitsPlan['scopes'][number]

/** Ignores limits that only one side states. */
const differs = ({ profile, target }: Row): boolean => profile !== null && target !== null && profile !== target

const amount = (perMinute: number | null): string => (perMinute === null ? '–' : perMinute.toLocaleString('en'))

/** The load of a stage as text: `poisson 12.8/s (64/min per caller): chat 25%, rpc 75%`. */
export function describeLoad(stage: StagePlan): string {
  const { load } = stage
  switch (load.model) {
    case 'sequence':
      return `in sequence: ${describeSequence(load.calls)}`
    case 'closed':
      return `${load.users} users, think time ${seconds(load.thinkMs)}: ${describeMix(load.mix)}`
    case 'saturate':
      return `${load.connections} busy connections, at most ${load.maxCalls} calls: ${describeMix(load.mix)}`
    case 'capacity': {
      const { fromPerSecond, toPerSecond, goodRatio, precision, confirmMs, confirmSamples } = load.search
      const each = digits((toPerSecond * 60) / stage.callers)
      const range = `from ${digits(fromPerSecond)} to ${digits(toPerSecond)}/s (${each}/min per caller)`
      const proof = `confirmed over ${seconds(confirmMs)} and ${confirmSamples} responses per call`
      const goal = `for ${exactPercent(goodRatio)} good responses, precision ${exactPercent(precision)}`
      return `search ${range} ${goal}, ${proof}: ${describeMix(load.mix)}`
    }
    case 'open': {
      const peak = peakPerSecond(stage)
      const each = peak === null || peak === 0 ? '' : ` (${digits((peak * 60) / stage.callers)}/min per caller)`
      const mix = load.mix.length === 0 ? '' : `: ${describeMix(load.mix)}`
      return `${describeShape(load.shape, stage.durationMs)}${each}${mix}`
    }
  }
}

function describeShape(shape: Shape, durationMs: number): string {
  switch (shape.kind) {
    case 'constant':
    case 'poisson':
      return `${shape.kind} ${digits(shape.perSecond)}/s`
    case 'ramp':
      return `ramp ${digits(shape.fromPerSecond)} to ${digits(shape.toPerSecond)}/s`
    case 'stairs': {
      const { fromPerSecond, toPerSecond, steps, rampMs } = shape
      const ramps = rampMs === 0 ? '' : `, ramps of ${seconds(rampMs)}`
      return `stairs ${digits(fromPerSecond)} to ${digits(toPerSecond)}/s in ${steps} levels${ramps}`
    }
    case 'spike': {
      const { basePerSecond, peakPerSecond, atMs, forMs, rampUpMs, rampDownMs } = shape
      const ramps = rampUpMs + rampDownMs === 0 ? '' : `, ramps of ${seconds(rampUpMs)} and ${seconds(rampDownMs)}`
      const peak = `${digits(peakPerSecond)}/s at ${seconds(atMs)} for ${seconds(forMs)}`
      return `spike from ${digits(basePerSecond)} to ${peak}${ramps}`
    }
    case 'burst':
      return `burst of ${shape.size}${shape.everyMs < durationMs ? ` every ${seconds(shape.everyMs)}` : ''}`
    case 'recorded': {
      const stage = shape.stage === null ? '' : `, stage ${shape.stage}`
      const speed = shape.speed === 1 ? '' : `, speed ${digits(shape.speed)}`
      return `recorded in ${shape.run}${stage}${speed}`
    }
    case 'pause':
      return 'pause'
  }
}

function describeMix(mix: Mix): string {
  const total = totalWeight(mix)
  return mix.map(([call, weight]) => `${call} ${percent(weight / total)}`).join(', ')
}

/** For a ratio from the scenario, which is not rounded like a computed one. */
const exactPercent = (share: number): string => `${Number((share * 100).toPrecision(6))}%`

const percent = (share: number): string => `${Number((share * 100).toPrecision(2))}%`

const seconds = (ms: number): string => (ms > 0 && ms < 1_000 ? `${digits(ms)} ms` : `${digits(ms / 1_000)} s`)

/** Three significant digits. */
const digits = (value: number): string => String(Number(value.toPrecision(3)))

/** Groups consecutive equal calls: `3 x chat, rpc`. */
function describeSequence(calls: readonly string[]): string {
  const runs: { readonly call: string; times: number }[] = []
  for (const call of calls) {
    const last = runs.at(-1)
    if (last?.call === call) last.times++
    else runs.push({ call, times: 1 })
  }
  return runs.map(({ call, times }) => (times === 1 ? call : `${times} x ${call}`)).join(', ')
}

/**
 * Why the expected samples of a plan cannot or may not prove a threshold; null if they can. Arrivals and mixes are random:
 * with a mean of n, there are fewer than n − 2√n samples one time in forty. If responses set the pace, their number
 * depends on the target.
 */
export function sampleSizeWarning(
  { calls, stages, forecast }: Plan,
  { measure, call, stage }: Threshold,
): string | null {
  if (measure.kind === 'capacity') return confirmationWarning(stages.find(({ name }) => name === stage))
  if (measure.kind !== 'timing' || measure.of.kind !== 'percentile') return null
  const { timing } = measure
  const rows = forecast.calls
    .filter(row => (call === null || row.call === call) && (stage === null || row.stage === stage))
    .map(({ isAtMost, ...row }) => {
      // Lateness is measured for refused requests too.
      const timed = timing === 'lateness' ? row.requests : row.samples
      return { isAtMost, samples: timed * samplesPerRequest(calls[row.call], timing) }
    })
  const sum = (of: typeof rows) => of.reduce((all, { samples }) => all + samples, 0)
  const needed = samplesToProve(measure.of.percent)
  const [certain, expected] = [sum(rows.filter(({ isAtMost }) => !isAtMost)), sum(rows)]
  if (certain - 2 * Math.sqrt(certain) >= needed) return null
  const verdict = expected < needed ? 'cannot be proved' : 'may not be proved'
  const found =
    certain === expected ? `${expected} expected` : `at most ${expected} expected, since responses set the pace`
  return `${verdict}: needs ${needed} samples, ${found}`
}

/** Token timings exist in streams only, and a stream of n tokens has at most n − 1 gaps. */
function samplesPerRequest(call: Call | undefined, timing: Timing): number {
  if (timing === 'latency' || timing === 'service-time' || timing === 'lateness') return 1
  if (call === undefined || !traitsOf(call).isStream) return 0
  return timing === 'itl' || timing === 'icl' ? traitsOf(call).maxTokens - 1 : 1
}

/** Warns if a search is too short to confirm even its highest rate, which takes the least time. */
function confirmationWarning(stage: StagePlan | undefined): string | null {
  if (stage?.load.model !== 'capacity') return null
  const { search } = stage.load
  const ms = (trialArrivals(search, 'confirm', search.toPerSecond) * 1_000) / search.toPerSecond
  return ms <= stage.durationMs ? null : `cannot be proved: confirming the highest rate takes ${seconds(ms)}`
}
