import { clauses as contractClauses } from '../contract/clauses.ts'
import { formatDuration, plural } from '../lib/format.ts'
import type { LogFooter, RunInfo } from '../observation/log.ts'
import { isSystemStage, type Plan } from '../plan/plan.ts'
import type { Billing } from './audits/audit.ts'
import type { CapacityResult } from './capacity/result.ts'
import type { ClauseTally, Finding } from './checks/findings.ts'
import { type Comparison, outcomeStatus } from './compare/comparison.ts'
import type { RunMetrics } from './metrics/request-stats.ts'
import type { Status, ThresholdResult } from './thresholds.ts'

export type RunVerdict = {
  readonly verdict: Status
  /** Why, in sentences; never empty. */
  readonly reasons: readonly string[]
}

/** All of a run that bears on its verdict. */
export type VerdictInput = {
  readonly plan: Plan
  readonly head: Pick<RunInfo, 'target'>
  /** How the run ended. `truncated`: its log has no end, as after a kill. */
  readonly ended: LogFooter['ended'] | 'truncated'
  readonly durationMs: number
  readonly metrics: RunMetrics
  readonly load: {
    readonly sent: number
    readonly answered: number
    readonly failed: number
    readonly dropped: number
    readonly failures: Readonly<Record<string, number>>
    /** Responses of the abuse block, in stages that did not intend to cause it. */
    readonly blocked: number
    readonly workers: readonly {
      /** From 1. */
      readonly worker: number
      readonly callers: number
      readonly sent: number
      readonly lost: boolean
    }[]
  }
  readonly clauses: readonly ClauseTally[]
  readonly findings: readonly Finding[]
  readonly billing: Billing
  readonly capacity: readonly CapacityResult[]
  /** In the order of the plan's thresholds. */
  readonly thresholds: readonly ThresholdResult[]
}

/**
 * Fail outranks inconclusive: a violation that was seen stays one, however the run ended. The reasons to doubt follow
 * the failures, for they say what else was not established.
 */
export function reachVerdict(run: VerdictInput): RunVerdict {
  const failures = failReasons(run)
  const doubts = inconclusiveReasons(run)
  if (failures.length > 0) return { verdict: 'fail', reasons: [...failures, ...doubts] }
  if (doubts.length > 0) return { verdict: 'inconclusive', reasons: doubts }
  return { verdict: 'pass', reasons: [passSummary(run)] }
}

/**
 * The verdict on a run that must be no worse than its baselines: a regression is a failure. Where the comparison cannot
 * tell, the run is inconclusive, unless it fails anyway.
 */
export function withComparison(run: RunVerdict, comparison: Comparison): RunVerdict {
  const added = outcomeStatus[comparison.verdict]
  const order = ['fail', 'inconclusive', 'pass'] as const
  const verdict = order.find(status => status === run.verdict || status === added) ?? run.verdict
  const kept = run.verdict === 'pass' && added !== 'pass' ? [] : run.reasons
  const reasons = comparison.reasons.map(reason => `Against the baseline: ${reason}`)
  // Failures come first, doubts after them.
  const message = added === 'fail' && run.verdict === 'inconclusive' ? [...reasons, ...kept] : [...kept, ...reasons]
  return { verdict, reasons: message }
}

function failReasons({ findings, billing, thresholds }: VerdictInput): readonly string[] {
  return [
    ...findings.map(
      ({ clause, section, count }) =>
        `${plural(count, 'violation')} of ${clause} (§${section}): ${contractClauses[clause].text}`,
    ),
    ...billing.discrepancies
      .filter(({ count }) => count > 0)
      .map(
        ({ kind, count, amountUsd }) =>
          `${plural(count, 'billing discrepancy', 'billing discrepancies')} "${kind}", $${amountUsd} in all.`,
      ),
    ...ofVerdict(thresholds, 'fail', 'crossed'),
  ]
}

function inconclusiveReasons(run: VerdictInput): readonly string[] {
  const { ended, load, clauses, thresholds } = run
  const failed = uncovered(run, 'failed')
  const dropped = uncovered(run, 'dropped')
  const judged = thresholds.length > 0 || clauses.some(clause => clause.judged > 0)
  return [
    ended === 'complete' ? null : endings[ended](run),
    load.sent === 0 ? 'Nothing was sent.' : null,
    load.sent > 0 && load.answered === 0 ? `None of ${plural(load.sent, 'request')} was answered.` : null,
    load.blocked > 0
      ? `${plural(load.blocked, 'answer')} said that the caller had failed too often and was blocked: what was measured is the block.`
      : null,
    ...ofVerdict(thresholds, 'inconclusive', 'not established'),
    failed > 0 ? `${plural(failed, 'request')} failed${failureCounts(run)}, and no threshold says how many may.` : null,
    dropped > 0
      ? `${plural(dropped, 'arrival was', 'arrivals were')} dropped and never sent, and no threshold says how many may be.`
      : null,
    ...unconfirmedSearches(run),
    load.answered > 0 && !judged ? 'Nothing was judged: no clause was exercised and the plan has no threshold.' : null,
  ].filter(reason => reason !== null)
}

