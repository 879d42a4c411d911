import type { ComparedRow, Comparison } from '../../compare/comparison.ts'
import { outcomeStatus } from '../../compare/comparison.ts'
import type { Page, TableCell } from '../../lib/text-layout.ts'
import { heading, paint, table, wrap } from '../../lib/text-layout.ts'
import { verdictStyles } from '../text/thresholds.ts'
import { cellCounts, criteriaWords, isChanged, isTold, outcomeWords, rowWords } from './comparison-words.ts'

/** For a terminal: every number of which something can be told. */
export function renderComparisonText(comparison: Comparison, page: Page): string {
  const { verdict, scenario, because, run, baselines, rows } = comparison
  const lines = [
    ...table(page, 0, [
      [
        { text: outcomeWords[verdict].toUpperCase(), style: verdictStyles[outcomeStatus[verdict]] },
        { text: scenario, style: 'bold' },
      ],
    ]),
    ...because.flatMap(reason => wrap(page, reason, 2, '- ')),
    '',
    ...wrap(page, `run ${run.id} · ${criteriaWords(comparison)}`, 0).map(line => paint(page, 'dim', line)),
    ...baselines
      .flatMap(({ id, startedAt }) => wrap(page, `baseline ${id} from ${startedAt}`, 0))
      .map(line => paint(page, 'dim', line)),
    ...rowsByCell(rows.filter(isTold), page),
    '',
    ...cellCounts(comparison).flatMap(counts => wrap(page, counts, 0)),
  ]
  return `${lines.map(line => line.trimEnd()).join('\n')}\n`
}

/** A section of a report: what has changed, and how many numbers have not. */
export function comparisonText(
  { comparison }: { readonly comparison: Comparison | null },
  page: Page,
): readonly string[] {
  if (comparison === null) return []
  const { verdict, rows } = comparison
  return [
    ...heading(page, 'Against the baseline'),
    ...table(page, 2, [
      [
        { text: outcomeWords[verdict], style: verdictStyles[outcomeStatus[verdict]] },
        { text: criteriaWords(comparison), style: 'dim' },
      ],
    ]),
    ...rowsByCell(rows.filter(isChanged), page),
    ...cellCounts(comparison).flatMap(counts => wrap(page, counts, 2)),
  ]
}

function rowsByCell(rows: readonly ComparedRow[], page: Page): readonly string[] {
  const lines = table(page, 2, rows.map(textRow))
  const cells = rows.map(({ call, stage }) => `${call} in ${stage}`)
  return lines.flatMap((line, index) =>
    cells[index] === cells[index - 1] ? [line] : ['', ...wrap(page, cells[index] ?? '', 2), line],
  )
}

function textRow(row: ComparedRow): readonly TableCell[] {
  const { base, run, effect, range, confidence } = rowWords(row)
  return [
    { text: outcomeWords[row.verdict], style: verdictStyles[outcomeStatus[row.verdict]] },
    { text: row.measure },
    { text: base, align: 'right' },
    { text: '→' },
    { text: run, align: 'right' },
    { text: effect, align: 'right' },
    { text: confidence === '' ? range : `${range}, ${confidence} sure`, style: 'dim' },
  ]
}
