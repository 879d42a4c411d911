import { pauseFor } from '../scenario/not-offered.ts'
import type { Scenario } from '../scenario/schema.ts'
import type { Stage } from '../scenario/stage-schema.ts'
import type { Threshold } from '../scenario/threshold.ts'
import type { Rate } from '../scenario/units.ts'
import { sampleSizeWarning } from './describe-plan.ts'
import { type FewerKeys, type Plan, traitsOf } from './plan.ts'

/** The keys that a run has: for each account, how many. */
export type GivenKeys = readonly number[]

/** A scenario for the keys that a run has, and what it leaves out for them. */
type Shrunk = { readonly scenario: Scenario; readonly fewerKeys: FewerKeys }

/** The callers of a stage: where they begin, and how many they are. */
type Place = { readonly firstCaller: number; readonly callers: number }

/**
 * Shrinks a scenario to the keys that there are; null if they suffice, or if they are too few for any of it. `planOf`:
 * the plan of a scenario. What is judged stays as strict, and what is not judged is listed.
 */
export function withFewerKeys(
  scenario: Scenario,
  given: GivenKeys,
  planOf: (scenario: Scenario) => Plan,
): Shrunk | null {
  const { callers, stages, calls } = scenario
  const keyed = callers.count - callers.wallets
  const accounts = Math.min(given.length, keyed)
  const keys = Math.min(callers.keys, ...given.slice(0, accounts))
  if (accounts === 0 || (accounts === keyed && keys === callers.keys)) return null
  const isWhole = accounts === keyed
  if (!isWhole && stages.some(needsAllCallers)) return null
  const whole = planOf(scenario)
  const roles = isWhole ? null : rolesOf(stages, provokingStages(stages, whole), keyed)
  const placings = (roles === null ? [0] : halves(Math.min(accounts, roles.provoking.size)))
    .map(taken =>
      stages.map(stage => ({
        stage,
        place: roles === null ? stage : placeOf(stage, roles, { taken, accounts, keyed }),
        mayUseMore: roles !== null && callersOf(stage).some(caller => roles.others.has(caller)),
      })),
    )
    .filter(placed => placed.some(isSending))
  const shrink = ({ placed, ratio }: { readonly placed: readonly Placed[]; readonly ratio: number }): Scenario => ({
    ...scenario,
    callers: { ...callers, count: accounts + callers.wallets, keys },
    stages: withinSending(placed).map(({ stage, place, mayUseMore }) => {
      // The stages after it begin when they would.
      if (place === null) return pauseFor(stage)
      const { firstCaller, callers: count } = place
      const share = count / stage.callers
      const hasLimits = whole.forecast.limits.some(row => row.stage === stage.name)
      const ratioOfStage = mayUseMore && hasLimits ? Math.max(share, ratio) : share
      return { ...scaled(stage, ratioOfStage, share), firstCaller, callers: count }
    }),
    thresholds: [],
  })
  const choices = placings.flatMap(placed => ratios.map(ratio => ({ placed, ratio })))
  const fitsInto = (usable: number) => choices.find(each => isWithinLimits(planOf(shrink(each)), whole, usable))
  const chosen = fitsInto(usableRatio) ?? fitsInto(1)
  if (chosen === undefined) return null
  const shrunk = shrink(chosen)
  const plan = planOf(shrunk)
  const thresholds = scenario.thresholds.filter(each => isKept(each, plan, whole))
  const unsent = chosen.placed.flatMap(({ stage, place }) => (place === null ? [stage.name] : []))
  const used = Object.values(calls).map(traitsOf)
  const leftOut = [
    ...(unsent.length === 0 ? [] : [`${unsent.length === 1 ? 'stage' : 'stages'} ${unsent.join(', ')}`]),
    ...scenario.thresholds.filter(each => !thresholds.includes(each)).map(({ expression }) => expression),
    ...(plan.callers.names.length === 1 && used.some(call => call.usesOtherCallers)
      ? ['requests of other callers']
      : []),
    ...(keys < callers.keys ? [`requests with ${callers.keys} keys of an account`] : []),
  ]
  return { scenario: { ...shrunk, thresholds }, fewerKeys: { given: accounts, of: keyed, leftOut } }
}

