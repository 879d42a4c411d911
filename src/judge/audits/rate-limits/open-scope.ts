import type { ApplicableLimit } from '../../../observation/limit-scope.ts'
import type { ClauseReporter, Draft } from '../../findings/findings.ts'
import { getOrAdd } from '../../merge.ts'
import type { LimitUse } from '../../results.ts'
import type { Limit } from './limit-record.ts'
import type { LimitRequest } from './window.ts'

/** Requests that may count against any of several limits; beyond, the oldest are forgotten. */
export const maxStrays = 500

type Reporter = ClauseReporter<'rate-limits'>

/** The limits of one caller and one limiter, counted in one of the scopes that the document allows. */
type Reading = {
  readonly limits: Map<string, Limit>
  /** Requests that may count against each of its limits, also against later ones. */
  readonly unplaced: LimitRequest[]
  readonly reporter: Reporter
  /** Where it reports from now on. */
  readonly reportTo: (next: Reporter) => void
  draft: Draft<'rate-limits'> | null
  /** The names that the requests of each limit have in the plan. */
  readonly namesOf: Map<Limit, Set<string>>
  /** The requests whose counter is unknown, by their name in the plan. */
  readonly uncounted: Map<string, Uncounted>
}

export type Uncounted = { readonly tier: string; accepted: number; rejected: number }

/**
 * The limits of one caller and one limiter. If the scope of these limits is open, they are judged in each admissible scope,
 * and only the reports of the scope that the target refutes least count. They are the same until two requests share a
 * counter in one scope and not in another.
 */
export type OpenScope = {
  /** Counts a request. Where its counter is unknown, it may count against each limit. */
  readonly add: (drawn: ApplicableLimit, member: LimitRequest, watermarkMs: number) => void
  /** Counts a request that may count against any limit, except those that counted it as `own`. */
  readonly addStray: (member: LimitRequest, own: ApplicableLimit | null, watermarkMs: number) => void
  readonly finish: (isComplete: boolean) => void
  /** Those in the scope that the target refutes least. */
  readonly chosen: () => ChosenScope
}

type ChosenScope = {
  /** The names that the requests of each limit have in the plan. */
  readonly namesOf: ReadonlyMap<Limit, ReadonlySet<string>>
  /** The requests that no limit counts, because it is unknown which ones share a counter, by their name in the plan. */
  readonly uncounted: ReadonlyMap<string, Uncounted>
}

type OpenScopeOptions = {
  readonly reporter: Reporter
  /** The reporter for this caller, which passes reports on to the given one. */
  readonly reporterForCaller: (reporter: Reporter) => Reporter
  /** `drawn` has the name of its counter. */
  readonly createLimit: (drawn: ApplicableLimit, reporter: Reporter) => Limit
  readonly strays: () => readonly LimitRequest[]
}

