import type { Contract } from '../contract/contract.ts'
import { type LimitScope, limitName } from '../contract/limits.ts'
import { promisesAny } from '../contract/promises.ts'
import { memoizeByObject } from '../lib/memoize.ts'
import { promisesCredits } from '../scenario/calls/rpc.ts'
import { paymentOf } from '../scenario/calls/wallets.ts'
import { type LimitOf, limitUsageOfMix } from '../scenario/tier-rate.ts'
import { maxUsd } from './cost.ts'
import {
  type Call,
  type Forecast,
  type Mix,
  meanOf,
  mixOf,
  type Plan,
  type Shape,
  type StagePlan,
  totalWeight,
  traitsOf,
  withLengths,
} from './plan.ts'
import { arrivalsBetween, rateSegments } from './rate-curve.ts'
import { unpackArrivals } from './recorded-load.ts'
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
  const { load } = stage
  const mix = mixOf(stage)
  const total = totalWeight(mix)
  const arrivals = arrivalsBetween(stage, 0, stage.durationMs)
  return mix.flatMap(([name, weight]) => {
    const call = calls[name]
    const mean = load.model === 'open' && load.shape.kind === 'recorded' ? load.shape.prompts?.means[name] : undefined
    if (call === undefined) return []
    // What a call costs grows evenly with its lengths, so all of them cost as much as calls of mean lengths.
    return [{ stage, name, call: mean ? withLengths(call, mean) : call, arrivals: (arrivals * weight) / total }]
  })
}

