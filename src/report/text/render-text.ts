import { formatDuration, plural } from '../../lib/format.ts'
import { oneLine, type Page, paint, table, wrap } from '../../lib/text-layout.ts'
import { comparisonText } from '../comparison/comparison-text.ts'
import type { Report } from '../report.ts'
import { billingText } from './billing.ts'
import { callsText } from './calls.ts'
import { capacityText } from './capacity.ts'
import { findingsText } from './findings.ts'
import { harnessText } from './harness.ts'
import { limitsText } from './limits.ts'
import { thresholdsText, verdictStyles } from './thresholds.ts'

export type TextOptions = Page & {
  /** Where the rest of the evidence is; null: nowhere. */
  readonly directory: string | null
}

/** For a terminal: the verdict, why, and then what it rests on. */
export function renderText(report: Report, options: TextOptions): string {
  const lines = [
    ...verdictText(report, options),
    ...findingsText(report, options),
    ...comparisonText(report, options),
    ...thresholdsText(report, options),
    ...capacityText(report, options),
    ...callsText(report, options),
    ...billingText(report, options),
    ...limitsText(report, options),
    ...coverageText(report, options),
    ...harnessText(report, options),
    ...(options.directory === null ? [] : ['', `Everything that was kept is in ${oneLine(options.directory)}`]),
  ]
  return `${lines.map(line => line.trimEnd()).join('\n')}\n`
}

function verdictText({ verdict, because, run }: Report, page: Page): readonly string[] {
  const facts = [
    `run ${run.id}`,
    `target ${run.target}`,
    `profile ${run.profile}`,
    `seed ${run.seed}`,
    `${formatDuration(run.durationMs)} from ${run.startedAt}`,
    `turnpike ${run.version}`,
  ]
  return [
    ...table(page, 0, [
      [
        { text: verdict.toUpperCase(), style: verdictStyles[verdict] },
        { text: run.scenario, style: 'bold' },
      ],
    ]),
    ...(run.question === null ? [] : wrap(page, run.question, 0)),
    ...because.flatMap(reason => wrap(page, reason, 2, '- ')),
    '',
    ...wrap(page, facts.join(' · '), 0).map(line => paint(page, 'dim', line)),
  ]
}

function coverageText({ clauses }: Report, page: Page): readonly string[] {
  const of = (verdict: Report['clauses'][number]['verdict']) => clauses.filter(c => c.verdict === verdict).length
  const judged = clauses.reduce((sum, clause) => sum + clause.judged, 0)
  const counts = `${of('pass')} pass, ${of('fail')} fail, ${of('not-exercised')} not exercised`
  const line = `${counts} (${plural(judged, 'judgement')})`
  return ['', ...table(page, 0, [[{ text: 'Clauses', style: 'bold' }, { text: line }]])]
}
