import type { Billing, BlockCounts, LimitResult } from '../audits/audit.ts'
import type { ClauseTally, Example, Finding } from '../checks/findings.ts'
import { clauses } from '../contract/clauses.ts'
import { isOwnStage } from '../metrics/active-time.ts'
import type { CapacityResult } from '../metrics/capacity-result.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { percentiles } from '../metrics/percentiles.ts'
import type { Series } from '../metrics/series.ts'
import type { ThresholdResult } from '../metrics/thresholds.ts'
import type { Plan } from '../plan/plan.ts'
import { callFacts } from './call-facts.ts'
import { planFacts } from './plan-facts.ts'
import type { Evidence, LoadFacts, Report, ReportedExample, ReportedFinding, RunFacts } from './report.ts'
import { reachVerdict } from './verdict.ts'

export type ReportInput = {
  readonly plan: Plan
  /** The rest of the facts is the plan's. */
  readonly run: Omit<RunFacts, 'scenario' | 'question' | 'seed' | 'profile'>
  readonly metrics: Metrics
  readonly series: Series
  readonly tallies: readonly ClauseTally[]
  readonly findings: readonly Finding[]
  /** By `seq`: what was kept of the requests that findings and discrepancies name. A `seq` without evidence is listed without. */
  readonly evidence: ReadonlyMap<number, Evidence>
  readonly billing: Billing
  readonly limits: readonly LimitResult[]
  readonly blocks: BlockCounts
  readonly capacity: readonly CapacityResult[]
  readonly thresholds: readonly ThresholdResult[]
  readonly eventLoopDelayMs: LoadFacts['eventLoopDelayMs']
  readonly unrecorded: number
  readonly pushed: LoadFacts['pushed']
  readonly workers: LoadFacts['workers']
}

export function buildReport(input: ReportInput): Report {
  const { plan, limits, capacity, thresholds, tallies, evidence } = input
  const { scenario, question, seed, profile } = plan
  const run: RunFacts = { ...input.run, scenario, question, seed, profile }
  const load = loadFacts(input)
  const calls = callFacts(plan, input.metrics, { complete: run.ended === 'complete', elapsedMs: run.durationMs })
  const discrepancies = input.billing.discrepancies.map(discrepancy => ({
    ...discrepancy,
    examples: reportedExamples(discrepancy.examples, evidence),
  }))
  const billing = { ...input.billing, discrepancies }
  const findings = input.findings.map(finding => reportedFinding(finding, evidence))
  const evident = {
    run,
    load,
    calls,
    billing,
    clauses: tallies,
    findings,
    capacity,
    thresholds,
    planned: plan.thresholds,
  }
  return {
    schema: 1,
    ...reachVerdict(evident),
    run,
    load,
    calls,
    billing,
    limits,
    clauses: tallies,
    findings,
    thresholds,
    capacity,
    plan: planFacts(plan),
    series: input.series,
    comparison: null,
  }
}

function loadFacts({ plan, metrics, blocks, eventLoopDelayMs, unrecorded, pushed, workers }: ReportInput): LoadFacts {
  const { sent, answered, failed, dropped, leftOut, failures, timing } = metrics.all()
  return {
    planned: plan.forecast.requests,
    sent,
    answered,
    failed,
    dropped,
    leftOut,
    failures: Object.fromEntries([...failures].toSorted(([a], [b]) => (a < b ? -1 : 1))),
    blocked: unmeant(plan, blocks),
    latenessMs: percentiles(timing('lateness')),
    eventLoopDelayMs,
    unrecorded,
    pushed,
    workers,
  }
}

/** Where a stage means to have its callers blocked, they may be so in the program's own stages, too. */
function unmeant({ stages }: Plan, blocks: BlockCounts): number {
  const meant = stages.filter(({ beyondFailures }) => beyondFailures).map(({ name }) => name)
  return Object.entries(blocks)
    .filter(([stage]) => !meant.includes(stage) && !(meant.length > 0 && isOwnStage(stage)))
    .reduce((sum, [, count]) => sum + count, 0)
}

function reportedFinding(finding: Finding, evidence: ReadonlyMap<number, Evidence>): ReportedFinding {
  const { clause, section, judge, count, because, examples } = finding
  return {
    clause,
    section,
    says: clauses[clause].says,
    check: judge,
    count,
    because,
    examples: reportedExamples(examples, evidence),
  }
}

/** Requests that can be sent again by hand: of the first example, and no more of it than one has the patience for. */
const mostCommands = 6

function reportedExamples(
  examples: readonly Example[],
  evidence: ReadonlyMap<number, Evidence>,
): readonly ReportedExample[] {
  return examples.map(({ seqs, because }, example) => ({
    seqs,
    because,
    evidence: seqs
      .map(seq => evidence.get(seq))
      .filter(found => found !== undefined)
      .map((found, index) => (example === 0 && index < mostCommands ? found : withoutCommand(found))),
  }))
}

const withoutCommand = (evidence: Evidence): Evidence =>
  evidence.request === null ? evidence : { ...evidence, request: { ...evidence.request, curl: null } }
