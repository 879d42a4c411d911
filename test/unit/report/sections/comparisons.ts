import { compareRuns } from '../../../../src/judge/compare/compare-runs.ts'
import { type Comparison, defaultCriteria } from '../../../../src/judge/compare/comparison.ts'
import { simulatedRun } from '../../judge/compare/simulated-run.ts'

const baselines = [1, 2, 3].map(seed => simulatedRun({ seed }))

export const regressed = compareRuns(baselines, simulatedRun({ seed: 9, factor: 1.15 }), defaultCriteria)
export const unchanged = compareRuns(baselines, simulatedRun({ seed: 9 }), defaultCriteria)
export const improved = compareRuns(baselines, simulatedRun({ seed: 9, factor: 0.8 }), defaultCriteria)
export const inconclusive = compareRuns(baselines, simulatedRun({ seed: 9, isComplete: false }), defaultCriteria)

/** Hostile text in every place that a target, a scenario or a file can fill. */
export const hostileComparison = (hostile: string): Comparison => ({
  ...regressed,
  reasons: [hostile],
  scenario: hostile,
  run: { ...regressed.run, id: hostile, target: hostile },
  baselines: regressed.baselines.map(each => ({ ...each, id: hostile, target: hostile, startedAt: hostile })),
  rows: regressed.rows.map(row => ({ ...row, call: hostile, stage: hostile, reason: hostile })),
})
