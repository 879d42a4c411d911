import { probeNames } from '../contract/probes.ts'
import { isObject, type JsonObject } from '../lib/json.ts'
import { UsageError } from '../lib/usage-error.ts'
import { type DraftPlan, scenarioAt } from '../library/draft.ts'
import { shippedNames } from '../library/shipped-files.ts'
import { mixOf, type Plan } from '../plan/plan.ts'
import { membersOf } from '../scenario/load-scenario.ts'
import { namesInSequence } from '../scenario/stage-schema.ts'

/** What a scenario lacks to notice something, as a person writes it: a stage with its calls, or a threshold. */
export type Addition = {
  readonly calls: JsonObject
  /** null: it adds a threshold alone. */
  readonly stage: JsonObject | null
  readonly threshold: { readonly expect: string; readonly why: string } | null
}

/** An addition of calls, and what it costs at most. */
export type PricedAddition = {
  readonly addition: Addition
  readonly requests: number
  /** A decimal; null: a price is unknown. */
  readonly usd: string | null
  readonly calls: Plan['calls']
}

/** Its stage alone, by the callers of the scenario. It fails if anything is violated. */
export const aloneWith = (draft: DraftPlan, { calls, stage }: Addition): JsonObject => ({
  ...headOf(draft),
  // Probes alone are no calls, and a scenario has at least one.
  calls: { ...ownCalls(draft), ...calls },
  stages: [stage],
  thresholds: strict,
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

/**
 * A scenario with additions. A stage of few requests comes first, where it finds callers that have sent nothing. One
 * that may leave its callers at a limit comes last.
 */
export function scenarioWith({ named: { written, file } }: DraftPlan, additions: readonly Addition[]): JsonObject {
  const members = membersOf(written, file)
  const stages = additions.flatMap(({ stage }): readonly JsonObject[] => (stage === null ? [] : [stage]))
  return {
    ...members,
    calls: { ...mappingOf(members.calls), ...Object.assign({}, ...additions.map(({ calls }) => calls)) },
    stages: [...stages.filter(isShort), ...listOf(members.stages), ...stages.filter(stage => !isShort(stage))],
    thresholds: [...listOf(members.thresholds), ...additions.flatMap(({ threshold }) => threshold ?? [])],
  }
}

const isShort = ({ shape, calls }: JsonObject): boolean => shape === 'sequence' && listOf(calls).length === 1

/** All calls in turn, each by a caller of its own: what a lie changes in it shows which of them would meet the lie. */
export const allInTurn = (draft: DraftPlan, candidates: readonly PricedAddition[]): JsonObject => ({
  ...headOf(draft),
  callers: { ...mappingOf(headOf(draft).callers), count: candidates.length + 1 },
  calls: { ...ownCalls(draft), ...Object.assign({}, ...candidates.map(({ addition: { calls } }) => calls)) },
  stages: candidates.map(({ addition: { stage } }, index) => ({
    ...stage,
    name: `slot-${index}`,
    'first-caller': index,
  })),
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
    const hasOthers = Number(mappingOf(written.at(-1))['other-caller-ratio'] ?? 0) > 0
    const stage = { shape: 'sequence', duration: '1s', callers: hasOthers ? 2 : 1, calls: [name] }
    known.set(key, { calls, stage: { name: stageName(draft, name), ...stage }, threshold: null })
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
    if (candidate !== null) all.push(candidate)
  }
  return all.toSorted(byCost)
}

export const byCost = (a: PricedAddition, b: PricedAddition): number =>
  Number(a.usd ?? Number.MAX_VALUE) - Number(b.usd ?? Number.MAX_VALUE) || a.requests - b.requests

/** null: the scenario cannot have it, for instance because the profile has no such model, or its callers no wallets. */
export async function priced(draft: DraftPlan, addition: Addition): Promise<PricedAddition | null> {
  try {
    const { plan } = await draft.inPlace(aloneWith(draft, addition))
    const sent = new Set(plan.stages.flatMap(mixOf).map(([name]) => name))
    const calls = Object.fromEntries(Object.entries(plan.calls).filter(([name]) => sent.has(name)))
    return { addition, requests: plan.forecast.requests, usd: plan.forecast.worstUsd, calls }
  } catch (cause) {
    if (cause instanceof UsageError) return null
    throw cause
  }
}

function stageName({ plan }: DraftPlan, call: string): string {
  const names = plan.stages.map(({ name }) => name)
  const name = `also-${call}`.slice(0, 60)
  return names.includes(name) ? `${name}-2` : name
}
