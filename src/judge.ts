import { type Audits, createAudits } from './audits/all-audits.ts'
import { createChecks } from './checks/all-checks.ts'
import { createDocket, type Docket } from './checks/docket.ts'
import type { Contract } from './contract/contract.ts'
import { evidenceOf } from './evidence.ts'
import { inBatches } from './lib/in-batches.ts'
import { pico } from './lib/money.ts'
import { isOwnStage } from './metrics/active-time.ts'
import { type Capacity, createCapacity } from './metrics/capacity.ts'
import { createMetrics, type Metrics } from './metrics/metrics.ts'
import { createSeries } from './metrics/series.ts'
import { createSlices, type Slices } from './metrics/slices.ts'
import { judgeThresholds, type ThresholdResult } from './metrics/thresholds.ts'
import type { LogEnd, LogHead } from './observation/log.ts'
import type { Observation, Sink } from './observation/observation.ts'
import type { Plan } from './plan/plan.ts'
import { buildReport } from './report/build-report.ts'
import type { Evidence, Report } from './report/report.ts'

/** The judging half of a run: everything that reads observations, and nothing that makes them. */
export type Judgement = {
  /** Takes an observation, which may be judged a little later, together with others. */
  readonly add: Sink
  /** Judges what waits. To be called by whoever keeps one of the parts below, before it is read. */
  readonly catchUp: () => void
  /** As of now, for whoever watches: each has caught up when it is asked for. */
  readonly metrics: Metrics
  readonly docket: Pick<Docket, 'tallies' | 'violations' | 'names'>
  readonly audits: Pick<Audits, 'billing' | 'limits'>
  /** What searches are to try, and what they have found. */
  readonly capacity: Capacity
  readonly thresholds: () => readonly ThresholdResult[]
  /** What other runs can be compared with. */
  readonly slices: () => Slices
  /**
   * The verdict. `recall` gives the observations of the record again: of those that findings name, only what a check
   * broke on is still at hand. To be called once. A run without an end was cut short.
   */
  readonly conclude: (end: LogEnd | null, recall: () => AsyncIterable<Observation>) => Promise<Report>
}

/** The program's own call, by which each caller states its balance and its limits before and after the load. */
export const statementCall = '(statement)'
export const ownCalls = { [statementCall]: { kind: 'rate-limits' } } as const

/**
 * Judging takes more code than fits into the nearest caches, and so does sending: by turns, each pushes the other out.
 * Together, so many observations take half the time that they take one by one.
 */
const judgedTogether = 32

export function createJudgement(plan: Plan, contract: Contract, head: LogHead): Judgement {
  const docket = createDocket()
  const checks = createChecks(contract, docket)
  const audits = createAudits({ contract, shared: plan.callers.shared, startedAtMs: head.startedAtMs }, docket)
  const metrics = createMetrics(plan)
  const series = createSeries(plan, audits.billing)
  const slices = createSlices(plan, contract)
  const capacity = createCapacity(plan, contract)
  const kept = new Map<number, Observation>()
  let latestMs = 0
  const batch = inBatches(judgedTogether, judge)
  const caughtUp = <Part>(part: Part): Part => {
    batch.flush()
    return part
  }

  return {
    add: observation => {
      batch.add(observation)
      // The load waits for the statements that open a run, and so for what is made of them.
      if (isOwnStage(observation.stage)) batch.flush()
    },
    catchUp: batch.flush,
    get metrics() {
      return caughtUp(metrics)
    },
    get docket() {
      return caughtUp(docket)
    },
    get capacity() {
      return caughtUp(capacity)
    },
    get audits() {
      return caughtUp(audits)
    },
    thresholds: () => caughtUp(thresholds)(false, latestMs),
    slices: () => caughtUp(slices).slices(),
    conclude: async (end, recall) => {
      batch.flush()
      audits.conclude(end !== null)
      const durationMs = Math.round(end?.durationMs ?? latestMs)
      const findings = docket.findings()
      const billing = audits.billing()
      const examples = [...findings, ...billing.discrepancies].flatMap(finding => finding.examples)
      const wanted = new Set(examples.flatMap(example => example.seqs))
      await recallMissing(wanted, recall)
      return buildReport({
        plan,
        run: {
          id: head.runId,
          version: head.version,
          target: head.target,
          startedAt: new Date(head.startedAtMs).toISOString(),
          durationMs,
          ended: end?.ended ?? 'cut-short',
        },
        metrics,
        series: series.series(),
        tallies: docket.tallies(),
        findings,
        evidence: new Map([...wanted].flatMap(seq => evidence(seq))),
        billing,
        limits: audits.limits(),
        blocks: audits.blocks(),
        capacity: capacity.results(end?.ended === 'complete'),
        thresholds: thresholds(end?.ended === 'complete', durationMs),
        eventLoopDelayMs: end?.eventLoopDelayMs ?? null,
        unrecorded: end?.unrecorded ?? 0,
        pushed: end?.pushed ?? null,
      })
    },
  }

  function judge(observation: Observation): void {
    checks(observation)
    series.add(observation)
    audits.add(observation)
    metrics.add(observation)
    slices.add(observation)
    capacity.add(observation)
    latestMs = Math.max(latestMs, observation.endMs ?? observation.dueMs)
    if (docket.names(observation.seq)) kept.set(observation.seq, observation)
  }

  function thresholds(complete: boolean, elapsedMs: number): readonly ThresholdResult[] {
    const { discrepancies, claimedCredits, claimedUsd } = audits.billing()
    return judgeThresholds(plan.thresholds, metrics, {
      violations: docket.violations(),
      discrepancies: discrepancies.reduce((sum, { count }) => sum + count, 0),
      unexpected429: audits.limits().reduce((sum, limit) => sum + limit.unexpected429, 0),
      credits: BigInt(claimedCredits),
      picoUsd: pico(claimedUsd),
      capacity: capacity.results(complete),
      complete,
      elapsedMs,
    })
  }

  async function recallMissing(wanted: ReadonlySet<number>, recall: () => AsyncIterable<Observation>): Promise<void> {
    const missing = new Set([...wanted].filter(seq => !kept.has(seq)))
    if (missing.size === 0) return
    for await (const observation of recall()) {
      if (missing.delete(observation.seq)) kept.set(observation.seq, observation)
      if (missing.size === 0) return
    }
  }

  function evidence(seq: number): readonly (readonly [number, Evidence])[] {
    const observation = kept.get(seq)
    if (observation === undefined) return []
    const office = { contract, bounds: plan.bounds, seed: plan.seed, runId: head.runId }
    return [[seq, evidenceOf(observation, { ...plan.calls, ...ownCalls }, office, head.target)]]
  }
}
