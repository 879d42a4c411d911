import type { Slices } from '../metrics/slices.ts'
import type { Status } from '../metrics/thresholds.ts'
import type { Plan } from '../plan/plan.ts'
import type { ComparedFacts, Comparison, Criteria } from './comparison.ts'
import { concludeComparison } from './conclude-comparison.ts'
import { type ComparedCell, doubtOf } from './doubts.ts'
import { judgeRows, type TestedRow } from './judge-rows.ts'
import { measuresOf } from './measures.ts'
import { testMeasure } from './test-measure.ts'

/** What is known of a run that is compared. */
export type ComparedRun = {
  readonly facts: ComparedFacts
  readonly plan: Plan
  readonly slices: Slices
  /** Whether it ended by itself. */
  readonly isComplete: boolean
  readonly verdict: Status
}

/**
 * Compares a run with others of the same plan. A baseline that proves nothing itself is left out, as long as there is one
 * that does.
 */
export function compareRuns(baselines: readonly ComparedRun[], run: ComparedRun, criteria: Criteria): Comparison {
  const fit = baselines.filter(({ isComplete, verdict }) => isComplete && verdict !== 'inconclusive')
  const used = fit.length > 0 ? fit : baselines
  const rows = judgeRows(testRows(used, run, criteria))
  const sets = { used: used.length, leftOut: baselines.length - used.length }
  return {
    schema: 1,
    ...concludeComparison(rows, criteria, sets, run.isComplete),
    scenario: run.plan.scenario,
    run: run.facts,
    baselines: used.map(({ facts }) => facts),
    criteria,
    rows,
  }
}

/** Each call in each stage in which it was due anywhere, in the order of the plan. */
function testRows(baselines: readonly ComparedRun[], run: ComparedRun, criteria: Criteria): readonly TestedRow[] {
  const { stages, calls } = run.plan
  return stages.flatMap(({ name: stage }) =>
    Object.entries(calls).flatMap(([call, { kind }]) => {
      const ofRun = cellOf(run, call, stage)
      const ofBaselines = baselines.map(baseline => cellOf(baseline, call, stage))
      const allSlices = ofBaselines.map(({ slices }) => slices)
      return measuresOf(kind === 'probe').flatMap(measure => {
        const doubt = (baseMs: number) =>
          doubtOf(measure, ofRun, ofBaselines, { baseMs, minimalEffect: criteria.minimalEffect })
        const tested = testMeasure(measure, ofRun.slices, allSlices, criteria, doubt)
        return tested === null ? [] : [{ call, stage, measure, tested }]
      })
    }),
  )
}

function cellOf({ slices, isComplete, verdict }: ComparedRun, call: string, stage: string): ComparedCell {
  const ofStage = slices.calls.filter(cell => cell.stage === stage)
  const dropped = ofStage.flatMap(cell => cell.slices).reduce((sum, slice) => sum + slice.dropped, 0)
  return { slices: ofStage.find(cell => cell.call === call)?.slices ?? [], dropped, isComplete, verdict }
}
