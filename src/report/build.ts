import { clauses } from '../contract/clauses.ts'
import type { Comparison } from '../judge/compare/comparison.ts'
import { extentOf } from '../judge/ended-early.ts'
import { type CountedExample, shownIds } from '../judge/findings/causes.ts'
import type { Finding } from '../judge/findings/findings.ts'
import type { JudgedRun } from '../judge/judge-run.ts'
import { percentilesOf } from '../judge/metrics/histogram.ts'
import { type RequestStats, type RunMetrics, statusCounts } from '../judge/metrics/request-stats.ts'
import { perSecond, type RunExtent, type Selection } from '../judge/metrics/timings.ts'
import { withComparison } from '../judge/verdict.ts'
import { describeLoad } from '../plan/describe-plan.ts'
import { isProbe, isSystemStage, mixOf, type Plan, type StagePlan } from '../plan/plan.ts'
import type { CallFacts, Evidence, PlanFacts, Report, ReportedExample, ReportedFinding } from './document.ts'

/** The evidence of a request, by its id; null: none, and the example lists only its id. */
type EvidenceOf = (id: number) => Evidence | null

/** The report of a run. `comparison`: with its baselines; null: there are none. */
export function buildReport(
  judged: Omit<JudgedRun, 'slices'>,
  comparison: Comparison | null,
  evidenceOf: EvidenceOf,
): Report {
  const { plan, head, ended, durationMs, metrics, billing, findings } = judged
  const { scenario, question, seed, profile } = plan
  const { verdict, reasons } = comparison === null ? judged : withComparison(judged, comparison)
  return {
    schema: 1,
    verdict,
    reasons,
    run: {
      id: head.runId,
      version: head.version,
      target: head.target,
      startedAt: new Date(head.startedAtMs).toISOString(),
      durationMs,
      ended,
      scenario,
      question,
      seed,
      profile,
    },
    load: judged.load,
    calls: callFacts(plan, metrics, extentOf(judged)),
    billing: {
      ...billing,
      discrepancies: billing.discrepancies.map(discrepancy => ({
        ...discrepancy,
        examples: reportedExamples(discrepancy.examples, evidenceOf),
      })),
    },
    limits: judged.limits,
    clauses: judged.clauses,
    findings: findings.map(finding => reportedFinding(finding, evidenceOf)),
    thresholds: judged.thresholds,
    capacity: judged.capacity,
    conversations: judged.conversations,
    plan: planFacts(plan, judged.limits),
    series: judged.series,
    comparison,
  }
}

function reportedFinding(finding: Finding, evidenceOf: EvidenceOf): ReportedFinding {
  const { clause, section, judge, count, message, examples } = finding
  return {
    clause,
    section,
    text: clauses[clause].text,
    judge,
    count,
    message,
    examples: reportedExamples(examples, evidenceOf),
  }
}

/** Requests with a command to send them again, in the first example only. */
const maxCommands = 6

function reportedExamples(examples: readonly CountedExample[], evidenceOf: EvidenceOf): readonly ReportedExample[] {
  return examples.map(({ requestIds, decidedBy, omitted, message, count }, example) => ({
    requestIds,
    decidedBy,
    omitted,
    message,
    count,
    evidence: shownIds({ requestIds, decidedBy })
      .map(evidenceOf)
      .filter(found => found !== null)
      .map((found, index) => (example === 0 && index < maxCommands ? found : withoutCommand(found))),
  }))
}

const withoutCommand = (evidence: Evidence): Evidence =>
  evidence.request === null ? evidence : { ...evidence, request: { ...evidence.request, curl: null } }

/**
 * Each call that was due, in plan order: first over all stages, then by stage. System calls are left out. A probe has no
 * goodput, because its documented response is a refusal, which its clause judges.
 */
function callFacts(plan: Plan, metrics: RunMetrics, extent: RunExtent): readonly CallFacts[] {
  const seen = metrics.cells().filter(cell => !isSystemStage(cell.stage))
  const callOrder = Object.keys(plan.calls)
  const stageOrder = plan.stages.map(stage => stage.name)
  const calls = sortedLike(callOrder, [...new Set(seen.map(cell => cell.call))])
  return calls.flatMap(call => {
    const stages = seen.filter(cell => cell.call === call).map(cell => cell.stage)
    const rows: readonly Selection[] = [null, ...sortedLike(stageOrder, stages)].map(stage => ({ call, stage }))
    return rows
      .map(selection => ({ selection, stats: metrics.select(selection) }))
      .filter(({ stats }) => stats.sent + stats.dropped > 0)
      .map(({ selection, stats }) => facts(call, selection.stage, stats, metrics.activeMs(selection, extent)))
      .map(row => (isProbe(plan.calls[call]) ? { ...row, goodputPerSecond: null, goodRatio: null } : row))
  })
}

