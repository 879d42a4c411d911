import type { Clause } from '../contract/clause.ts'
import { type ClauseId, clauseIds, clauses } from '../contract/clauses.ts'
import { clausesMatching } from '../contract/promises.ts'
import { nearest, oneOf, UsageError } from '../lib/usage-error.ts'
import { judgesOfKinds } from '../scenario/calls/calls.ts'
import {
  type Call,
  hasTrait,
  isProbe,
  type Load,
  type Mix,
  mixOf,
  type Plan,
  type Shape,
  type StagePlan,
  totalWeight,
  traitsOf,
} from './plan.ts'
import { packArrivals, unpackArrivals } from './recorded-load.ts'

type WholePlan = Omit<Plan, 'forecast' | 'only'>

/**
 * Narrows a plan to the named calls and clauses. Each call keeps its own rate. Throws a UsageError for an unknown name, or
 * if no call or clause is left.
 */
export function narrowPlan(plan: WholePlan, names: readonly string[]): WholePlan & Pick<Plan, 'only'> {
  if (names.length === 0) return { ...plan, only: null }
  const sent = [...new Set(plan.stages.flatMap(stage => mixOf(stage).map(([call]) => call)))]
  const named = names.filter(name => Object.hasOwn(plan.calls, name))
  const patterns = names.filter(name => !named.includes(name))
  for (const name of named)
    if (!sent.includes(name)) throw mistake(name, `a call that a stage of ${plan.scenario} sends: ${oneOf(sent)}`)
  const judged = patterns.length === 0 ? null : clausesOf(patterns, plan)
  const calls = callsFor(named, judged, sent, plan.calls)
  if (calls?.length === 0)
    throw mistake(
      names.join(', '),
      `a clause that a call of ${plan.scenario} exercises, or a scenario with such a call`,
    )
  const stages = calls === null ? plan.stages : narrowStages(plan.stages, new Set(calls))
  const thresholds =
    judged !== null ? [] : plan.thresholds.filter(threshold => isKept(threshold, plan.stages, stages, calls))
  const leftOut = plan.thresholds.filter(threshold => !thresholds.includes(threshold)).map(each => each.expression)
  const isSent = ([name]: readonly [string, unknown]) => calls === null || calls.includes(name)
  return {
    ...plan,
    calls: Object.fromEntries(Object.entries(plan.calls).filter(isSent)),
    slo: Object.fromEntries(Object.entries(plan.slo).filter(isSent)),
    stages,
    thresholds,
    // A part of a scenario answers only a part of its question.
    mustJudge: [],
    only: { names, clauses: judged, calls, leftOut },
  }
}

const mistake = (name: string, expected: string, hint: { readonly hint?: string } = {}): UsageError =>
  new UsageError({ where: '--only', got: JSON.stringify(name), expected, ...hint })

/** The promised clauses of the patterns. */
function clausesOf(
  patterns: readonly string[],
  { scenario, calls, notPromised, profile }: WholePlan,
): readonly ClauseId[] {
  const found = patterns.map(pattern => {
    const all = clausesMatching(pattern)
    const known = [...Object.keys(calls), ...clauseIds]
    if (all.length === 0)
      throw mistake(
        pattern,
        `a call of ${scenario}${listOf(calls)}, or the id or pattern of a clause`,
        nearest(pattern, known),
      )
    const promised = all.filter(id => !notPromised.includes(id))
    if (promised.length === 0) throw mistake(pattern, `a clause that the profile "${profile}" promises`)
    return promised
  })
  const judged = new Set(found.flat())
  return clauseIds.filter(id => judged.has(id))
}

/** The calls by name, without probes, if they are few. */
function listOf(calls: Plan['calls']): string {
  const names = Object.keys(calls).filter(name => !isProbe(calls[name]))
  return names.length > 12 ? '' : ` (${names.join(', ')})`
}

/** The calls to send: the named ones, else the ones that exercise the clauses; null for all. */
function callsFor(
  named: readonly string[],
  judged: readonly ClauseId[] | null,
  sent: readonly string[],
  calls: Plan['calls'],
): readonly string[] | null {
  const exercising = judged === null ? null : callsExercising(judged, calls)
  if (named.length > 0) return exercising === null ? named : named.filter(name => exercising.includes(name))
  return exercising?.filter(name => sent.includes(name)) ?? null
}

const isOfAnyCall = ({ exercisedBy }: Clause): boolean => exercisedBy === 'any'

