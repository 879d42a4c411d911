import { documentedContract } from '../../../src/contract/documented.ts'
import { createFindingLog } from '../../../src/judge/findings/findings.ts'
import { type JudgedRun, loadTotals } from '../../../src/judge/judge-run.ts'
import { createMetrics } from '../../../src/judge/metrics/request-stats.ts'
import { createSeries } from '../../../src/judge/metrics/series.ts'
import { createSlices } from '../../../src/judge/metrics/slices.ts'
import { createProofLog } from '../../../src/judge/proof.ts'
import { reachVerdict } from '../../../src/judge/verdict.ts'
import type { Observation } from '../../../src/observation/observation.ts'
import { aBilling, passingReport } from '../report/fixtures.ts'
import { aPlan } from './metrics/fixtures.ts'

/** A finding log of one clause that passed, and of another that failed `violations` times. */
export const findingLogOf = (violations: number) => {
  const findingLog = createFindingLog()
  findingLog.reporterFor('headers').pass('header.date')
  for (let i = 0; i < violations; i++)
    findingLog.reporterFor('rpc-credits').fail('rpc.credits.amount', 'got 1, expected 2', [i])
  return findingLog
}

/** A run of these observations that ended by itself after 10 s. `changes` overrides the results of judges. */
export function judgedRunOf(observations: readonly Observation[], changes: Partial<JudgedRun> = {}): JudgedRun {
  const plan = changes.plan ?? aPlan()
  const metrics = createMetrics(plan)
  const series = createSeries(plan)
  const proofLog = createProofLog(plan, documentedContract)
  for (const observation of observations) {
    proofLog.add(observation, true)
    metrics.add(observation)
    series.add(observation)
  }
  const { id: runId, version, target, startedAt } = passingReport.run
  const run = {
    plan,
    head: { turnpike: 2, runId, version, target, startedAtMs: Date.parse(startedAt) },
    ended: 'complete',
    durationMs: 10_000,
    metrics,
    load: loadTotals(plan, metrics, {}, [], null),
    series: series.series(),
    slices: createSlices(plan, documentedContract).slices(),
    clauses: findingLogOf(0).tallies(),
    findings: [],
    billing: aBilling,
    limits: [],
    capacity: [],
    conversations: [],
    thresholds: [],
    proofs: proofLog.proofs(),
    openPayments: [],
    sharedAccounts: [],
    citedObservations: new Map(),
    ...changes,
  } as const
  return { ...run, ...reachVerdict(run) }
}
