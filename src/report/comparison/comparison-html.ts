import type { ComparedRow, Comparison } from '../../compare/comparison.ts'
import { outcomeStatus } from '../../compare/comparison.ts'
import { type Html, html, nothing } from '../html/html.ts'
import { renderPage, wallTime } from '../html/page.ts'
import { tones } from '../html/tables.ts'
import { cellCounts, criteriaWords, isChanged, outcomeWords, rowWords } from './comparison-words.ts'
import { effectChart } from './effect-chart.ts'

/** A page of its own: the verdict, why, and every number. */
export function renderComparisonHtml(comparison: Comparison): string {
  const { verdict, scenario, because, run, baselines } = comparison
  const facts = [run, ...baselines].map(
    ({ id, startedAt, target }, index) =>
      html`<dt>${index === 0 ? 'run' : 'baseline'}</dt><dd><b>${id}</b> of ${wallTime(startedAt)}, against ${target}</dd>`,
  )
  return renderPage(
    `${outcomeWords[verdict]}: ${scenario}`,
    html`<header class="${outcomeStatus[verdict]}"><span class="verdict">${outcomeWords[verdict]}</span><h1>${scenario}</h1>
<ul class="because">${because.map(reason => html`<li>${reason}</li>`)}</ul>
<dl class="pairs small">${facts}</dl></header>
${comparisonSection({ comparison })}
<footer>Turnpike ${run.version} · run ${run.id}</footer>`,
  )
}

/** A section of a report: what has changed first, the rest to unfold. */
export function comparisonSection({ comparison }: { readonly comparison: Comparison | null }): Html {
  if (comparison === null) return nothing
  const { verdict, rows } = comparison
  const changed = rows.filter(isChanged)
  const others = rows.filter(row => !isChanged(row))
  return html`<section id="comparison"><h2>Against the baseline</h2>
<p><b class="${tones[outcomeStatus[verdict]]}">${outcomeWords[verdict]}</b> <span class="quiet">${criteriaWords(comparison)}</span></p>
${effectChart(comparison)}${changed.length === 0 ? nothing : rowTable(changed)}
<ul class="counts quiet small">${cellCounts(comparison).map(line => html`<li>${line}</li>`)}</ul>
${others.length === 0 ? nothing : html`<details class="aside"><summary>What has not changed, and what cannot be told</summary>${rowTable(others)}</details>`}</section>`
}

const rowTable = (rows: readonly ComparedRow[]): Html =>
  html`<div class="wide"><table class="cards"><thead><tr><th></th><th>call</th><th>measure</th><th class="n">baseline</th><th class="n">run</th><th class="n">effect</th><th>with 95 % confidence</th><th class="n">sure</th></tr></thead><tbody>${rows.map(tableRow)}</tbody></table></div>`

function tableRow(row: ComparedRow): Html {
  const { base, run, effect, range, confidence, because } = rowWords(row)
  const tone = isChanged(row) || row.verdict === 'cannot-tell' ? tones[outcomeStatus[row.verdict]] : 'quiet'
  return html`<tr><td class="keep ${tone}">${outcomeWords[row.verdict]}</td><td class="keep">${row.call} <span class="quiet">in ${row.stage}</span></td><td class="keep">${row.measure}</td><td class="n" data-is="from">${base}</td><td class="n" data-is="to">${run}</td><td class="n">${effect}</td><td>${because === '' ? range : because}</td><td class="n">${confidence}</td></tr>`
}
