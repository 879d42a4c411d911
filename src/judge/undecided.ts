import { type ClauseId, clauseIds } from '../contract/clauses.ts'
import { probeOf } from '../contract/probes.ts'
import { asPatterns, clausesMatching } from '../contract/promises.ts'
import { plural } from '../lib/format.ts'
import { pico } from '../lib/money.ts'
import { uncountedKinds } from '../observation/requests/request.ts'
import type { Plan } from '../plan/plan.ts'
import type { Billing, BlockCounts } from './audits/audit.ts'
import type { ClauseTally } from './findings/findings.ts'
import type { RunMetrics } from './metrics/request-stats.ts'
import { type CallProof, describeEndings, firstOf, otherEndings, placeOf, unprovenCalls } from './proof.ts'
import type { LimitResult, ThresholdResult } from './results.ts'
import { canFail, covers, judgesSuccess, reachOf, statusOf } from './threshold-reach.ts'
import type { JudgedTotals, Undecided } from './thresholds.ts'

type Evidence = {
  readonly plan: Pick<Plan, 'profile' | 'calls' | 'callers'>
  readonly clauses: readonly ClauseTally[]
  readonly metrics: Pick<RunMetrics, 'cells'>
  readonly limits: readonly LimitResult[]
  readonly billing: Omit<Billing, 'expectedCredits' | 'expectedUsd' | 'billedUsd' | 'tolerance'>
  readonly violations: number
  readonly blocks: BlockCounts
}

/** The totals of a run that its judges decide: a new word of thresholds is one row. */
export function judgedTotals(evidence: Evidence): JudgedTotals {
  const { plan, clauses: tallies, billing, limits, violations, blocks } = evidence
  const judgedClauses = tallies.filter(({ judged }) => judged > 0)
  const comparedBalances = ofLedger.reduce((sum, id) => sum + judgedOf(id, tallies), 0)
  const rejected = limits.reduce((sum, limit) => sum + limit.rejected, 0)
  const open = limits.reduce((sum, limit) => sum + undecidedOf(limit, tallies), 0)
  return {
    violations: {
      countIn: () => violations,
      undecided: judgedClauses.length > 0 ? null : unbounded(whyNotJudged(clauseIds, tallies, plan)),
      basis: `${plural(judgedClauses.length, 'clause')} judged`,
    },
    discrepancies: {
      countIn: () => billing.discrepancies.reduce((sum, { count }) => sum + count, 0),
      undecided: isLedgerJudged(tallies)
        ? unknownCharges(billing.unknownCharges)
        : unbounded(whyNotJudged(ledgerOf(plan), tallies, plan)),
      basis: `${plural(comparedBalances, 'balance')} compared with charges`,
    },
    'unexpected-429': {
      countIn: () => unexpected429s(limits, tallies),
      undecided: undecided429s(evidence, open),
      basis: rejected === 0 ? null : `${rejected - open} of ${plural(rejected, '429')} judged`,
    },
    blocked: {
      countIn: stage =>
        Object.entries(blocks).reduce((sum, [name, count]) => ((stage ?? name) === name ? sum + count : sum), 0),
      undecided: isPromised(ofBlocks, tallies) ? null : unseenBlocks(evidence),
      basis: null,
    },
    credits: {
      countIn: () => Number(billing.claimedCredits),
      undecided: unstated(billing.unstatedCredits, 'RPC response', 'credits'),
      basis: null,
    },
    spend: {
      countIn: () => Number(billing.claimedUsd),
      undecided: unstated(billing.unstatedCosts, 'charged response', 'cost'),
      basis: null,
    },
  }
}

/** What any comparison of charges with balances needs. */
const ofLedger: readonly ClauseId[] = [
  'billing.conservation',
  'billing.balance-before',
  'wallet.charge',
  'wallet.balance',
  'wallet.balance-remaining',
]
/** Without wallets, the clauses about them explain nothing. */
const ledgerOf = ({ callers }: Pick<Plan, 'callers'>): readonly ClauseId[] =>
  callers.wallets === null ? ofLedger.filter(id => !id.startsWith('wallet.')) : ofLedger
