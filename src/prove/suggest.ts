import { callFilterOf } from '../judge/not-judged.ts'
import type { JsonObject } from '../lib/json.ts'
import { UsageError } from '../lib/usage-error.ts'
import { yamlFlow } from '../lib/write-yaml.ts'
import type { DraftPlan } from '../library/draft.ts'
import {
  type Addition,
  allInTurn,
  aloneWith,
  byCost,
  type PricedAddition,
  reachingBlock,
  reachingLimits,
  scenarioWith,
  singleCalls,
} from './additions.ts'
import { honestTerms, type Mutant, type MutantTerms } from './mutants.ts'
import { type MakeRuns, suggestThresholds } from './suggest-thresholds.ts'
import { addingWallets, anyPays } from './wallet-additions.ts'

/** The cheapest addition found that makes a scenario notice something, checked by running the scenario with it. */
export type Suggestion = {
  readonly addition: Addition
  /** The lines to add to the scenario, in YAML. */
  readonly yaml: readonly string[]
  /** What it costs more than the scenario, at most. */
  readonly requests: number
  /** A decimal; null: a price is unknown. */
  readonly usd: string | null
  /** What the scenario notices with it, and did not notice without it. */
  readonly notices: readonly string[]
}

/** The suggestions, and what was not noticed and not tried, since this would take too long. */
export type Suggestions = { readonly suggestions: readonly Suggestion[]; readonly untried: readonly string[] }

/** Further calls whose replies show the lie are not tried. */
const maxTried = 4
/** The same of the additions that reach a limit or a block. */
const maxReaching = 8
/** At most this number of requests in honest runs of the whole scenario, which take up to half a minute. */
const maxRequests = 25_000
const minRuns = 8
/** Additions that one of these runs checks. */
const maxTogether = 8

/** What is not noticed yet, and what may make it noticed. */
type Open = { readonly mutant: Mutant; readonly left: readonly PricedAddition[] }
type Tried = Open & { readonly candidate: PricedAddition }

/** Tries additions for what was not noticed, the cheapest first. `room`: how many honest runs of the whole scenario check them. */
export async function suggestAdditions(
  draft: DraftPlan,
  makeRuns: MakeRuns,
  survivors: readonly Mutant[],
  room = Math.max(minRuns, Math.floor(maxRequests / Math.max(1, draft.plan.forecast.requests))),
): Promise<Suggestions> {
  const { found, untried } = await suggestCalls(
    draft,
    makeRuns,
    survivors.filter(({ clause }) => clause !== null),
    room,
  )
  const thresholds = await suggestThresholds(
    draft,
    makeRuns,
    survivors.filter(({ clause }) => clause === null),
  )
  const all = [
    ...[...found].map(([{ addition, requests, usd }, notices]) => ({ addition, requests, usd, notices })),
    ...thresholds.map(({ addition, notices }) => ({ addition, requests: 0, usd: '0', notices })),
  ]
  const suggestions = all.map(({ addition, ...each }) => ({ addition, yaml: yamlOf(addition), ...each }))
  return { suggestions: suggestions.toSorted((a, b) => b.notices.length - a.notices.length), untried }
}

type AdditionsOf = (draft: DraftPlan, singles: readonly PricedAddition[]) => Promise<readonly PricedAddition[]>

/** What is tried, and for lies about which clauses, by their first parts; null: about all. `most`: for each lie. */
const passes: readonly {
  readonly groups: readonly string[] | null
  readonly additionsOf: AdditionsOf
  readonly most: number
}[] = [
  { groups: null, additionsOf: async (_, singles) => singles, most: maxTried },
  { groups: ['limit', 'retry'], additionsOf: reachingLimits, most: maxReaching },
  { groups: ['abuse'], additionsOf: reachingBlock, most: maxReaching },
  { groups: ['wallet'], additionsOf: addingWallets, most: maxReaching },
]