/** `length`: in how many of the scopes, from the usual one on, the requests are judged. */
export function createOpenScope(
  length: number,
  { reporter, reporterForCaller, createLimit, strays }: OpenScopeOptions,
): OpenScope {
  const readings = Array.from({ length }, (_, index) =>
    createReading(index === 0 ? reporterForCaller(reporter) : mute(reporter)),
  )
  const isOpen = length > 1
  let haveParted = false
  /** The counters in the smallest scope. With only one, all scopes say the same, whatever the tier of a model. */
  const finest = new Set<string>()
  const chosen = () => (finest.size > 1 ? leastRefuted(readings) : readings[0])

  /** From now on, the readings may report different things. */
  function part() {
    haveParted = true
    for (const reading of readings) {
      reading.draft = reporter.draft()
      reading.reportTo(reporterForCaller(reading.draft.reporter))
    }
  }

  function limitIn(reading: Reading, drawn: ApplicableLimit, counter: string, watermarkMs: number): Limit {
    const known = reading.limits.get(counter)
    const limit = known ?? createLimit({ ...drawn, name: counter }, reading.reporter)
    getOrAdd(reading.namesOf, limit, () => new Set<string>()).add(drawn.name)
    if (known !== undefined) return known
    reading.limits.set(counter, limit)
    for (const stray of [...strays(), ...reading.unplaced]) limit.add(stray, watermarkMs)
    return limit
  }

  function addUnplaced(
    { limits, unplaced, uncounted }: Reading,
    { name, tier }: ApplicableLimit,
    member: LimitRequest,
    watermarkMs: number,
  ) {
    const stray = strayOf(member)
    unplaced.push(stray)
    if (unplaced.length > maxStrays) unplaced.shift()
    for (const limit of limits.values()) limit.add(stray, watermarkMs)
    const counts = getOrAdd(uncounted, name, () => ({ tier, accepted: 0, rejected: 0 }))
    if (member.kind !== 'uncertain') counts[member.kind]++
  }

  /** Whether the readings differ about what shares a counter with this request. */
  function parts({ counters }: ApplicableLimit): boolean {
    const isKnown = readings.map(({ limits }, index) => limits.has(counters[index] ?? ''))
    return counters.includes(null) || isKnown.some(known => known !== isKnown[0])
  }

  return {
    add: (drawn, member, watermarkMs) => {
      finest.add(drawn.finest)
      if (isOpen && !haveParted && parts(drawn)) part()
      let index = 0
      for (const reading of readings) {
        const counter = drawn.counters[index++] ?? null
        if (counter !== null) limitIn(reading, drawn, counter, watermarkMs).add(member, watermarkMs)
        else addUnplaced(reading, drawn, member, watermarkMs)
      }
    },
    addStray: (member, own, watermarkMs) => {
      for (const [index, { limits }] of readings.entries())
        for (const [counter, limit] of limits)
          if (own === null || (own.counters[index] ?? null) !== counter) limit.add(strayOf(member), watermarkMs)
    },
    finish: isComplete => {
      if (isComplete) for (const { limits } of readings) for (const limit of limits.values()) limit.finish()
      chosen()?.draft?.adopt()
    },
    chosen: () => chosen() ?? { namesOf: new Map(), uncounted: new Map() },
  }
}

/** A request that may count against another limit than its headers state. */
export const strayOf = (member: LimitRequest): LimitRequest => ({
  ...member,
  kind: 'uncertain',
  mayCount: true,
  stated: null,
  remaining: null,
  resetMs: null,
})

/**
 * Of the readings that violate the fewest clauses, and these least often, the first of those that leave the fewest 429s
 * undecided. A wrong header violates its clause in each of them, as often as limits are counted apart.
 */
function leastRefuted(readings: readonly Reading[]): Reading | undefined {
  const [first] = readings
  if (first?.draft == null) return first
  const ranked = readings.map(reading => ({
    reading,
    clauses: reading.draft?.violatedClauses() ?? 0,
    violations: reading.draft?.violations() ?? 0,
    open: openOf(reading),
  }))
  return ranked.toSorted((a, b) => a.clauses - b.clauses || a.violations - b.violations || a.open - b.open)[0]?.reading
}

function openOf({ limits, uncounted }: Reading): number {
  const counted = [...limits.values()].map(limit => limit.result())
  const ofLimits = counted.reduce((sum, { rejected, decided429 }: LimitUse) => sum + rejected - decided429, 0)
  return [...uncounted.values()].reduce((sum, { rejected }) => sum + rejected, ofLimits)
}

function createReading(first: Reporter): Reading {
  let current = first
  return {
    limits: new Map(),
    unplaced: [],
    reporter: {
      pass: clause => current.pass(clause),
      fail: (...found) => current.fail(...found),
      unjudged: (clause, obstacle) => current.unjudged(clause, obstacle),
      measured: (clause, measured) => current.measured(clause, measured),
      promises: clause => current.promises(clause),
      draft: () => current.draft(),
    },
    reportTo: next => {
      current = next
    },
    draft: null,
    namesOf: new Map(),
    uncounted: new Map(),
  }
}

/** Until the readings differ, all of them would report the same. */
const mute = (reporter: Reporter): Reporter => ({
  ...reporter,
  pass: () => {},
  fail: () => {},
  unjudged: () => {},
  measured: () => {},
})