/** The calls whose responses these clauses are about; null if other calls may exercise one of them. */
export function callsExercising(judged: readonly ClauseId[], calls: Plan['calls']): readonly string[] | null {
  if (judged.some(id => isOfAnyCall(clauses[id]))) return null
  const judges = new Set(judged.flatMap(id => clauses[id].judges))
  if ([...judges].some(judge => !judgesOfKinds.has(judge))) return null
  const isExercising = (call: Call) =>
    traitsOf(call)
      .judges(judged)
      .some(judge => judges.has(judge))
  return Object.entries(calls).flatMap(([name, call]) => (isExercising(call) ? [name] : []))
}

/** The stages that still send requests, and the pauses between them. */
function narrowStages(stages: readonly StagePlan[], kept: ReadonlySet<string>): readonly StagePlan[] {
  const isPause = ({ load }: StagePlan) => load.model === 'open' && load.shape.kind === 'pause'
  const left = stages.flatMap(stage => {
    const load = isPause(stage) ? stage.load : narrowLoad(stage.load, kept)
    return load === null ? [] : [{ ...stage, load }]
  })
  const first = left.findIndex(stage => !isPause(stage))
  const last = left.findLastIndex(stage => !isPause(stage))
  let startMs = 0
  return left.slice(first, last + 1).map(stage => {
    const placed = { ...stage, startMs }
    startMs += stage.durationMs
    return placed
  })
}

/** The load of the kept calls, each at its rate in the whole load; null if the load has none of them. */
function narrowLoad(load: Load, kept: ReadonlySet<string>): Load | null {
  if (load.model === 'sequence') {
    const calls = load.calls.filter(call => kept.has(call))
    return calls.length === 0 ? null : { ...load, calls }
  }
  const mix = load.mix.filter(([call]) => kept.has(call))
  if (mix.length === 0) return null
  const share = totalWeight(mix) / totalWeight(load.mix)
  const part = (count: number) => Math.max(1, Math.round(count * share))
  switch (load.model) {
    case 'open':
      return { ...load, shape: narrowShape(load.shape, share, load.mix, mix), mix }
    case 'closed':
      return { ...load, users: part(load.users), mix }
    case 'saturate': {
      const connections = part(load.connections)
      return { ...load, connections, maxCalls: Math.max(connections, part(load.maxCalls)), mix }
    }
    case 'capacity': {
      const { fromPerSecond, toPerSecond, mix: shares } = load.search
      const search = {
        ...load.search,
        fromPerSecond: fromPerSecond * share,
        toPerSecond: toPerSecond * share,
        mix: Object.fromEntries(mix.map(([call]) => [call, (shares[call] ?? 0) / share])),
      }
      return { ...load, search, mix }
    }
  }
}

function narrowShape(shape: Shape, share: number, whole: Mix, mix: Mix): Shape {
  switch (shape.kind) {
    case 'constant':
    case 'poisson':
      return { ...shape, perSecond: shape.perSecond * share }
    case 'ramp':
    case 'stairs':
      return { ...shape, fromPerSecond: shape.fromPerSecond * share, toPerSecond: shape.toPerSecond * share }
    case 'spike':
      return { ...shape, basePerSecond: shape.basePerSecond * share, peakPerSecond: shape.peakPerSecond * share }
    case 'burst':
      return { ...shape, size: Math.max(1, Math.round(shape.size * share)) }
    case 'recorded': {
      const positions = whole.map(([call]) => mix.findIndex(([each]) => each === call))
      const arrivals = [...unpackArrivals(shape)].flatMap(arrival => {
        const call = positions[arrival.call] ?? -1
        return call < 0 ? [] : [{ ...arrival, call }]
      })
      return { ...shape, packed: packArrivals(arrivals) }
    }
    case 'pause':
      return shape
  }
}

/** Whether a threshold still makes sense: its call is sent, its load is sent in full, or it bounds harm. */
function isKept(
  { call, stage, measure, operator, bound }: Plan['thresholds'][number],
  whole: readonly StagePlan[],
  stages: readonly StagePlan[],
  calls: readonly string[] | null,
): boolean {
  if (calls === null) return true
  if (stage !== null && !stages.some(({ name }) => name === stage)) return false
  if (call !== null) return calls.includes(call)
  const about = whole.filter(({ name }) => (stage ?? name) === name)
  if (about.every(each => mixOf(each).every(([name]) => calls.includes(name)))) return true
  const isUpperBound = operator === '<' || operator === '<=' || (operator === '==' && bound === 0)
  // An upper bound on harm for the whole load also holds for a part of it.
  return isUpperBound && 'count' in measure && hasTrait(measure.count.kind, 'harm')
}