function facts(call: string, stage: string | null, stats: RequestStats, activeMs: number | null): CallFacts {
  const due = stats.sent - stats.left + stats.dropped
  return {
    call,
    stage,
    count: stats.sent,
    statuses: statusCounts(stats.statuses),
    failed: stats.failed,
    left: stats.left,
    dropped: stats.dropped,
    latencyMs: percentilesOf(stats.timing('latency')),
    serviceTimeMs: percentilesOf(stats.timing('service-time')),
    ttftMs: percentilesOf(stats.timing('ttft')),
    ttfctMs: percentilesOf(stats.timing('ttfct')),
    tpotMs: percentilesOf(stats.timing('tpot')),
    itlMs: percentilesOf(stats.timing('itl')),
    iclMs: percentilesOf(stats.timing('icl')),
    outputTokens: stats.outputTokens,
    outputTokensPerSecond: stats.respondsWithTokens === 0 ? null : perSecond(stats.outputTokens, activeMs),
    achievedPerSecond: perSecond(stats.answered, activeMs),
    goodputPerSecond: perSecond(stats.good, activeMs),
    goodRatio: due === 0 ? null : stats.good / due,
  }
}

/** In the given order; other values come last, in their own order. */
function sortedLike(order: readonly string[], values: readonly string[]): readonly string[] {
  const rank = (value: string) => (order.includes(value) ? order.indexOf(value) : order.length)
  return values.toSorted((a, b) => rank(a) - rank(b))
}

/** The parts of the plan that the report shows; `plan.json` has all of it. */
function planFacts(plan: Plan, limits: JudgedRun['limits']): PlanFacts {
  const { only, fewerKeys, notOffered, callers, budgetUsd, isBudgetUnlimited, forecast, stages, calls, slo } = plan
  const { requests, durationMs, credits, worstUsd } = forecast
  return {
    callers: { count: callers.names.length, tier: callers.accountTier, shared: callers.shared },
    budgetUsd,
    isBudgetUnlimited: isBudgetUnlimited === true,
    only,
    fewerKeys: fewerKeys ?? null,
    notOffered,
    forecast: { requests, durationMs, credits, worstUsd },
    stages: stages.map((stage, index) => ({
      name: stage.name,
      startMs: stage.startMs,
      durationMs: stage.durationMs,
      callers: stage.callers,
      load: describeLoad(stage),
      isWarmUp: isWarmUp(stage, stages[index + 1], plan),
    })),
    calls: Object.entries(calls).map(([call, { kind }]) => ({ call, kind, slo: { ...slo[call] } })),
    values: [...plan.values.map(value => ({ ...value, differs: null })), ...limitValues(plan, limits)],
  }
}

/**
 * Whether a stage prepares the target for the next one: it is called so, or it ramps up to a constant rate of the same
 * calls. A stage that a threshold names is measured.
 */
function isWarmUp({ name, load }: StagePlan, next: StagePlan | undefined, { thresholds }: Plan): boolean {
  if (next === undefined || thresholds.some(({ stage }) => stage === name)) return false
  if (/\bwarm-?up\b/i.test(name)) return true
  if (load.model !== 'open' || load.shape.kind !== 'ramp' || next.load.model !== 'open') return false
  const isSteady = next.load.shape.kind === 'constant' || next.load.shape.kind === 'poisson'
  const following = mixOf(next).map(([call]) => call)
  const isRising = load.shape.toPerSecond > load.shape.fromPerSecond
  return isSteady && isRising && load.mix.every(([call]) => following.includes(call))
}

/** Each limit that the plan used: as the target published it, else as its responses stated it, else as planned. */
function limitValues({ limits: { scopes } }: Plan, limits: JudgedRun['limits']): PlanFacts['values'] {
  return scopes.flatMap(({ scope, profile, target, from }) => {
    const seen = limits.find(({ names, limit }) => names.includes(scope) && limit !== null)?.limit ?? null
    const stated = target ?? (seen === profile ? null : seen)
    const limit = stated ?? profile
    if (limit === null) return []
    const differs = stated !== null && profile !== null && stated !== profile ? String(profile) : null
    const source = stated === null ? (from ?? 'default') : 'target'
    return { name: `limit ${scope}`, text: `${limit} per minute`, source, differs }
  })
}
