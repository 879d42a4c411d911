import type { ComparedRun } from '../compare/compare-runs.ts'
import { type Difference, type Intent, planDifferences } from '../compare/plan-differences.ts'
import { UsageError } from '../lib/usage-error.ts'
import { cellsPerOctave, type Slices } from '../metrics/slices.ts'
import type { Report } from './document.ts'
import { hasReport, openRecordedRun, readIntent, readReport, readSlices } from './run-directory.ts'

/** A run that was read from its directory, to be compared. */
export type RecordedComparedRun = { readonly path: string; readonly intent: Intent; readonly run: ComparedRun }

/**
 * What a run directory says for comparison. A run that was killed has neither report nor slices: it did not end by itself,
 * and nothing can be told of it. Throws a UsageError where there is no run, or one of a version that kept no slices.
 */
export async function readComparedRun(path: string): Promise<RecordedComparedRun> {
  const intent = readIntent(path)
  if (hasReport(path)) return { path, intent, run: comparedRun(readReport(path), intent, readSlices(path)) }
  const { plan, head } = await openRecordedRun(path)
  const { runId: id, target, version, startedAtMs } = head
  const facts = { id, target, version, seed: plan.seed, startedAt: new Date(startedAtMs).toISOString() }
  const slices: Slices = { schema: 1, cellsPerOctave, calls: [] }
  return { path, intent, run: { facts, plan, slices, isComplete: false, verdict: 'inconclusive' } }
}

export function comparedRun({ run, verdict }: Report, { plan }: Intent, slices: Slices): ComparedRun {
  const { id, startedAt, target, version, seed } = run
  return {
    facts: { id, startedAt, target, version, seed },
    plan,
    slices,
    isComplete: run.ended === 'complete',
    verdict,
  }
}

const mostDifferences = 20

/** Throws a UsageError where runs were to do different things, and says in what they differ. */
export function assertComparable(baseline: RecordedComparedRun, path: string, intent: Intent): void {
  const found = planDifferences(baseline.intent, intent)
  if (found.length === 0) return
  const shown = found.slice(0, mostDifferences).map(mistakeOf)
  const left = found.length - shown.length
  const rest = { where: path, got: `${left} more differences`, expected: `what the baseline ${baseline.path} did` }
  throw new UsageError(left === 0 ? shown : [...shown, rest])

  function mistakeOf({ path: at, base, run }: Difference) {
    return {
      where: `${path}: ${at}`,
      got: clipped(run),
      expected: `${clipped(base)}, as in the baseline ${baseline.path}`,
    }
  }
}

const longestValue = 200
const clipped = (value: string): string => (value.length > longestValue ? `${value.slice(0, longestValue)}…` : value)

/** Throws a UsageError where a run is given twice: against itself nothing ever changes, and nothing varies. */
export function assertDistinct(runs: readonly RecordedComparedRun[]): void {
  runs.forEach(({ path, run }, index) => {
    const twin = runs.slice(0, index).find(other => other.run.facts.id === run.facts.id)
    if (twin === undefined) return
    throw new UsageError({ where: path, got: `run ${run.facts.id}, as in ${twin.path}`, expected: 'another run' })
  })
}