/** Recorded arrivals name their callers. */
const needsAllCallers = ({ shape }: Stage): boolean => shape === 'recorded'

/** The shares of an absolute rate to try; 0: no more than the share of the keys. */
const ratios = [1, 0.75, 0.5, 0.35, 0.25, 0.15, 0.1, 0] as const

/** How much of a limit a key should use for callers whose requests it sends too. */
const usableRatio = 0.6

/** A number, and each half of the one before, down to 0. */
const halves = (count: number): readonly number[] => (count === 0 ? [0] : [count, ...halves(Math.floor(count / 2))])

/** The stages that exceed a limit of requests or of failures on purpose. */
function provokingStages(stages: readonly Stage[], { forecast }: Plan): ReadonlySet<string> {
  const meant = stages.filter(({ beyondFailures, beyondTier }) => beyondFailures || beyondTier)
  const beyond = forecast.limits.filter(({ perMinute, limit }) => perMinute > limit * (1 + 1e-9))
  return new Set([...meant.map(({ name }) => name), ...beyond.map(({ stage }) => stage)])
}

/**
 * Callers with keys whose limits a stage exceeds on purpose, and the others. A limit that is used up must not be met by the
 * requests of another caller, so a key takes the place of at most one of the first.
 */
type Roles = { readonly provoking: Positions; readonly others: Positions }

/** The position of each caller in a list of them. */
type Positions = ReadonlyMap<number, number>

function rolesOf(stages: readonly Stage[], provoking: ReadonlySet<string>, keyed: number): Roles {
  const meant = stages.filter(({ name }) => provoking.has(name))
  const isProvoking = (caller: number) =>
    meant.some(({ firstCaller, callers }) => firstCaller <= caller && caller < firstCaller + callers)
  const all = Array.from({ length: keyed }, (_, caller) => caller)
  const positions = (callers: readonly number[]) => new Map(callers.map((caller, at) => [caller, at]))
  return { provoking: positions(all.filter(isProvoking)), others: positions(all.filter(each => !isProvoking(each))) }
}

const callersOf = ({ firstCaller, callers }: Stage): readonly number[] =>
  Array.from({ length: callers }, (_, at) => firstCaller + at)

/** A stage with its place; null: none of its callers has a key. `mayUseMore`: it is not only of provoking callers. */
type Placed = { readonly stage: Stage; readonly place: Place | null; readonly mayUseMore: boolean }

const isSending = ({ stage, place }: Placed): boolean => place !== null && stage.shape !== 'pause'

/** From the first stage that sends to the last one, and the pauses after it, in which charges are settled. */
function withinSending(placed: readonly Placed[]): readonly Placed[] {
  const last = placed.findLastIndex(isSending)
  const end = placed.findIndex(({ place }, index) => index > last && place === null)
  return placed.slice(placed.findIndex(isSending), end < 0 ? undefined : end)
}

/** Which keys send a stage. The last keys take the places of the first `taken` provoking callers. */
function placeOf(
  stage: Stage,
  { provoking, others }: Roles,
  { taken, accounts, keyed }: { readonly taken: number; readonly accounts: number; readonly keyed: number },
): Place | null {
  const room = Math.min(others.size, accounts > taken ? accounts - taken : accounts)
  const places = callersOf(stage).flatMap(caller => {
    if (caller >= keyed) return [caller - keyed + accounts]
    const other = others.get(caller)
    if (other !== undefined) return [other % room]
    const at = provoking.get(caller) ?? taken
    return at < taken ? [accounts - taken + at] : []
  })
  if (places.length === 0) return null
  const callers = new Set(places).size
  // Of keys that are apart, the last one stands: it may be that of a provoking caller.
  return { firstCaller: Math.max(...places) - callers + 1, callers }
}

