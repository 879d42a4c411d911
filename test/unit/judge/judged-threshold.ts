import { createMetrics } from '../../../src/judge/metrics/request-stats.ts'
import { evaluateThresholds, type RunTotals } from '../../../src/judge/thresholds.ts'
import type { Observation } from '../../../src/observation/observation.ts'
import type { Measure, Threshold, Timing } from '../../../src/plan/plan.ts'
import { aPlan, aStage } from './metrics/fixtures.ts'

export const totals: RunTotals = {
  violations: 0,
  discrepancies: 0,
  unexpected429: 0,
  undecided: {},
  basis: {},
  blocks: { block: 3, after: 1 },
  credits: 0n,
  picoUsd: 0n,
  capacity: [],
  unrecordedStallMs: null,
  complete: true,
  elapsedMs: 10_000,
}

export const judged = (
  threshold: Threshold,
  observations: readonly Observation[],
  changes: Partial<RunTotals> = {},
) => {
  const metrics = createMetrics(aPlan({ stages: [aStage('steady', 10_000), aStage('(opening)', 1000)] }))
  for (const observation of observations) metrics.add(observation)
  const [result] = evaluateThresholds([threshold], metrics, { ...totals, ...changes })
  if (result === undefined) throw new Error('a threshold without a result')
  return result
}

export const times = (n: number, o: Observation) => Array.from({ length: n }, () => o)
export const p = (percent: number, timing: Timing): Measure => ({
  kind: 'timing',
  timing,
  of: { kind: 'percentile', percent },
})
export const count = (
  kind: 'count' | 'ratio' | 'per-second',
  of: 'sent' | 'answered' | 'good' | 'failed' | 'dropped',
): Measure => ({
  kind,
  count: { kind: of },
})
