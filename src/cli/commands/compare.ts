import { compareRecorded } from '../../judge/compare/comparable.ts'
import { type Comparison, type Criteria, defaultCriteria, outcomeStatus } from '../../judge/compare/comparison.ts'
import { UsageError } from '../../lib/usage-error.ts'
import { type ComparisonFormat, comparisonRenderers } from '../../report/render/renderers.ts'
import { readComparedRun } from '../../storage/recorded-run.ts'
import { assertWritableDirectory, writeComparison } from '../../storage/run-directory.ts'
import { exitCodes, listFlag, text, type Values } from '../flags.ts'
import { print, showUnwritten, stdoutLayout } from '../print.ts'
import { hiddenIn } from '../secrets.ts'

export const criteriaOf = (values: Values): Criteria => ({
  minEffect: shareFlag(values, 'min-effect', defaultCriteria.minEffect, 0.001),
  noiseFloor: shareFlag(values, 'noise-floor', defaultCriteria.noiseFloor, 0),
})

const maxShare = 0.5

function shareFlag(values: Values, flag: string, fallback: number, min: number): number {
  const written = text(values, flag)
  if (written === null) return fallback
  const [, percent] = /^(\d+(?:\.\d+)?) ?%$/.exec(written) ?? []
  const value = Number(percent) / 100
  if (value >= min && value <= maxShare) return value
  const expected = `a share from ${min * 100}% to ${maxShare * 100}%, such as ${fallback * 100}%`
  const hint = /^\d+(\.\d+)?$/.test(written) ? { hint: `did you mean "${written}%"?` } : {}
  throw new UsageError({ where: `--${flag}`, got: JSON.stringify(written), expected, ...hint })
}

/** Compares the last run directory with the baselines before it. */
export async function compareCommand(values: Values): Promise<number> {
  const criteria = criteriaOf(values)
  const paths = listFlag(values, 'run-dirs')
  if (paths.length < 2) {
    throw new UsageError({
      where: 'turnpike compare',
      got: 'one run',
      expected: 'at least one baseline, and after it the run',
    })
  }
  const out = text(values, 'out')
  if (out !== null) assertWritableDirectory(out)
  const comparison = compareRecorded(await Promise.all(paths.map(readComparedRun)), criteria)
  showComparison(comparison, values)
  if (out !== null) showUnwritten(await writeComparison(out, hiddenIn(comparison)))
  return exitCodes[outcomeStatus[comparison.verdict]]
}

function showComparison(comparison: Comparison, values: Values): void {
  const format = (text(values, 'format') ?? 'text') as ComparisonFormat
  print(comparisonRenderers[format].render(comparison, stdoutLayout()), format)
}