async function suggestCalls(draft: DraftPlan, makeRuns: MakeRuns, survivors: readonly Mutant[], max: number) {
  const found = new Map<PricedAddition, string[]>()
  const untried = new Set<string>()
  // If --only names calls, no other call is sent.
  const namesCalls = draft.plan.only?.names.some(name => Object.hasOwn(draft.plan.calls, name)) ?? false
  if (survivors.length === 0 || namesCalls) return { found, untried: [] }
  const checks = createChecks(draft, makeRuns, max)
  const tryAdditions = async (open: readonly Open[], kept: number) => {
    for (let going = open; going.length > 0; ) {
      const tried = nextTried(going, checks.known)
      const alone = await makeRuns(
        tried.map(({ mutant, candidate }) => mutated(mutant, aloneWith(draft, candidate.addition))),
      )
      const shown = tried.filter((_, index) => alone[index]?.verdict === 'fail')
      await checks.check(
        shown.map(({ candidate }) => candidate),
        kept,
      )
      const checked = shown.filter(({ candidate }) => checks.known(candidate) === 'passes')
      const whole = await makeRuns(
        checked.map(({ mutant, candidate }) => mutated(mutant, scenarioWith(draft, [candidate.addition]))),
      )
      const noticed = new Set<string>()
      checked.forEach(({ mutant, candidate }, index) => {
        if (whole[index]?.verdict !== 'fail') return
        noticed.add(mutant.name)
        found.set(candidate, [...(found.get(candidate) ?? []), mutant.name])
      })
      const unchecked = shown.filter(({ candidate }) => checks.known(candidate) === 'untried')
      for (const { mutant } of unchecked) untried.add(mutant.name)
      going = tried.filter(each => !noticed.has(each.mutant.name) && !unchecked.includes(each))
    }
  }
  const singles = await singleCalls(draft)
  for (const [index, { groups, additionsOf, most }] of passes.entries()) {
    const done = new Set([...found.values()].flat())
    const left = survivors.filter(
      ({ name, clause }) =>
        !done.has(name) && (groups === null || groups.some(group => clause?.startsWith(`${group}.`))),
    )
    if (left.length > 0)
      await tryAdditions(
        await withCandidates(draft, makeRuns, left, await additionsOf(draft, singles), most),
        passes.length - 1 - index,
      )
  }
  const noticed = [...found.values()].flat()
  return { found, untried: [...untried].filter(name => !noticed.includes(name)) }
}

const mutated = ({ terms }: Mutant, scenario: MutantTerms['scenario']): MutantTerms => ({
  ...honestTerms,
  ...terms,
  scenario,
  failFast: true,
})

/**
 * The candidate to try next for each: the one that most have in common, since one addition for many costs less than one
 * for each; first of those that honest services pass, as is known, and none that they do not.
 */
function nextTried(open: readonly Open[], known: ReturnType<typeof createChecks>['known']): readonly Tried[] {
  const tried: Tried[] = []
  const passes = (candidate: PricedAddition) => known(candidate) === 'passes'
  const usable = open.map(each => ({ ...each, left: each.left.filter(candidate => known(candidate) !== 'fails') }))
  for (let going = usable; going.length > 0; ) {
    const counts = new Map<PricedAddition, number>()
    for (const candidate of going.flatMap(({ left }) => left)) counts.set(candidate, (counts.get(candidate) ?? 0) + 1)
    const [best] = [...counts].toSorted(
      ([a, ofA], [b, ofB]) => Number(passes(b)) - Number(passes(a)) || ofB - ofA || byCost(a, b),
    )
    if (best === undefined) break
    const [candidate] = best
    for (const { mutant, left } of going)
      if (left.includes(candidate)) tried.push({ mutant, candidate, left: left.filter(each => each !== candidate) })
    going = going.filter(({ left }) => !left.includes(candidate))
  }
  return tried
}

/** What is not noticed, each with the calls whose replies show it, the cheapest first. */
async function withCandidates(
  draft: DraftPlan,
  makeRuns: MakeRuns,
  survivors: readonly Mutant[],
  all: readonly PricedAddition[],
  most: number,
): Promise<readonly Open[]> {
  // Replies to wallets contain what was signed, so that no two are the same.
  if (all.some(({ about }) => about !== undefined))
    return survivors.map(mutant => ({
      mutant,
      left: all.filter(({ about }) => about?.some(part => mutant.clause?.startsWith(part))).slice(0, most),
    }))
  const scenario = allInTurn(draft, all)
  const replies = await makeRuns(
    survivors.map(({ terms }) => ({ ...honestTerms, ...terms, scenario, failFast: true, repliesOnly: true })),
  )
  return survivors.map((mutant, survivor) => {
    const slots = new Set(replies[survivor]?.different)
    const filter = mutant.clause === null ? null : callFilterOf(mutant.clause)
    // A request with an unknown key belongs to no caller.
    const isMatching = ({ calls }: PricedAddition) => filter !== null && Object.values(calls).some(filter.matches)
    const matching = all.filter(isMatching)
    const different = all.filter((_, index) => slots.has(index))
    // A lie that changes all replies shows at those that ask about its clause, if at any.
    const both = matching.filter(candidate => different.includes(candidate))
    const [first = matching] = [both, different].filter(({ length }) => length > 0)
    return { mutant, left: first.slice(0, most) }
  })
}

/**
 * Whether an honest service passes the scenario with an addition. Each is checked once, those together that pass alone, in at
 * most `max` runs of the scenario.
 */