/** Whether charges were compared with any balance. */
export const isLedgerJudged = (tallies: readonly ClauseTally[]): boolean =>
  ofLedger.some(id => judgedOf(id, tallies) > 0)

const ofBlocks = clausesMatching('abuse.*')
const ofRefusals: readonly ClauseId[] = ['limit.requests.not-early']

const unbounded = (why: string): Undecided => ({ most: Number.POSITIVE_INFINITY, why })

/** The 429s of a limit of which no judge could tell whether they were right. */
function undecidedOf({ rejected, decided429, unexpected429 }: LimitResult, tallies: readonly ClauseTally[]): number {
  if (unexpected429 === null || !isPromised(ofRefusals, tallies)) return rejected
  return Math.max(0, rejected - decided429)
}

/** The same by the name of what shares the limit. */
function undecidedByName(limits: readonly LimitResult[], tallies: readonly ClauseTally[]): ReadonlyMap<string, number> {
  const found = new Map<string, number>()
  for (const limit of limits)
    for (const name of limit.names) found.set(name, (found.get(name) ?? 0) + undecidedOf(limit, tallies))
  return found
}

/** Why no judge decided about the 429s of a run, and what would change it. */
const whyUndecided429s = ({ clauses: tallies, plan }: Pick<Evidence, 'clauses' | 'plan'>): string =>
  whyNotJudged(ofRefusals, tallies, plan)

/** The 429s that are certainly wrong. */
const unexpected429s = (limits: readonly LimitResult[], tallies: readonly ClauseTally[]): number =>
  isPromised(ofRefusals, tallies) ? limits.reduce((sum, { unexpected429 }) => sum + (unexpected429 ?? 0), 0) : 0

function undecided429s(evidence: Evidence, ofLimits: number): Undecided | null {
  const { plan, metrics } = evidence
  const ofOthers = metrics
    .cells()
    .filter(({ call }) => uncountedKinds.has(plan.calls[call]?.kind ?? ''))
    .reduce((sum, { stats }) => sum + (stats.statuses.get(429) ?? 0), 0)
  const most = ofLimits + ofOthers
  if (most === 0) return null
  const why = ofLimits > 0 ? whyUndecided429s(evidence) : 'no documented limit applies to their calls'
  return { most, why: `${plural(most, 'response was', 'responses were')} 429, and ${why}` }
}

/** Without the promise of a block, its message is not known either. */
function unseenBlocks({ metrics, clauses: tallies, plan }: Evidence): Undecided | null {
  const statuses = metrics.cells().flatMap(({ stats }) => [...stats.statuses])
  const most = statuses.reduce((sum, [status, count]) => (status >= 400 ? sum + count : sum), 0)
  if (most === 0) return null
  const why = whyNotJudged(ofBlocks, tallies, plan)
  return { most, why: `${plural(most, 'response was an error', 'responses were errors')}, and ${why}` }
}

function unknownCharges(count: number): Undecided | null {
  if (count === 0) return null
  const responses = plural(count, 'charged response states', 'charged responses state')
  const why = 'no cost, and the price list does not cover them, so no balance shows whether their charges are right'
  return unbounded(`${responses} ${why}: state their prices in the profile ("models", "chat.search", "rpc.networks")`)
}

function unstated(count: number, what: string, amount: string): Undecided | null {
  if (count === 0) return null
  return unbounded(`${plural(count, `${what} states`, `${what}s state`)} no ${amount}, so the total may be larger`)
}

const judgedOf = (id: ClauseId, tallies: readonly ClauseTally[]): number =>
  tallies.find(tally => tally.id === id)?.judged ?? 0

const isPromised = (ids: readonly ClauseId[], tallies: readonly ClauseTally[]): boolean =>
  tallies.some(({ id, verdict }) => ids.includes(id) && verdict !== 'not-promised')

