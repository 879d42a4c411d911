import { createFindingLog } from '../../../src/checks/findings.ts'
import { createMetrics } from '../../../src/metrics/metrics.ts'
import { createSeries } from '../../../src/metrics/series.ts'
import type { Observation } from '../../../src/observation/observation.ts'
import { buildReport, type ReportInput } from '../../../src/report/build-report.ts'
import { aPlan } from '../metrics/fixtures.ts'
import { passingReport } from './fixtures.ts'

export const runFacts = { ...passingReport.run, durationMs: 10_000 }

/** A docket of one clause kept, and of another broken as often as said. */
export const docketOf = (violations: number) => {
  const docket = createFindingLog()
  docket.reporterFor('headers').kept('header.date')
  for (let i = 0; i < violations; i++)
    docket.reporterFor('rpc-credits').broken('rpc.credits.amount', 'got 1, expected 2', [i])
  return docket
}

export const reportOf = (observations: readonly Observation[], changes: Partial<ReportInput> = {}) => {
  const plan = changes.plan ?? aPlan()
  const metrics = createMetrics(plan)
  for (const observation of observations) metrics.add(observation)
  const docket = docketOf(0)
  const series = createSeries(plan)
  for (const observation of observations) series.add(observation)
  return buildReport({
    plan,
    run: runFacts,
    metrics,
    series: series.series(),
    tallies: docket.tallies(),
    findings: docket.findings(),
    evidence: new Map(),
    billing: passingReport.billing,
    limits: [],
    blocks: {},
    capacity: [],
    thresholds: [],
    eventLoopDelayMs: null,
    unrecorded: 0,
    pushed: null,
    workers: [],
    ...changes,
  })
}
