import { formatChange, formatSigned } from '../../compare/compare-runs.ts'
import type { ChangeVerdict, ComparedRow, Comparison } from '../../compare/comparison.ts'
import { formatExact, formatRatio, NO_VALUE, plural } from '../../lib/format.ts'

export const outcomeWords: Readonly<Record<ChangeVerdict, string>> = {
  improved: 'improved',
  unchanged: 'unchanged',
  regressed: 'regressed',
  'cannot-tell': 'cannot tell',
}

/** What stands in the columns of a row behind its name. */
export function rowWords(row: ComparedRow) {
  const { unit, base, run, effect, confidence, because } = row
  const shown = (value: number | null) => (value === null ? NO_VALUE : formatExact(Number(value.toPrecision(4)), unit))
  return {
    base: shown(base),
    run: shown(run),
    effect: effect === null ? NO_VALUE : formatChange(effect.value, effect.kind),
    range:
      effect === null ? '' : `${formatSigned(effect.low, effect.kind)} … ${formatChange(effect.high, effect.kind)}`,
    // How sure it is that nothing has changed is what the range says.
    confidence:
      confidence === null || !isChanged(row) ? '' : confidence > 0.9995 ? '> 99.9 %' : formatRatio(confidence),
    because,
  }
}

/** By what it was judged, in a line. */
export function criteriaWords({ baselines, criteria: { minimalEffect, noiseFloor } }: Comparison): string {
  return `against ${plural(baselines.length, 'baseline')} · what matters is ${formatRatio(minimalEffect)} · a run varies by ${formatRatio(noiseFloor)} at least`
}

/** `rpc in steady: 12 unchanged, 1 cannot tell`, for each call and stage. */
export function cellCounts({ rows }: Comparison): readonly string[] {
  const cells = [...new Set(rows.map(({ call, stage }) => `${call} in ${stage}`))]
  return cells.map(cell => {
    const ofCell = rows.filter(({ call, stage }) => `${call} in ${stage}` === cell)
    const counts = (['regressed', 'improved', 'unchanged', 'cannot-tell'] as const)
      .map(verdict => ({ verdict, count: ofCell.filter(row => row.verdict === verdict).length }))
      .filter(({ count }) => count > 0)
      .map(({ verdict, count }) => `${count} ${outcomeWords[verdict]}`)
    return `${cell}: ${counts.join(', ')}`
  })
}

export const isChanged = ({ verdict }: ComparedRow): boolean => verdict === 'regressed' || verdict === 'improved'

export const isTold = ({ verdict }: ComparedRow): boolean => verdict !== 'cannot-tell'