function createChecks(draft: DraftPlan, makeRuns: MakeRuns, max: number) {
  const known = new Map<PricedAddition, 'passes' | 'fails' | 'untried'>()
  let room = max
  const arePassed = async (scenarios: readonly MutantTerms['scenario'][]) => {
    const results = await makeRuns(scenarios.map(scenario => ({ ...honestTerms, scenario, failFast: false })))
    return results.map(({ verdict }) => verdict === 'pass')
  }
  /** Checks what there is room for, and returns the others and those that do not pass. */
  const checkWhole = async (groups: readonly (readonly PricedAddition[])[], kept: number) => {
    const checked = groups.slice(0, room - Math.min(kept, Math.max(0, room - 1)))
    room -= checked.length
    const passed = await arePassed(checked.map(group => scenarioWith(draft, additionsIn(group))))
    for (const candidate of checked.filter((_, index) => passed[index]).flat()) known.set(candidate, 'passes')
    return { failed: checked.filter((_, index) => !passed[index]).flat(), left: groups.slice(checked.length).flat() }
  }
  return {
    known: (candidate: PricedAddition) => known.get(candidate) ?? null,
    /** Keeps `kept` runs of the scenario for others. */
    check: async (candidates: readonly PricedAddition[], kept: number) => {
      const fresh = [...new Set(candidates)].filter(candidate => !known.has(candidate))
      const passed = await arePassed(fresh.map(({ addition }) => aloneWith(draft, addition)))
      for (const candidate of fresh) known.set(candidate, 'fails')
      const passing = fresh.filter((_, index) => passed[index])
      const together = await checkWhole(await groupsOf(draft, passing), kept)
      // A threshold of the scenario may cover what nothing judges in an addition alone.
      const others = fresh.filter(candidate => !passing.includes(candidate))
      const each = await checkWhole(
        [...together.failed, ...others].map(candidate => [candidate]),
        kept,
      )
      for (const candidate of [...together.left, ...each.left]) known.set(candidate, 'untried')
    },
  }
}

const additionsIn = (group: readonly PricedAddition[]) => group.map(({ addition }) => addition)

/**
 * What one run can check: additions that replace nothing, as long as the budget allows them together. A group that does
 * not fit into the scenario is taken apart.
 */
async function groupsOf(draft: DraftPlan, candidates: readonly PricedAddition[]) {
  const { budgetUsd, forecast } = draft.plan
  const room = budgetUsd === null ? Number.POSITIVE_INFINITY : Number(budgetUsd) - Number(forecast.worstUsd ?? 0)
  const groups: PricedAddition[][] = []
  const together: PricedAddition[][] = []
  for (const candidate of candidates) {
    const last = together.at(-1)
    if (candidate.addition.replaces !== undefined) groups.push([candidate])
    else if (last === undefined || last.length === maxTogether || usdOf([...last, candidate]) > room)
      together.push([candidate])
    else last.push(candidate)
  }
  for (const group of together)
    if (await isValid(draft, scenarioWith(draft, additionsIn(group)))) groups.push(group)
    else groups.push(...group.map(each => [each]))
  return groups
}

const usdOf = (group: readonly PricedAddition[]): number => group.reduce((sum, { usd }) => sum + Number(usd ?? 0), 0)

async function isValid(draft: DraftPlan, scenario: JsonObject): Promise<boolean> {
  try {
    await draft.inPlace(scenario)
    return true
  } catch (cause) {
    if (cause instanceof UsageError) return false
    throw cause
  }
}

function yamlOf({ calls, stages, thresholds, replaces }: Addition): readonly string[] {
  const written = Object.entries(calls).map(([name, call]) => `  ${name}: ${yamlFlow(call)}`)
  const { callers, budget, stages: changed = [] } = replaces ?? {}
  const lines = (list: readonly JsonObject[]) => list.map(stage => `  - ${yamlFlow(stage)}`)
  return [
    ...(anyPays(calls) ? ['# Wallets pay real money. Elsewhere than on this machine, this needs --top-up.'] : []),
    ...(callers === undefined ? [] : [inPlaceOf('"callers"'), `callers: ${yamlFlow(callers)}`]),
    ...(budget === undefined ? [] : [inPlaceOf('"budget"'), `budget: ${yamlFlow(budget)}`]),
    ...(written.length === 0 ? [] : ['calls:', ...written]),
    ...(stages.length === 0 ? [] : ['stages:', ...lines(stages)]),
    ...(changed.length === 0 ? [] : [`  ${inPlaceOf('the stages with these names')}`, ...lines(changed)]),
    ...(thresholds.length === 0 ? [] : ['thresholds:', ...lines(thresholds)]),
  ]
}

const inPlaceOf = (what: string): string => `# In place of ${what} in the file:`