/** Why no response was judged by any of these clauses, and what would change it: a clause of a sentence. */
function whyNotJudged(
  ids: readonly ClauseId[],
  tallies: readonly ClauseTally[],
  { profile }: Pick<Plan, 'profile'>,
): string {
  const promised = tallies.filter(({ id, verdict }) => ids.includes(id) && verdict !== 'not-promised')
  if (promised.length === 0) {
    const names = ids.length === clauseIds.length ? 'a clause' : (asPatterns(ids)[0] ?? 'a clause')
    return `the profile "${profile}" does not promise ${names}: add it to "promises" of the profile if the target should be judged by it`
  }
  // A reason that names an obstacle explains more than one that names a call which was not sent.
  const told = promised.find(({ because }) => because?.kind === 'not-judged') ?? promised[0]
  const why = told?.because?.text
  if (told !== undefined && told.judged > 0)
    return `${told.id} could not be judged for them${why === undefined ? '' : `: ${why}`}`
  return `${told?.id} was not judged: ${why ?? 'no response of this run put it to the test'}`
}

type RunEvidence = {
  readonly plan: Plan
  readonly proofs: readonly CallProof[]
  readonly limits: readonly LimitResult[]
  readonly clauses: readonly ClauseTally[]
  readonly metrics: Pick<RunMetrics, 'select'>
  /** In the order of the plan's thresholds. */
  readonly thresholds: readonly ThresholdResult[]
}

/**
 * Unintended responses that the run leaves open: no judge of a promised limit decided about them, and no threshold about
 * them can fail. A search, a saturated target and a stage that provokes a block get such responses on purpose.
 */
export function unspokenRefusals(run: RunEvidence): readonly string[] {
  const { plan, proofs, limits, clauses, metrics } = run
  const undecided = undecidedByName(limits, clauses)
  const explained = new Set(unprovenCalls(plan, proofs))
  const places = proofs.filter(proof => proof.call !== null && !explained.has(proof) && !isProvoked(proof, plan))
  const found = places.flatMap(proof =>
    [...refusalsOf(proof, undecided)]
      .filter(([ending, count]) => count > 0 && !isSpokenOf(ending, proof, run))
      .map(([ending, count]) => ({ ending, count, proof })),
  )
  const { answered } = metrics.select({ call: null, stage: null })
  const endings = [...new Set(found.map(({ ending }) => ending))].toSorted()
  return endings.map(ending => {
    const alike = found.filter(each => each.ending === ending)
    const count = alike.reduce((sum, each) => sum + each.count, 0)
    const where = alike.map(({ proof }) => placeOf(proof))
    const named = `${where.slice(0, maxNamed).join(', ')}${where.length > maxNamed ? ', …' : ''}`
    const whole = `${count} of ${plural(answered, 'response')}`
    if (ending === otherEndings.errors)
      return `${whole} had JSON-RPC errors and no result (${named}), and nothing in this run says how many are right. Send methods that the target answers.`
    const why = ending === '429' ? `: ${whyUndecided429s(run)}` : ''
    const [first] = alike
    const example = `status(${ending})${alike.length === 1 && first ? ` of ${first.proof.call}` : ''} <= 1%`
    return `${whole} ${count === 1 ? 'was' : 'were'} ${ending} (${named}), and nothing in this run says how many are right${why}. Add a threshold such as "${example}".`
  })
}

const maxNamed = 4

const isProvoked = ({ stage }: CallProof, { stages }: Plan): boolean => {
  const found = stages.find(({ name }) => name === stage)
  return found?.beyondFailures === true || found?.load.model === 'capacity' || found?.load.model === 'saturate'
}

/** What happens to a service that works. Fewer than these, or a smaller share of a call, are chance. */
const byChance = /^5\d\d$|^408$|^409$|^425$|^errors$/
const minByChance = 3
const minShareByChance = 0.1

