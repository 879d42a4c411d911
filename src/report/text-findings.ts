import { duration, plural } from '../metrics/quantity.ts'
import { clip, heading, type Page, paint, table, wrap } from './layout.ts'
import { relevantHeaders } from './relevant-headers.ts'
import type { Evidence, Report, ReportedFinding } from './report.ts'

export function findingsText({ findings }: Report, page: Page): readonly string[] {
  if (findings.length === 0) return []
  return [...heading(page, 'Findings'), ...findings.flatMap(finding => findingText(finding, page))]
}

function findingText(finding: ReportedFinding, page: Page): readonly string[] {
  const { clause, section, says, check, count, because, examples } = finding
  const [example] = examples
  const [evidence] = example?.evidence ?? []
  const seqs = example === undefined || example.seqs.length < 2 ? '' : ` (requests ${example.seqs.join(', ')})`
  const tally = `${plural(count, 'violation')}, judged by ${check}`
  return [
    ...table(page, 2, [[{ text: clause, style: 'red' }, { text: `§${section}` }, { text: tally }]]),
    ...wrap(page, says, 4, 'says '),
    ...wrap(page, because + seqs, 4, 'seen '),
    ...(evidence === undefined ? [] : evidenceText(evidence, `${clause} ${because}`, page)),
  ]
}

function evidenceText(evidence: Evidence, about: string, page: Page): readonly string[] {
  const { seq, caller, call, stage, request, outcome, headers, body, sentMs, endMs } = evidence
  const took = sentMs === null || endMs === null ? '' : ` after ${duration(endMs - sentMs)}`
  const when = sentMs === null ? 'never sent' : `sent at ${duration(sentMs)}`
  const lines = [
    `request ${seq} of ${caller}, call ${call}, stage ${stage}, ${when}`,
    ...(request === null ? [] : [`> ${request.method} ${request.path}`]),
    ...(request?.body ? [`> ${request.body}`] : []),
    `< ${outcome}${took}`,
    ...relevantHeaders(headers, about).map(([name, value]) => `< ${name}: ${value}`),
    ...(body === '' ? [] : [`< ${body}`]),
  ]
  return lines.map(line => `    ${paint(page, 'dim', clip(line, page.columns - 4))}`)
}