/** Scales absolute rates by `ratio`, and what is sent at once by `share`. A share of a tier follows the callers by itself. */
function scaled(stage: Stage, ratio: number, share: number): Stage {
  const rate = (each: Rate, by = ratio): Rate =>
    each.kind === 'absolute' ? { ...each, perSecond: each.perSecond * Math.min(1, by) } : each
  const part = (count: number) => Math.max(1, Math.round(count * Math.min(1, share)))
  switch (stage.shape) {
    case 'constant':
    case 'poisson':
      return { ...stage, rate: rate(stage.rate) }
    case 'ramp':
    case 'stairs':
      return { ...stage, from: rate(stage.from), to: rate(stage.to) }
    case 'capacity':
      return { ...stage, from: rate(stage.from, share), to: rate(stage.to) }
    case 'spike':
      return { ...stage, base: rate(stage.base), peak: rate(stage.peak) }
    case 'burst':
      return stage.size.kind === 'absolute'
        ? { ...stage, size: { ...stage.size, arrivals: part(stage.size.arrivals) } }
        : stage
    case 'closed':
      return { ...stage, users: part(stage.users) }
    case 'saturate': {
      const connections = part(stage.connections)
      return { ...stage, connections, maxCalls: Math.max(connections, part(stage.maxCalls)) }
    }
    case 'sequence':
    case 'pause':
    case 'recorded':
      return stage
  }
}

/** Whether no key uses more of a limit than a caller of the whole scenario, or than `usable` of it. The same holds of failures. */
function isWithinLimits({ forecast }: Plan, { forecast: whole }: Plan, usable: number): boolean {
  const usedOf = (row: Plan['forecast']['limits'][number]) =>
    whole.limits.find(({ stage, scope }) => stage === row.stage && scope === row.scope)?.perMinute ?? 0
  const failedIn = (name: string) => whole.failures.find(({ stage }) => stage === name)?.expected ?? 0
  return (
    forecast.limits.every(row => row.perMinute <= Math.max(row.limit * usable, usedOf(row)) * (1 + 1e-9)) &&
    forecast.failures.every(row => row.expected <= Math.max(row.tolerated * usable, failedIn(row.stage)))
  )
}

/** Whether the smaller load can still answer a threshold as the whole one can. */
function isKept(threshold: Threshold, plan: Plan, whole: Plan): boolean {
  const { measure, call, stage, operator, bound } = threshold
  const rowsOf = ({ forecast }: Plan) =>
    forecast.calls.filter(row => row.call === (call ?? row.call) && row.stage === (stage ?? row.stage))
  const requestsOf = (each: Plan) => rowsOf(each).reduce((sum, { requests }) => sum + requests, 0)
  if (stage !== null && !plan.stages.some(({ name }) => name === stage)) return false
  if ((call !== null || stage !== null) && rowsOf(plan).length === 0) return rowsOf(whole).length === 0
  if (sampleSizeWarning(plan, threshold) !== null) return sampleSizeWarning(whole, threshold) !== null
  const needsLoad = operator === '>' || operator === '>=' || operator === '=='
  // A search finds no more than it tries.
  if (measure.kind === 'capacity') return !needsLoad || bound <= triedPerSecond(plan, stage)
  const isAmount = measure.kind !== 'timing' && measure.kind !== 'ratio'
  if (!isAmount || !needsLoad || bound === 0) return true
  return requestsOf(plan) >= requestsOf(whole)
}

/** The highest rate that the search of a stage tries. */
function triedPerSecond({ stages }: Plan, stage: string | null): number {
  const load = stages.find(({ name }) => name === stage)?.load
  return load?.model === 'capacity' ? load.search.toPerSecond : 0
}