/** By ending: the responses that were no success, without the 429s about which a judge decided, and without chance. */
function refusalsOf({ unmet, limited, deferred, due }: CallProof, undecided: ReadonlyMap<string, number>) {
  const of429 = [...limited].reduce((sum, [limit, count]) => sum + Math.min(count, undecided.get(limit) ?? count), 0)
  const refused = new Map([
    ['429', of429],
    ['503', deferred],
  ])
  for (const [ending, count] of unmet) {
    if (ending === '429' || !/^[345]\d\d$|^errors$/.test(ending)) continue
    const isMany = count >= minByChance && count > due * minShareByChance
    if (isMany || !byChance.test(ending)) refused.set(ending, count)
  }
  return refused
}

/** Whether a threshold that can fail is about these responses. One that is inconclusive has its own reason. */
const isSpokenOf = (ending: string, proof: CallProof, { plan, proofs, thresholds }: RunEvidence): boolean =>
  plan.thresholds.some((threshold, index) => {
    const { measure } = threshold
    if (!canFail(threshold, reachOf(threshold, plan, proofs))) return false
    if (ending === '429' && 'count' in measure && measure.count.kind === 'unexpected-429')
      return thresholds[index]?.verdict !== 'inconclusive'
    // No threshold counts JSON-RPC errors.
    if (!covers(threshold, proof) || ending === otherEndings.errors) return false
    return `${statusOf(threshold)}` === ending || judgesSuccess(threshold, proof)
  })

/** Probes whose clause judged none of their responses, because each was neither as documented nor an acceptance. */
export function unjudgedProbes({ plan, proofs }: Pick<RunEvidence, 'plan' | 'proofs'>): readonly string[] {
  const names = new Set(proofs.flatMap(({ probes }) => [...probes.keys()]))
  return firstOf(
    [...names].flatMap(name => {
      const { clause } = probeOf(name)
      const tallies = proofs.flatMap(({ probes }) => probes.get(name) ?? [])
      if (plan.notPromised.includes(clause) || tallies.some(({ judged }) => judged > 0)) return []
      const endings = new Map<string, number>()
      for (const { open } of tallies)
        for (const [ending, count] of open) endings.set(ending, (endings.get(ending) ?? 0) + count)
      return [
        `The probe ${name} did not show whether ${clause} holds: ${describeEndings(endings)}, which is neither the documented response nor an acceptance.`,
      ]
    }),
  )
}

/** The clauses that the scenario must judge, and that the run did not put to the test: why, and what to do. */
export const missingClauses = ({
  plan,
  clauses: tallies,
  billing,
}: Pick<RunEvidence, 'plan' | 'clauses'> & { readonly billing: Pick<Billing, 'claimedUsd' | 'tolerance'> }) =>
  firstOf(
    plan.mustJudge.flatMap(id => {
      const tally = tallies.find(each => each.id === id)
      if (tally === undefined || tally.violated > 0) return []
      const why =
        tally.judged === 0 ? whyNotJudged([id], tallies, plan) : id === conservation ? tooCoarse(billing) : null
      return why === null ? [] : [`The scenario must judge ${id}, and ${why}.`]
    }),
  )

const conservation: ClauseId = 'billing.conservation'

/**
 * Why most balances would look the same without any charge: they are rounded to more than their callers spent, or requests
 * without a response may have cost as much. Null: they would not.
 */
function tooCoarse({ claimedUsd, tolerance }: Pick<Billing, 'claimedUsd' | 'tolerance'>): string | null {
  const { billedUsd = null, hiddenUsd = '0' } = tolerance ?? {}
  if (billedUsd === null || pico(claimedUsd) === 0n || 2n * pico(hiddenUsd) < pico(claimedUsd)) return null
  const hidden = `$${hiddenUsd} of all charges, $${claimedUsd}, are of callers whose balances may be off by as much`
  return `balances are too coarse for it: ${hidden}, because they are rounded or because the cost of some requests is unknown. Send more requests, or more expensive ones, with fewer callers`
}
