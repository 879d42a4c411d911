import { assertComparable, assertDistinct } from '../compare/comparable.ts'
import { compareRuns } from '../compare/compare-runs.ts'
import { type Comparison, outcomeStatus } from '../compare/comparison.ts'
import { UsageError } from '../lib/usage-error.ts'
import { type ComparisonFormat, comparisonRenderers } from '../report/render/renderers.ts'

import { readComparedRun } from '../storage/recorded-run.ts'
import { writeComparison } from '../storage/run-directory.ts'
import { criteriaOf } from './baselines.ts'
import { exitCodes, text, texts, type Values } from './command.ts'
import { show, stdoutPage } from './show-report.ts'

/** The last of the directories is the run, those before it are its baselines. */
export async function compareCommand(values: Values): Promise<number> {
  const criteria = criteriaOf(values)
  const paths = texts(values, 'run-dirs')
  if (paths.length < 2) {
    throw new UsageError({ where: 'command line', got: 'one run', expected: 'baselines, and behind them the run' })
  }
  const recorded = await Promise.all(paths.map(readComparedRun))
  assertDistinct(recorded)
  const last = recorded.at(-1)
  if (last === undefined) throw new Error('there are two runs at least')
  const baselines = recorded.slice(0, -1)
  for (const baseline of baselines) assertComparable(baseline, last.path, last)
  const comparison = compareRuns(baselines, last, criteria)
  const out = text(values, 'out')
  if (out !== null) await writeComparison(out, comparison)
  showComparison(comparison, values)
  return exitCodes[outcomeStatus[comparison.verdict]]
}

function showComparison(comparison: Comparison, values: Values): void {
  const format = (text(values, 'format') ?? 'text') as ComparisonFormat
  show(comparisonRenderers[format].render(comparison, stdoutPage()), format)
}
