import { probeNames } from '../contract/probes.ts'
import { promisesAny } from '../contract/promises.ts'
import { isObject, type JsonObject } from '../lib/json.ts'
import { formatPico, pico, wholeCents } from '../lib/money.ts'
import { UsageError } from '../lib/usage-error.ts'
import { type DraftPlan, scenarioAt } from '../library/draft.ts'
import { shippedNames } from '../library/shipped-files.ts'
import { mixOf, type Plan, traitsOf } from '../plan/plan.ts'
import { membersOf } from '../scenario/load-scenario.ts'
import { namesInSequence } from '../scenario/stage-schema.ts'

/** What a scenario lacks to notice something, as a person writes it: stages with their calls, or a threshold. */
export type Addition = {
  readonly calls: JsonObject
  /** Empty: it adds thresholds alone. */
  readonly stages: readonly JsonObject[]
  readonly thresholds: readonly { readonly expect: string; readonly why: string }[]
  /** What stands in place of parts that the scenario has: of stages, in place of those of the same name. */
  readonly replaces?: {
    readonly callers?: JsonObject
    readonly budget?: JsonObject
    readonly stages?: readonly JsonObject[]
  }
}

/** An addition of calls, and what it costs at most. */
export type PricedAddition = {
  readonly addition: Addition
  readonly requests: number
  /** A decimal; null: a price is unknown. */
  readonly usd: string | null
  readonly calls: Plan['calls']
  readonly forecast: Plan['forecast']
  /** Clauses that it may show, by their first parts, if this is known without a run. */
  readonly about?: readonly string[]
}

/** Its stages alone, by the callers of the scenario. It fails if anything is violated. */
export const aloneWith = (draft: DraftPlan, { calls, stages, thresholds, replaces }: Addition): JsonObject => ({
  ...headOf(draft),
  ...(replaces?.callers && { callers: replaces.callers }),
  // Probes alone are no calls, and a scenario has at least one.
  calls: { ...ownCalls(draft), ...calls },
  stages,
  thresholds: [...strict, ...thresholds],
})

const ownCalls = ({ named: { written, file } }: DraftPlan): JsonObject => mappingOf(membersOf(written, file).calls)

const strict = [
  { expect: 'violations == 0', why: 'Nothing is wrong with an honest service.' },
  { expect: 'discrepancies == 0', why: 'Nothing is wrong with an honest service.' },
]

