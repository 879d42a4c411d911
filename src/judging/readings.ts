import type { Billing, LimitResult } from '../audits/audit.ts'
import { type AuditSnapshot, type MergedAudits, mergeAudits } from '../audits/audits.ts'
import type { CapacityResult } from '../capacity/result.ts'
import { createFindingLog, type FindingLog, type FindingLogSnapshot } from '../checks/findings.ts'
import { pico } from '../lib/money.ts'
import { createMetrics, type MetricsSnapshot, type RunMetrics } from '../metrics/request-stats.ts'
import type { RunExtent } from '../metrics/timings.ts'
import type { EventLoopDelay } from '../observation/log.ts'
import type { Plan } from '../plan/plan.ts'
import { evaluateThresholds, type ThresholdResult } from '../thresholds.ts'

/** What can be read off a run, as of now. */
export type Readings = {
  readonly metrics: RunMetrics
  readonly docket: Pick<FindingLog, 'tallies' | 'violations'>
  readonly audits: { readonly billing: () => Billing; readonly limits: () => readonly LimitResult[] }
  /** What searches have found; `complete`: whether the run has ended by itself. */
  readonly capacity: (complete: boolean) => readonly CapacityResult[]
  readonly thresholds: () => readonly ThresholdResult[]
}

/** What the judges of some callers have come to, as plain data: a thread can send it to another. */
export type Glance = {
  readonly metrics: MetricsSnapshot
  readonly docket: FindingLogSnapshot
  readonly audits: AuditSnapshot
  /** What searches have found, if the run ends by itself and if not. */
  readonly capacity: { readonly complete: readonly CapacityResult[]; readonly cutShort: readonly CapacityResult[] }
  /** The latest instant that they were told of. */
  readonly latestMs: number
}

export type MergedReadings = Readings & { readonly docket: FindingLog; readonly audits: MergedAudits }

/** Reads what several have come to as if it were one; no caller is of two of them. */
export function readGlances(plan: Plan, glances: readonly Glance[]): MergedReadings {
  const metrics = createMetrics(plan)
  const docket = createFindingLog()
  for (const glance of glances) {
    metrics.merge(glance.metrics)
    docket.merge(glance.docket)
  }
  const parts = glances.map(glance => glance.audits)
  const audits = mergeAudits(parts, plan.callers.names, docket)
  const elapsedMs = Math.max(0, ...glances.map(({ latestMs }) => latestMs))
  const capacity: Readings['capacity'] = complete =>
    glances.flatMap(glance => (complete ? glance.capacity.complete : glance.capacity.cutShort))
  const thresholds = () =>
    thresholdsOf(plan, { metrics, docket, audits, capacity }, { complete: false, elapsedMs }, null)
  return { metrics, docket, audits, capacity, thresholds }
}

export function thresholdsOf(
  plan: Plan,
  { metrics, docket, audits, capacity }: Omit<Readings, 'thresholds'>,
  extent: RunExtent,
  eventLoopDelayMs: EventLoopDelay | null,
): readonly ThresholdResult[] {
  const { discrepancies, claimedCredits, claimedUsd } = audits.billing()
  return evaluateThresholds(plan.thresholds, metrics, {
    violations: docket.violations(),
    discrepancies: discrepancies.reduce((sum, { count }) => sum + count, 0),
    unexpected429: audits.limits().reduce((sum, limit) => sum + limit.unexpected429, 0),
    credits: BigInt(claimedCredits),
    picoUsd: pico(claimedUsd),
    capacity: capacity(extent.complete),
    eventLoopDelayMs,
    ...extent,
  })
}
