import { comparisonSection } from '../comparison/comparison-html.ts'
import type { Report } from '../document.ts'
import { capacitySection } from './capacity.ts'
import { findingsSection } from './findings.ts'
import { coverageSection, harnessSection } from './harness.ts'
import { type Html, html, nothing } from './html.ts'
import { latencySection, streamSection } from './latency.ts'
import { limitsSection } from './limits.ts'
import { loadSection } from './load.ts'
import { moneySection } from './money.ts'
import { renderPage, wallTime } from './page.ts'
import { callsSection, planSection, thresholdsSection } from './tables.ts'
import { tiles } from './tiles.ts'

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

/** More of them are there to unfold. */
const mostReasons = 8

function verdictHeader({ verdict, because, run }: Report): Html {
  const facts = [
    ['target', run.target],
    ['profile', run.profile],
    ['seed', String(run.seed)],
    ['started', wallTime(run.startedAt)],
  ] as const
  const rest = because.slice(mostReasons)
  return html`<header class="${verdict}"><span class="verdict">${verdict}</span><h1>${run.scenario}</h1>
${run.question === null ? nothing : html`<p class="question">${run.question}</p>`}
${reasonList(because.slice(0, mostReasons))}${rest.length === 0 ? nothing : html`<details><summary>${rest.length} more</summary>${reasonList(rest)}</details>`}
<div class="facts">${facts.map(([name, text]) => html`<span>${name} <b>${text}</b></span>`)}</div></header>`
}

const reasonList = (because: readonly string[]): Html =>
  html`<ul class="because">${because.map(reason => html`<li>${reason}</li>`)}</ul>`
