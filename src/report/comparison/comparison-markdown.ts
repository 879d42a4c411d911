import type { ComparedRow, Comparison } from '../../compare/comparison.ts'
import { outcomeStatus } from '../../compare/comparison.ts'
import { code, details, markdownTable, plainText, signs } from '../markdown.ts'
import { cellCounts, criteriaWords, isChanged, outcomeWords, rowWords } from './comparison-words.ts'

type Lines = readonly string[]

/** More are in comparison.json. */
const mostRows = 300

/** For the summary of a CI step and for pasting. */
export function renderComparisonMarkdown(comparison: Comparison): string {
  const { verdict, scenario, because, run, baselines } = comparison
  const lines = [
    `## ${signs[outcomeStatus[verdict]]} ${outcomeWords[verdict]}: ${plainText(scenario)}`,
    '',
    ...because.map(reason => `- ${plainText(reason)}`),
    '',
    `run ${code(run.id)} · baselines ${baselines.map(({ id }) => code(id)).join(' ')} · ${plainText(criteriaWords(comparison))}`,
    '',
    ...tables(comparison),
  ]
  return `${lines.join('\n')}\n`
}

/** A section of a report. */
export function comparisonMarkdown({ comparison }: { readonly comparison: Comparison | null }): Lines {
  if (comparison === null) return []
  const verdict = `${signs[outcomeStatus[comparison.verdict]]} ${outcomeWords[comparison.verdict]}`
  return [
    '### Against the baseline',
    '',
    `${verdict}, ${plainText(criteriaWords(comparison))}`,
    '',
    ...tables(comparison),
  ]
}

function tables(comparison: Comparison): Lines {
  const changed = comparison.rows.filter(isChanged)
  const others = comparison.rows.filter(row => !isChanged(row))
  const counts = cellCounts(comparison).map(line => `- ${plainText(line)}`)
  return [
    ...(changed.length === 0 ? [] : [...rowTable(changed), '']),
    ...counts,
    ...(others.length === 0 ? [] : ['', ...details('What has not changed, and what cannot be told', rowTable(others))]),
  ]
}

const titles = ['', 'call', 'measure', 'baseline', 'run', 'effect', 'with 95 % confidence', 'sure']

function rowTable(rows: readonly ComparedRow[]): Lines {
  const cells = rows.slice(0, mostRows).map(row => {
    const { base, run, effect, range, confidence, because } = rowWords(row)
    const name = `${code(row.call)} in ${code(row.stage)}`
    const reach = because === '' ? range : because
    return [
      `${signs[outcomeStatus[row.verdict]]} ${outcomeWords[row.verdict]}`,
      name,
      ...[row.measure, base, run, effect, reach, confidence].map(plainText),
    ]
  })
  const sides = titles.map((_, index) => (index > 2 && index < 6 ? 'right' : 'left'))
  return markdownTable(titles, sides, cells)
}