const endings: Readonly<Record<Exclude<VerdictInput['ended'], 'complete'>, (run: VerdictInput) => string>> = {
  interrupted: ({ durationMs }) => `The run was interrupted after ${formatDuration(durationMs)}.`,
  'target-unreachable': ({ head }) => `No answer came from the target ${head.target}.`,
  unauthorized: ({ head }) => `The target ${head.target} refused every key with 401.`,
  'budget-reached': ({ durationMs }) =>
    `The budget was reached after ${formatDuration(durationMs)}, and the run ended early.`,
  'worker-lost': run => `${lostWorkers(run)} The run ended early, after ${formatDuration(run.durationMs)}.`,
  truncated: ({ durationMs }) =>
    `The record of the run ends after ${formatDuration(durationMs)} without an end, as after a kill.`,
}

function lostWorkers({ load: { workers } }: VerdictInput): string {
  const lost = workers.filter(({ lost }) => lost)
  const callers = lost.reduce((sum, worker) => sum + worker.callers, 0)
  const sent = lost.reduce((sum, worker) => sum + worker.sent, 0)
  const who = `${lost.length === 1 ? 'Worker' : 'Workers'} ${lost.map(({ worker }) => worker).join(', ')}`
  const known = `of what ${plural(callers, 'caller')} did there, ${plural(sent, 'request is', 'requests are')} known.`
  return `${who} of ${workers.length} in the harness ${lost.length === 1 ? 'was' : 'were'} lost: ${known}`
}

const unconfirmedStatuses: readonly CapacityResult['status'][] = ['limited-by-tier', 'harness-limited', 'inconclusive']

/** Searches that confirmed no rate, except those that a threshold already speaks of. */
function unconfirmedSearches({ plan, capacity, thresholds }: VerdictInput): readonly string[] {
  const told = plan.thresholds.filter(
    ({ measure }, index) => measure.kind === 'capacity' && thresholds[index]?.verdict === 'inconclusive',
  )
  return capacity
    .filter(({ status, stage }) => unconfirmedStatuses.includes(status) && !told.some(each => each.stage === stage))
    .map(({ stage, reason }) => `No capacity was found in ${stage}: ${reason}`)
}

const ofVerdict = (thresholds: readonly ThresholdResult[], verdict: Status, word: string): readonly string[] =>
  thresholds.filter(t => t.verdict === verdict).map(t => `Threshold ${word}: ${t.expression}: ${t.message}.`)

/**
 * Failures or drops that no threshold of the plan is about, and no search, to which they are an answer. A threshold
 * without a stage covers the system stages too.
 */
function uncovered({ plan, load, metrics, capacity }: VerdictInput, kind: 'failed' | 'dropped'): number {
  const about = plan.thresholds.filter(({ measure }) => 'count' in measure && measure.count.kind === kind)
  if (about.some(({ call, stage }) => call === null && stage === null)) return 0
  const covered = metrics
    .cells()
    .filter(cell => !isSystemStage(cell.stage))
    .filter(
      cell =>
        about.some(({ call, stage }) => (call ?? cell.call) === cell.call && (stage ?? cell.stage) === cell.stage) ||
        capacity.some(({ stage }) => stage === cell.stage),
    )
    .reduce((sum, { stats }) => sum + stats[kind], 0)
  return load[kind] - covered
}

function failureCounts({ load: { failures } }: VerdictInput): string {
  const counted = Object.entries(failures).toSorted((a, b) => b[1] - a[1])
  return counted.length === 0 ? '' : ` (${counted.map(([reason, count]) => `${reason} ${count}`).join(', ')})`
}

function passSummary({ load, clauses, thresholds }: VerdictInput): string {
  const kept = clauses.filter(clause => clause.verdict === 'pass').length
  const held = thresholds.length === 0 ? '' : `, ${plural(thresholds.length, 'threshold')} held`
  return `${plural(load.answered, 'answer')} judged: ${plural(kept, 'clause')} kept${held}, no discrepancy.`
}
