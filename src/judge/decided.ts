import type { Clause } from '../contract/clause.ts'
import { type ClauseId, clauses } from '../contract/clauses.ts'
import { decidedSide, type Share } from '../lib/statistics/decided-share.ts'
import { hasTrait, mixOf, type Plan, type Threshold } from '../plan/plan.ts'
import { decidingOf, decisionError, earlyEndOf, isShare, lastStage } from '../plan/until-decided.ts'
import { type SharedAccount, whyShared } from './audits/shared-accounts.ts'
import { type RunView, thresholdsOf } from './judge.ts'
import type { RunMetrics } from './metrics/request-stats.ts'
import type { ThresholdResult, Verdict } from './results.ts'
import type { VerdictInput } from './verdict.ts'

/** Looks again and again whether a run may end, because nothing that it should decide is open. */
export type Decision = {
  /** `unanswered`: requests in flight, at most, by call. */
  readonly isMade: (view: RunView, unanswered: Unanswered) => boolean
}

type Unanswered = ReadonlyMap<string, number>

export function createDecision(plan: Plan): Decision {
  const { whole } = earlyEndOf(plan)
  let exercised = 0
  let answeredThen = 0
  return {
    isMade: (view, unanswered) => {
      if (whole !== null) return false
      const { answered } = view.metrics.select({ call: null, stage: null })
      const judged = view.findingLog.tallies().filter(tally => tally.judged > 0).length
      if (judged > exercised) answeredThen = answered
      exercised = Math.max(exercised, judged)
      // Clauses that chance exercises show up one after another. As much again has shown no further one.
      if (answered < 2 * answeredThen || !hasExercised(plan, view)) return false
      const results = thresholdsOf(plan, wholeSearches(view), { complete: true, elapsedMs: 0 }, null)
      return openThresholds(plan, view.metrics, results, unanswered).length === 0
    },
  }
}

/** The searches of a plan that may end early are over. */
const wholeSearches = (view: RunView): RunView => ({ ...view, capacity: () => view.capacity(true) })

/** Whether each call of the last stage was answered, what must be judged was, and each limit that it exceeds was reached. */
function hasExercised(plan: Plan, { metrics, findingLog, audits }: RunView): boolean {
  const stage = lastStage(plan)
  const tallies = new Map(findingLog.tallies().map(tally => [tally.id, tally]))
  const limits = audits.limits()
  const isReached = (scope: string) =>
    limits.some(({ names, rejected, missing429 }) => names.includes(scope) && (rejected > 0 || (missing429 ?? 0) > 0))
  return (
    mixOf(stage).every(([call, weight]) => weight === 0 || metrics.select({ call, stage: stage.name }).answered > 0) &&
    plan.mustJudge.every(id => isOfBalances(id) || tallies.get(id)?.verdict !== 'not-exercised') &&
    plan.forecast.limits.every(row => row.stage !== stage.name || row.perMinute <= row.limit || isReached(row.scope))
  )
}

/** The closing balance checks follow the load, however it ends. */
const isOfBalances = (id: ClauseId): boolean => (clauses[id] as Clause).judges.includes('ledger')

/**
 * The thresholds that are neither met nor crossed for good. `results`: as if the run had ended by itself now. A bound takes
 * each request in flight for one that speaks against it.
 */
function openThresholds(
  plan: Plan,
  metrics: RunMetrics,
  results: readonly ThresholdResult[],
  unanswered: Unanswered,
): readonly Threshold[] {
  const bounded = plan.thresholds.filter(threshold => decidingOf(threshold, plan).by === 'bound').length
  const error = decisionError / Math.max(1, bounded)
  const isOpen = (threshold: Threshold, verdict: Verdict | undefined): boolean => {
    switch (decidingOf(threshold, plan).by) {
      case 'stage':
      case 'rule':
        return false
      case 'count':
        return verdict !== 'pass'
      case 'end':
        return verdict !== 'fail' || !staysCrossed(threshold)
      case 'bound':
        return verdict === 'inconclusive' || boundVerdict(threshold, metrics, unanswered, error) !== verdict
    }
  }
  return plan.thresholds.filter((threshold, index) => isOpen(threshold, results[index]?.verdict))
}