/** The parts of a scenario that say who sends, and to whom. */
function headOf({ named: { written, file } }: DraftPlan): JsonObject {
  const kept = ['name', 'profile', 'service', 'seed', 'callers', 'bounds']
  return Object.fromEntries(Object.entries(membersOf(written, file)).filter(([key]) => kept.includes(key)))
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const mappingOf = (value: unknown): JsonObject => (isObject(value) ? value : {})

/** A scenario with additions. Their stages come first, where they find callers that have sent nothing. */
export function scenarioWith({ named: { written, file } }: DraftPlan, additions: readonly Addition[]): JsonObject {
  const members = membersOf(written, file)
  const replaced = additions.flatMap(({ replaces }) => replaces ?? [])
  const changed = new Map(replaced.flatMap(({ stages = [] }) => stages.map(stage => [stage.name, stage] as const)))
  const own = listOf(members.stages).map(stage => changed.get(mappingOf(stage).name) ?? stage)
  return {
    ...members,
    ...Object.assign({}, ...replaced.map(({ stages, ...others }) => others)),
    calls: { ...mappingOf(members.calls), ...Object.assign({}, ...additions.map(({ calls }) => calls)) },
    stages: [...additions.flatMap(({ stages }) => stages), ...own],
    thresholds: [...listOf(members.thresholds), ...additions.flatMap(({ thresholds }) => thresholds)],
  }
}

/** All additions in turn, each by a caller of its own: what a lie changes in it shows which of them would meet the lie. */
export const allInTurn = (draft: DraftPlan, candidates: readonly PricedAddition[]): JsonObject => ({
  ...headOf(draft),
  callers: { ...mappingOf(headOf(draft).callers), count: candidates.length + 1 },
  calls: { ...ownCalls(draft), ...Object.assign({}, ...candidates.map(({ addition: { calls } }) => calls)) },
  stages: candidates.flatMap(({ addition: { stages } }, index) =>
    stages.map((stage, part) => ({
      ...stage,
      name: `slot-${index}-${part}`,
      ...(stage.shape !== 'pause' && { 'first-caller': index }),
    })),
  ),
})

/** A long completion says no more than a short one, and costs more. */
const isLong = (call: unknown): boolean => Number(mappingOf(call)['max-completion-tokens'] ?? 0) > maxTokens
const maxTokens = 120

/**
 * Each call of the scenario, each call of a shipped one, and each probe, if the profile knows what it needs; the cheapest
 * first.
 */
export async function singleCalls(draft: DraftPlan): Promise<readonly PricedAddition[]> {
  const { written, file } = draft.named
  const own = membersOf(written, file)
  const taken = new Set([
    ...Object.keys(mappingOf(own.calls)),
    ...listOf(own.stages).flatMap(stage => namesInSequence(mappingOf(stage).calls)),
  ])
  const known = new Map<string, Addition>()
  const add = (name: string, calls: JsonObject) => {
    const written = Object.values(calls)
    const key = written.length === 0 ? name : JSON.stringify(written.map(call => ({ ...mappingOf(call), of: null })))
    taken.add(name)
    if (known.has(key) || written.some(isLong)) return
    const last = mappingOf(written.at(-1))
    const hasOthers = [last, mappingOf(last.replays)].some(each => Number(each['other-caller-ratio'] ?? 0) > 0)
    const stage = { shape: 'sequence', duration: '1s', callers: hasOthers ? 2 : 1, calls: [name] }
    known.set(key, { calls, stages: [{ name: stageName(draft, name), ...stage }], thresholds: [] })
  }
  const addAll = (calls: JsonObject, nameOf: (name: string) => string) => {
    for (const [name, call] of Object.entries(calls)) {
      const { of } = mappingOf(call)
      if (typeof of !== 'string') add(nameOf(name), { [nameOf(name)]: call })
      else add(nameOf(name), { [nameOf(of)]: calls[of], [nameOf(name)]: { ...mappingOf(call), of: nameOf(of) } })
    }
  }
  addAll(mappingOf(own.calls), name => name)
  for (const scenario of shippedNames('scenario')) {
    const shipped = scenarioAt(scenario)
    const before = new Set(taken)
    const nameOf = (name: string) => (before.has(name) ? `${name}-of-${scenario}` : name)
    addAll(mappingOf(membersOf(shipped.written, shipped.file).calls), nameOf)
  }
  for (const name of probeNames) if (!taken.has(name)) add(name, {})
  const all: PricedAddition[] = []
  for (const addition of known.values()) {
    const candidate = await priced(draft, addition)
    if (candidate !== null && !needsWallet(candidate)) all.push(candidate)
  }
  return all.toSorted(byCost)
}

/** Those that do are no single calls: what one shows depends on what the wallet has paid. */
const needsWallet = ({ calls }: PricedAddition): boolean =>
  Object.values(calls).some(call => traitsOf(call).needsWallet ?? false)

export const byCost = (a: PricedAddition, b: PricedAddition): number =>
  Number(a.usd ?? Number.MAX_VALUE) - Number(b.usd ?? Number.MAX_VALUE) || a.requests - b.requests

/** null: the scenario cannot have it, for instance because the profile has no such model, or its callers no wallets. */
export async function priced(draft: DraftPlan, addition: Addition): Promise<PricedAddition | null> {
  try {
    const { plan } = await draft.inPlace(aloneWith(draft, addition))
    const sent = new Set(plan.stages.flatMap(mixOf).map(([name]) => name))
    const calls = Object.fromEntries(Object.entries(plan.calls).filter(([name]) => sent.has(name)))
    const usd = withoutOpening(plan)
    const others = { requests: plan.forecast.requests, usd, calls, forecast: plan.forecast }
    const budget = budgetWith(draft, usd)
    if (budget === null) return { addition, ...others }
    // A flag has set the budget, so no line of the scenario changes it.
    if (draft.ownBudgetUsd === null || draft.plan.budgetUsd !== draft.ownBudgetUsd) return null
    return { addition: { ...addition, replaces: { ...addition.replaces, budget } }, ...others }
  } catch (cause) {
    if (cause instanceof UsageError) return null
    throw cause
  }
}

/** What stages cost, and not what wallets pay before them in any case. */
function withoutOpening({ callers: { wallets }, forecast: { worstUsd } }: Plan): string | null {
  if (wallets === null || wallets.topUpUsd === null || worstUsd === null) return worstUsd
  return formatPico(pico(worstUsd) - pico(wallets.topUpUsd) * BigInt(wallets.chains.length))
}

/**
 * The budget, in whole cents, of a scenario that costs this much more; null: it has it. What is in flight is reserved beside
 * what is spent, so the addition counts twice.
 */
function budgetWith({ plan: { budgetUsd, forecast }, named: { written, file } }: DraftPlan, usd: string | null) {
  if (budgetUsd === null || usd === null || forecast.worstUsd === null) return null
  const needed = pico(forecast.worstUsd) + 2n * pico(usd)
  if (needed <= pico(budgetUsd)) return null
  return { ...mappingOf(membersOf(written, file).budget), usd: Number(formatPico(wholeCents(needed))) }
}

export function stageName({ plan }: DraftPlan, call: string): string {
  const names = plan.stages.map(({ name }) => name)
  const name = `also-${call}`.slice(0, 60)
  return names.includes(name) ? `${name}-2` : name
}

/** Seconds before and after the end of a window or a block in which a caller asks whether it is over. */
const aroundSeconds = 5
/** Kinds of failures in one addition. */
const maxKinds = 3
/** What costs more, such as a limit of videos, is not tried. */
const maxUsd = 1

/** A call that is one request. */
type PlainCall = PricedAddition & { readonly name: string }

export const plainCalls = (singles: readonly PricedAddition[]): readonly PlainCall[] =>
  singles.flatMap(single => {
    const [name, other] = Object.keys(single.calls)
    return single.requests === 1 && name !== undefined && other === undefined ? [{ ...single, name }] : []
  })

/** Those that a service accepts, and whose response is read whole. */
export const passingCalls = (plain: readonly PlainCall[]): readonly PlainCall[] =>
  plain.filter(({ name, calls, forecast: { failures } }) => {
    const call = calls[name]
    const isWhole = call !== undefined && !('hangUp' in call && call.hangUp !== undefined)
    return isWhole && failures.length === 0 && !(call.kind === 'rpc' && call.batchSize !== null)
  })

/** How many failures of a caller do not block it. */
const toleratedFailures = ({ contract }: DraftPlan): number =>
  promisesAny(contract, ['abuse.*']) ? contract.abuse.failures : Number.POSITIVE_INFINITY

/** Stages with these calls. After them, a pause lets windows and blocks end. */
function reachingAddition(
  draft: DraftPlan,
  name: string,
  of: readonly PricedAddition[],
  parts: readonly JsonObject[],
  restMs: number,
): Addition {
  const stages = [...parts, pauseOf(restMs)].map((stage, part) => ({
    name: stageName(draft, part === 0 ? name : `${name}-${part + 1}`),
    ...stage,
  }))
  const calls: JsonObject = Object.assign({}, ...of.map(({ addition }) => addition.calls))
  return { calls, stages, thresholds: [] }
}

/**
 * Additions that reach a limit with as few requests of one caller as the contract says. `singles`: what they are made of;
 * below, too.
 */
export function reachingLimits(
  draft: DraftPlan,
  singles: readonly PricedAddition[],
): Promise<readonly PricedAddition[]> {
  const { windowMs } = draft.contract.limits
  const tolerated = toleratedFailures(draft)
  const passing = passingCalls(plainCalls(singles))
  const additions = cheapestByLimit(passing).flatMap(base => {
    const { name, limit } = base
    const addition = (suffix: string, parts: readonly JsonObject[]) =>
      reachingAddition(draft, `${name}-${suffix}`, [base], parts, windowMs + 1_000)
    const beyond = { callers: 1, 'exceed-tier': true, mix: { [name]: 1 } }
    const burst = (size: number) => ({ shape: 'burst', duration: '4s', size, ...beyond })
    const all = [addition('limit', [burst(limit + 1)])]
    const fifthMore = Math.ceil(limit * 1.2) + 1
    if (fifthMore > limit + 1 && fifthMore <= limit + tolerated) all.push(addition('above', [burst(fifthMore)]))
    // Of these requests, those before the end of the window are failures, too.
    const asked = Math.min(tolerated - 2, limit, 10 * aroundSeconds)
    const waitMs = windowMs - 1_000 * (4 + aroundSeconds)
    if (asked < 2 || waitMs <= 0) return all
    const rate = `${Math.floor((60 * asked) / (2 * aroundSeconds))}/m`
    const around = { shape: 'constant', duration: `${2 * aroundSeconds}s`, rate, ...beyond }
    return [...all, addition('reset', [burst(limit + 1), pauseOf(waitMs), around])]
  })
  return affordable(draft, [...additions, ...reachingTokens(draft, passing)])
}

/** How many long prompts use up a limit of tokens. */
const longPrompts = 20
/** After this time, requests cannot have counted in an earlier window, and its stated end tells a window from a bucket. */
const apartMs = 10_000

/** An addition that exceeds the limit of tokens that costs least to reach, one request after the other. */
function reachingTokens(draft: DraftPlan, passing: readonly PlainCall[]): readonly Addition[] {
  const { limits, billing } = draft.contract
  const reached = passing.flatMap(({ name, calls, usd, forecast }) => {
    const call = calls[name]
    const row = forecast.limits.find(({ scope }) => scope.endsWith(' tokens'))
    if (call?.kind !== 'chat' || row === undefined) return []
    const usdOfAll = (Number(usd ?? Number.MAX_VALUE) * row.limit) / row.perMinute
    return [{ base: name, model: call.model, promptTokens: Math.ceil(row.limit / longPrompts), usdOfAll }]
  })
  const [cheapest] = reached.toSorted((a, b) => a.usdOfAll - b.usdOfAll)
  const waitMs = Math.max(apartMs, billing.settleMs + 1_000)
  if (cheapest === undefined || 3 * waitMs > limits.windowMs) return []
  const { base, model, promptTokens } = cheapest
  const name = `${base}-long`
  const long = { kind: 'chat', stream: false, model, 'prompt-tokens': promptTokens, 'max-completion-tokens': 8 }
  const inTurn = (count: number) => ({ shape: 'sequence', duration: '1s', callers: 1, calls: [`${count} x ${name}`] })
  const parts = [inTurn(1), pauseOf(waitMs), inTurn(longPrompts), pauseOf(waitMs), inTurn(2)]
  const addition = reachingAddition(draft, `${base}-tokens`, [], parts, limits.windowMs + 1_000)
  return [{ ...addition, calls: { [name]: long } }]
}

/** Additions in which one caller fails as often as the contract tolerates, or is blocked for one failure more. */
export function reachingBlock(
  draft: DraftPlan,
  singles: readonly PricedAddition[],
): Promise<readonly PricedAddition[]> {
  const { limits, abuse } = draft.contract
  const plain = plainCalls(singles)
  const passing = passingCalls(plain)
  const cheapestOf = (matches: (call: Plan['calls'][string]) => boolean) =>
    passing.find(({ name, calls }) => calls[name] !== undefined && matches(calls[name]))
  const streamed = cheapestOf(call => call.kind === 'chat' && call.stream)
  const served = cheapestOf(({ kind }) => kind === 'rpc') ?? streamed
  const failing = plain.filter(({ forecast: { failures } }) => failures.some(({ expected }) => expected === 1))
  const [fails] = failing
  const tolerated = toleratedFailures(draft)
  if (fails === undefined || served === undefined || !Number.isFinite(tolerated)) return affordable(draft, [])
  const restMs = Math.max(abuse.blockMs, abuse.windowMs) + 5_000
  const addition = (name: string, of: readonly PricedAddition[], parts: readonly JsonObject[], ms = restMs) =>
    reachingAddition(draft, name, of, parts, ms)
  const beyond = { callers: 1, 'exceed-tier': true, 'exceed-failure-limit': true }
  // What is asked of a caller that may be blocked is asked before, too: a response that is only refused is not checked.
  const inTurn = (failures: readonly string[], asked = served.name) => ({
    ...{ shape: 'sequence', duration: '1s', callers: 1, 'exceed-failure-limit': true },
    calls: [asked, ...failures, asked],
  })
  const failures = (count: number) => [`${count} x ${fails.name}`]
  const blocking = failures(tolerated + 1)
  const halves = inTurn(failures(Math.floor(tolerated / 2) + 1))
  const kinds = failing.slice(0, maxKinds)
  const ofEach = Math.ceil((tolerated + 1) / kinds.length)
  const wait = pauseOf(Math.max(1_000, abuse.blockMs - 1_000 * aroundSeconds))
  const around = {
    ...{ shape: 'constant', duration: `${2 * aroundSeconds}s`, rate: '2/s', ...beyond },
    mix: { [served.name]: 1 },
  }
  const additions = [
    // Failures from before the run may count until a window is over.
    addition('failures-tolerated', [served], [pauseOf(abuse.windowMs + 1_000), inTurn(failures(tolerated))]),
    addition('failures-block', [served], [inTurn(blocking)]),
    addition('failures-apart', [served], [halves, pauseOf(abuse.windowMs / 2), halves]),
    addition(
      'failures-of-kinds',
      [served, ...kinds],
      [inTurn(kinds.flatMap(({ name }) => [`${ofEach} x ${name}`, served.name]))],
    ),
    addition('failures-over', [served], [inTurn(blocking), wait, around]),
  ]
  if (streamed !== undefined)
    additions.push(addition('failures-block-stream', [streamed], [inTurn(blocking, streamed.name)]))
  const [tightest] = cheapestByLimit(passing).toSorted((a, b) => a.limit - b.limit)
  if (tightest !== undefined) {
    const size = tightest.limit + tolerated + 1
    const burst = { shape: 'burst', duration: '1s', size, ...beyond, mix: { [tightest.name]: 1 } }
    const ms = Math.max(restMs, limits.windowMs + 1_000)
    additions.push(addition('rejections-block', [served, tightest], [burst, inTurn([])], ms))
  }
  return affordable(draft, additions)
}

/** Those that the scenario can have, the cheapest first. */
async function affordable(draft: DraftPlan, additions: readonly Addition[]): Promise<readonly PricedAddition[]> {
  const all: PricedAddition[] = []
  for (const addition of additions) {
    const candidate = await priced(draft, addition)
    if (candidate !== null && Number(candidate.usd ?? 0) <= maxUsd) all.push(candidate)
  }
  return all.toSorted(byCost)
}

export const pauseOf = (ms: number): JsonObject => ({ shape: 'pause', duration: `${Math.ceil(ms / 1_000)}s` })

/** For each limit of requests, the call that uses it up at the lowest cost. */
function cheapestByLimit<Single extends PricedAddition>(singles: readonly Single[]) {
  const cheapest = new Map<string, Single & { readonly limit: number; readonly usdOfAll: number }>()
  for (const single of singles)
    for (const { scope, perMinute, limit } of single.forecast.limits) {
      if (perMinute !== 1 || scope.endsWith(' tokens')) continue
      const usdOfAll = Number(single.usd ?? Number.MAX_VALUE) * limit
      const limiter = scope.split(':')[0] ?? scope
      if (usdOfAll < (cheapest.get(limiter)?.usdOfAll ?? Number.POSITIVE_INFINITY))
        cheapest.set(limiter, { ...single, limit, usdOfAll })
    }
  return [...cheapest.values()]
}