function limitsOf({ stages, calls }: Omit<Plan, 'forecast'>, limitOf: LimitOf): Forecast['limits'] {
  const row = (name: string, scope: LimitScope, of: readonly StagePlan[]) => ({
    stage: name,
    scope: limitName(scope),
    perMinute: peakUsageOfCaller(of, minuteMs, (call, lengths) => amountOf(calls[call], scope, lengths)),
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

function amountOf(call: Call | undefined, scope: LimitScope, lengths: Lengths | null = null): number {
  const sized = call !== undefined && lengths !== null ? withLengths(call, lengths) : call
  const uses = sized === undefined ? [] : traitsOf(sized).limits
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

type Lengths = Parameters<typeof withLengths>[1]

/** What an arrival of this call uses of a limit. `lengths`: its own; null: those of its call. */
type AmountOf = (call: string, lengths: Lengths | null) => number

/** The highest usage of one caller within any `windowMs` of these stages, over all callers. */
function peakUsageOfCaller(stages: readonly StagePlan[], windowMs: number, amountOf: AmountOf): number {
  const busiest = candidateCallers(stages).map(caller => {
    const own = stages.filter(stage => stage.firstCaller <= caller && caller < stage.firstCaller + stage.callers)
    return busiestWindow(
      own.map(stage => usageCurveOf(stage, caller, amountOf)),
      windowMs,
    )
  })
  return busiest.reduce((max, each) => Math.max(max, each), 0)
}

/** One of these callers is the busiest: stages overlap most in the first caller of one of them. */
function candidateCallers(stages: readonly StagePlan[]): readonly number[] {
  return [
    ...new Set(
      stages.flatMap(({ load, firstCaller }) =>
        load.model === 'open' && load.shape.kind === 'recorded' ? recordedCallers(load.shape) : [firstCaller],
      ),
    ),
  ]
}

function usageCurveOf(stage: StagePlan, caller: number, amountOf: AmountOf): UsageCurve {
  const { load, startMs } = stage
  if (load.model === 'open' && load.shape.kind === 'recorded')
    return recordedUsage(load.shape, startMs, caller, load.mix, amountOf)
  const perArrival = meanOf(mixOf(stage), call => amountOf(call, null)) / stage.callers
  return {
    used: (fromMs, toMs) => perArrival * arrivalsBetween(stage, fromMs - startMs, toMs - startMs),
    // A window that starts just after `edge - windowMs` includes what happens at the edge; one that starts there does not.
    starts: windowMs =>
      edgesOf(stage, windowMs).flatMap(edge => [edge, edge - windowMs, edge - windowMs + 1e-6].map(at => startMs + at)),
    isStepped: false,
  }
}

/** Instants from the start of a stage at which it begins, ends, changes slope or has a burst. */
function edgesOf({ load, durationMs }: StagePlan, windowMs: number): readonly number[] {
  const ends = [0, durationMs]
  if (load.model !== 'open') return ends
  const { shape } = load
  if (shape.kind !== 'burst') return [...ends, ...(rateSegments(shape, durationMs) ?? []).map(({ startMs }) => startMs)]
  const { everyMs } = shape
  const bursts = Math.ceil(durationMs / everyMs)
  // Bursts in the middle of a stage are like those near its start, so only those near its ends matter.
  const near = Math.min(bursts, Math.ceil(windowMs / Math.max(everyMs, 100)) + 1)
  const indices = Array.from({ length: near }, (_, index) => [index, bursts - 1 - index]).flat()
  return [...ends, ...indices.map(index => index * everyMs)]
}

/** Usage over time of what a limit counts. Times are milliseconds since the start of the load. */
type UsageCurve = {
  /** Usage in [fromMs, toMs). */
  readonly used: (fromMs: number, toMs: number) => number
  /** Candidate starts of a window. Between two of them, the usage of a window is smooth. */
  readonly starts: (windowMs: number) => readonly number[]
  /** Whether usage is constant between two starts. */
  readonly isStepped: boolean
}

/**
 * The highest usage within any `windowMs`: the bound for a fixed window of the target, whose start is unknown. Between two
 * candidate starts the usage is a quadratic function of the start, so checking those and the peak between them is exact.
 */
function busiestWindow(curves: readonly UsageCurve[], windowMs: number): number {
  const amount = (startMs: number) => curves.reduce((sum, { used }) => sum + used(startMs, startMs + windowMs), 0)
  const starts = Float64Array.from(new Set(curves.flatMap(curve => curve.starts(windowMs)))).sort()
  const isStepped = curves.every(curve => curve.isStepped)
  let max = 0
  for (const [index, start] of starts.entries()) {
    max = Math.max(max, amount(start))
    if (!isStepped) max = Math.max(max, amount(peakBetween(amount, start, starts[index + 1] ?? start)))
  }
  return Number(max.toPrecision(9))
}

/** Where the quadratic through three points in (low, high) has its maximum; `low` if it has none there. */
function peakBetween(f: (x: number) => number, low: number, high: number): number {
  const step = (high - low) / 4
  if (step < 1e-3) return low
  const middle = low + 2 * step
  const [left, center, right] = [f(low + step), f(middle), f(high - step)]
  const curvature = left - 2 * center + right
  if (curvature >= 0) return low
  const peak = middle + (step * (left - right)) / (2 * curvature)
  return peak > low && peak < high ? peak : low
}

type Recorded = Extract<Shape, { readonly kind: 'recorded' }>

/** The arrivals of one caller, in order; calls are positions in the mix. */
type CallerArrivals = { readonly offsetsMs: number[]; readonly calls: number[]; readonly lengths: (Lengths | null)[] }

/** Unpacked once per shape, since a forecast needs it for every caller and every limit. */
const arrivalsByCaller = memoizeByObject((shape: Recorded): ReadonlyMap<number, CallerArrivals> => {
  const byCaller = new Map<number, CallerArrivals>()
  for (const { offsetMs, call, caller, prompt } of unpackArrivals(shape)) {
    let own = byCaller.get(caller)
    if (own === undefined) {
      own = { offsetsMs: [], calls: [], lengths: [] }
      byCaller.set(caller, own)
    }
    own.offsetsMs.push(offsetMs)
    own.calls.push(call)
    // Without its blocks, since there may be millions.
    own.lengths.push(
      prompt ? { promptTokens: prompt.promptTokens, maxCompletionTokens: prompt.maxCompletionTokens } : null,
    )
  }
  return byCaller
})

const noArrivals: CallerArrivals = { offsetsMs: [], calls: [], lengths: [] }

const recordedCallers = (shape: Recorded): readonly number[] => [...arrivalsByCaller(shape).keys()]

/** The usage of one caller in a recorded stage that begins at `startMs`. */
function recordedUsage(shape: Recorded, startMs: number, caller: number, mix: Mix, amountOf: AmountOf): UsageCurve {
  const { offsetsMs, calls, lengths } = arrivalsByCaller(shape).get(caller) ?? noArrivals
  const amounts = mix.map(([call]) => amountOf(call, null))
  const before = new Float64Array(offsetsMs.length + 1)
  for (const [index, call] of calls.entries()) {
    const own = lengths[index] ?? null
    const amount = own === null ? (amounts[call] ?? 0) : amountOf(mix[call]?.[0] ?? '', own)
    before[index + 1] = (before[index] ?? 0) + amount
  }
  const instants = offsetsMs.map(offsetMs => startMs + offsetMs)
  const usedBefore = (atMs: number) => before[firstFrom(instants, atMs)] ?? 0
  return {
    used: (fromMs, toMs) => usedBefore(toMs) - usedBefore(fromMs),
    // Some busiest window starts at an arrival.
    starts: () => instants,
    isStepped: true,
  }
}

/** The index of the first element of `sorted` that is at least `value`. */
function firstFrom(sorted: readonly number[], value: number): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((sorted[middle] ?? 0) < value) low = middle + 1
    else high = middle
  }
  return low
}