/** The results of a run that ended early, because all of them were decided. What the record leaves open is inconclusive. */
export function decidedThresholds(
  plan: Plan,
  metrics: RunMetrics,
  ended: VerdictInput['ended'],
  results: readonly ThresholdResult[],
): readonly ThresholdResult[] {
  if (ended !== 'decided') return results
  const open = openThresholds(plan, metrics, results, new Map())
  return results.map((result, index) => {
    if (!open.some(threshold => threshold === plan.thresholds[index])) return result
    return {
      ...result,
      verdict: 'inconclusive',
      message: `${result.message}, but the run ended early, before this was decided`,
    }
  })
}

/** Counts and sums never fall, and neither does a maximum. */
function staysCrossed({ measure, operator }: Threshold): boolean {
  const isUpper = operator === '<' || operator === '<='
  if (measure.kind === 'timing') {
    if (measure.of.kind === 'max') return isUpper
    return measure.of.kind === 'min' && (operator === '>' || operator === '>=')
  }
  return isUpper && (measure.kind === 'count' || measure.kind === 'credits' || measure.kind === 'spend')
}

/** null: not proved. */
function boundVerdict(
  threshold: Threshold,
  metrics: RunMetrics,
  unanswered: Unanswered,
  error: number,
): Verdict | null {
  const { operator } = threshold
  const found = shareOf(threshold, metrics, unanswered)
  if (found === null) return null
  const side = decidedSide(found.share, found.bound, error)
  if (side === null) return null
  return (side === 'below') === (operator === '<' || operator === '<=') ? 'pass' : 'fail'
}

/** Histograms do not tell values apart that differ by this ratio. */
const bucketRatio = 0.002

/** The share that a threshold is about. A percentile is below its bound if few enough values exceed the bound. */
function shareOf(
  threshold: Threshold,
  metrics: RunMetrics,
  unanswered: Unanswered,
): { readonly share: Share; readonly bound: number } | null {
  const { measure, bound } = threshold
  const stats = metrics.select(threshold)
  const inFlight = [...unanswered].reduce(
    (sum, [call, count]) => ((threshold.call ?? call) === call ? sum + count : sum),
    0,
  )
  if (measure.kind === 'timing' && measure.of.kind === 'percentile') {
    const values = stats.timing(measure.timing)
    const [perhapsBelow = 0, below = 0] = values.countsUpTo([bound * (1 - bucketRatio), bound])
    const trials = values.count() - (below - perhapsBelow)
    const share = { hits: values.count() - below, trials, open: below - perhapsBelow + inFlight }
    return { share, bound: 1 - measure.of.percent / 100 }
  }
  if (measure.kind !== 'ratio') return null
  const { count } = measure
  const { kind } = count
  const hits = kind === 'status' ? (stats.statuses.get(count.status) ?? 0) : isShare(kind) ? stats[kind] : 0
  const trials = hasTrait(kind, 'of-due') ? stats.sent + stats.dropped : stats.sent
  return { share: { hits, trials, open: inFlight }, bound }
}

/** What a response may be because another caller of its account was limited or blocked. */
const ofLimits: readonly string[] = ['status', 'blocked']

/** The results of a run in which callers share the limits of an account: the requests of one may be refused for another. */
export function thresholdsOfShared(
  { thresholds }: Pick<Plan, 'thresholds'>,
  shared: readonly SharedAccount[],
  results: readonly ThresholdResult[],
): readonly ThresholdResult[] {
  const found = shared.find(({ shares }) => shares.some(what => what !== 'balance'))
  if (found === undefined) return results
  return results.map((result, index) => {
    const measure = thresholds[index]?.measure
    if (result.verdict !== 'fail' || !(measure && 'count' in measure) || !ofLimits.includes(measure.count.kind))
      return result
    return { ...result, verdict: 'inconclusive', message: `${result.message}, but ${whyShared(found).text}` }
  })
}
