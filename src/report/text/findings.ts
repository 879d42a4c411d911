import { plural } from '../../lib/format.ts'
import { heading, type Page, table, wrap } from '../../lib/text-layout.ts'
import type { Report, ReportedFinding } from '../report.ts'
import { evidenceText } from './evidence.ts'

export function findingsText({ findings }: Report, page: Page): readonly string[] {
  if (findings.length === 0) return []
  return [...heading(page, 'Findings'), ...findings.flatMap(finding => findingText(finding, page))]
}

function findingText(finding: ReportedFinding, page: Page): readonly string[] {
  const { clause, section, says, check, count, because, examples } = finding
  const [example] = examples
  const seqs = example === undefined || example.seqs.length < 2 ? '' : ` (requests ${example.seqs.join(', ')})`
  const tally = `${plural(count, 'violation')}, judged by ${check}`
  return [
    ...table(page, 2, [[{ text: clause, style: 'red' }, { text: `§${section}` }, { text: tally }]]),
    ...wrap(page, says, 4, 'says '),
    ...wrap(page, because + seqs, 4, 'seen '),
    ...evidenceText(example, `${clause} ${because}`, page),
  ]
}
