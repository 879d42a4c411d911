import { count, duration, NO_VALUE, plural, ratio, threeDigits } from '../../metrics/quantity.ts'
import { comparisonSection } from '../comparison/comparison-html.ts'
import type { Report, Status } from '../report.ts'
import { capacitySection } from './capacity.ts'
import { findingsSection } from './findings.ts'
import { coverageSection, harnessSection } from './harness.ts'
import { type Html, html, nothing } from './html.ts'
import { latencySection, streamSection } from './latency.ts'
import { limitsSection } from './limits.ts'
import { loadSection } from './load.ts'
import { moneySection } from './money.ts'
import { renderPage } from './page.ts'
import { callsSection, planSection, thresholdsSection } from './tables.ts'

/** One file that opens anywhere, without a network and without a script: the verdict, why, and what it rests on. */
export function renderHtml(report: Report): string {
  const { series, run, verdict, calls } = report
  return renderPage(
    `${verdict}: ${run.scenario}`,
    html`${verdictHeader(report)}
${tiles(report)}
${findingsSection(report)}
${comparisonSection(report)}
${thresholdsSection(report)}
${capacitySection(report)}
${series === null ? nothing : loadSection(series)}
${callsSection(report)}
${series === null ? nothing : latencySection(series, calls)}
${series === null ? nothing : streamSection(series)}
${moneySection(report)}
${limitsSection(report)}
${planSection(report)}
${coverageSection(report)}
${harnessSection(report)}
<footer>Turnpike ${run.version} · run ${run.id}</footer>`,
  )
}

const endings: Readonly<Record<Report['run']['ended'], string>> = {
  complete: 'complete',
  interrupted: 'interrupted',
  'target-unreachable': 'target unreachable',
  'keys-refused': 'keys refused',
  'budget-reached': 'budget reached',
  'worker-lost': 'worker lost',
  'cut-short': 'cut short',
}

function verdictHeader({ verdict, because, run }: Report): Html {
  const facts = [
    ['target', run.target],
    ['profile', run.profile],
    ['seed', String(run.seed)],
    ['started', run.startedAt.replace('T', ' ').replace(/\.\d+Z$/, ' UTC')],
  ] as const
  return html`<header class="${verdict}"><span class="verdict">${verdict}</span><h1>${run.scenario}</h1>
${run.question === null ? nothing : html`<p class="question">${run.question}</p>`}
<ul class="because">${because.map(reason => html`<li>${reason}</li>`)}</ul>
<div class="facts">${facts.map(([name, text]) => html`<span>${name} <b>${text}</b></span>`)}</div></header>`
}

type Tile = readonly [name: string, value: string, note: string, tone: '' | 'bad' | 'doubtful']

function tiles(report: Report): Html {
  const { load, clauses, calls, billing, thresholds, findings, run } = report
  const all = calls.filter(({ stage, goodRatio }) => stage === null && goodRatio !== null)
  const due = all.reduce((sum, { count: sent, dropped }) => sum + sent + dropped, 0)
  const good = all.reduce((sum, { goodRatio, count: sent, dropped }) => sum + (goodRatio ?? 0) * (sent + dropped), 0)
  const kept = clauses.filter(({ verdict }) => verdict === 'pass').length
  const exercised = clauses.filter(({ verdict }) => verdict !== 'not-exercised').length
  const of = (status: Status) => thresholds.filter(({ verdict }) => verdict === status).length
  const violations = findings.reduce((sum, finding) => sum + finding.count, 0)
  const sorts = billing.discrepancies.length
  const shown: readonly Tile[] = [
    [
      'answers',
      count(load.answered),
      `${count(load.failed)} failed, ${count(load.dropped)} dropped`,
      load.answered === 0 ? 'bad' : '',
    ],
    ['good answers', due === 0 ? NO_VALUE : ratio(good / due), 'of all that was due', ''],
    ['clauses kept', `${kept} of ${exercised}`, plural(violations, 'violation'), kept < exercised ? 'bad' : ''],
    [
      'thresholds held',
      `${of('pass')} of ${thresholds.length}`,
      'of this scenario',
      of('fail') > 0 ? 'bad' : of('inconclusive') > 0 ? 'doubtful' : '',
    ],
    [
      'claimed',
      `$${threeDigits(Number(billing.claimedUsd))}`,
      sorts === 0 ? 'no discrepancy' : plural(sorts, 'sort of discrepancy', 'sorts of discrepancy'),
      sorts > 0 ? 'bad' : '',
    ],
    ['took', duration(run.durationMs), endings[run.ended], run.ended === 'complete' ? '' : 'doubtful'],
  ]
  return html`<dl class="tiles">${shown.map(([name, value, note, tone]) => html`<div class="tile"><dt>${name}</dt><dd class="${tone}">${value}</dd><dd class="note">${note}</dd></div>`)}</dl>`
}
