import { count, formatDuration, formatRatio, NO_VALUE, plural, threeDigits } from '../lib/format.ts'
import { digestSource, styleSource } from '../report/render/html.ts'
import { css } from '../report/render/html-style.ts'
import { type Html, html, nothing, styleSheet } from '../report/render/markup.ts'
import type { IndexedRun, RunList } from '../storage/run-index.ts'

/** What a reader selects of the runs. */
export type RunFilter = {
  readonly scenario: string | null
  readonly verdict: string | null
  /** From 1. */
  readonly page: number
}

const runsPerPage = 100
const maxTrends = 8
const maxPoints = 60

/** Besides the style of all pages. */
const historyStyle = `
h2 + form, form.filter { display: flex; flex-wrap: wrap; gap: 8px 14px; align-items: end; }
label { font-size: 13px; color: var(--quiet); } select, button { font: inherit; font-size: 14px; min-height: 36px; padding: 4px 12px;
  border-radius: 8px; border: 1px solid var(--line); background: var(--card); color: var(--text); max-width: 100%; }
button { cursor: pointer; border-color: var(--blue); color: var(--blue); }
input[type=checkbox] { width: 20px; height: 20px; margin: 0; accent-color: var(--blue); }
:is(a, button, select, input, summary):focus-visible { outline: 3px solid var(--blue); outline-offset: 2px; }
.spark { display: block; width: 150px; height: 28px; overflow: visible; }
.actions { display: flex; flex-wrap: wrap; gap: 10px 18px; align-items: center; }
.dots li { width: 9px; height: 9px; border-radius: 3px; } .dots li.doubtful { background: var(--amber); }
`

/** No script: a page of forms and links. */
export const historyPolicy = [
  "default-src 'none'",
  `style-src ${styleSource} ${digestSource(historyStyle)}`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

/** The list of runs, and how the figures of each scenario went. */
export function historyPage(
  folder: string,
  { runs, left }: Pick<RunList, 'runs' | 'left'>,
  selection: RunFilter,
): string {
  const selected = runs.filter(
    ({ scenario, verdict, state }) =>
      (selection.scenario === null || scenario === selection.scenario) &&
      (selection.verdict === null || (verdict ?? state) === selection.verdict),
  )
  const pages = Math.max(1, Math.ceil(selected.length / runsPerPage))
  const page = Math.min(Math.max(1, selection.page), pages)
  const shown = selected.slice((page - 1) * runsPerPage, page * runsPerPage)
  return documentOf(
    'Runs',
    html`<header><h1>Runs</h1><p class="facts">${plural(runs.length, 'run')} in <code>${folder}</code>${left > 0 ? html`. Reading ${plural(left, 'older one')} for the first time; this page reloads.` : nothing}</p>
${filter(runs, selection)}</header>
${trends(selected)}
<section id="runs"><h2>${selected.length === runs.length ? 'All runs' : `${count(selected.length)} of ${count(runs.length)} runs`}</h2>
${
  shown.length === 0
    ? html`<p class="quiet">There is no such run. <code>turnpike run</code> writes one.</p>`
    : html`<form action="/compare"><div class="actions"><button>Compare the checked runs</button>
<span class="small quiet">The latest of them is compared with the others.</span></div>${table(shown)}</form>${pager(page, pages, selection)}`
}</section>`,
    left > 0 ? html`<meta http-equiv="refresh" content="1">` : nothing,
  )
}

/** A page that explains a problem. */
export const problemPage = (title: string, lines: readonly string[]): string =>
  documentOf(
    title,
    html`<header class="inconclusive"><h1>${title}</h1><ul class="because">${lines.map(line => html`<li>${line}</li>`)}</ul>
<p><a href="/">All runs</a></p></header>`,
  )

const documentOf = (title: string, body: Html, head: Html = nothing): string =>
  html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer"><link rel="icon" href="data:,"><title>${title}</title>
${head}${styleSheet(css)}${styleSheet(historyStyle)}</head><body><main>
${body}</main></body></html>
`.markup

function filter(runs: readonly IndexedRun[], { scenario, verdict }: RunFilter): Html {
  const scenarios = [...new Set(runs.flatMap(run => run.scenario ?? []))].toSorted()
  const option = (value: string, words: string, chosen: string | null) =>
    html`<option value="${value}"${value === (chosen ?? '') ? html` selected` : nothing}>${words}</option>`
  return html`<form class="filter" action="/"><label>Scenario<br><select name="scenario">${option('', 'all', scenario)}${scenarios.map(name => option(name, name, scenario))}</select></label>
<label>Verdict<br><select name="verdict">${option('', 'all', verdict)}${['pass', 'fail', 'inconclusive', 'no-report', 'unreadable'].map(name => option(name, stateWords[name] ?? name, verdict))}</select></label>
<button>Show</button></form>`
}

const stateWords: Readonly<Record<string, string>> = {
  'no-report': 'no report: it goes on, or was killed',
  unreadable: 'damaged report',
}

/** One line for each scenario and target with several runs, the latest of them first. */
function trends(runs: readonly IndexedRun[]): Html {
  const groups = new Map<string, IndexedRun[]>()
  for (const run of runs) {
    if (run.state !== 'complete') continue
    const key = JSON.stringify([run.scenario, run.target])
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [run])
    else group.push(run)
  }
  const several = [...groups.values()].filter(group => group.length > 1)
  if (several.length === 0) return nothing
  const more = several.length - maxTrends
  return html`<section id="trends"><h2>Trends</h2><p class="small quiet">The last ${maxPoints} runs of each scenario against each target, the latest on the right.</p>
<div class="wide" tabindex="0"><table class="cards"><thead><tr><th>scenario</th><th>target</th><th>verdicts</th>${figures.map(({ name }) => html`<th>${name}</th>`)}</tr></thead><tbody>
${several.slice(0, maxTrends).map(trend)}</tbody></table></div>${more > 0 ? html`<p class="small quiet">and ${more} more; select a scenario.</p>` : nothing}</section>`
}

type Figure = {
  readonly name: string
  readonly of: (run: IndexedRun) => number | null
  readonly words: (value: number) => string
}

/** The figures of a line, and of a trend. */
const figures: readonly Figure[] = [
  { name: 'latency p95', of: run => run.latencyP95Ms, words: formatDuration },
  { name: 'TTFT p95', of: run => run.ttftP95Ms, words: formatDuration },
  { name: 'good', of: run => run.goodRatio, words: formatRatio },
  { name: 'claimed', of: run => run.claimedUsd, words: usd => `$${threeDigits(usd)}` },
]

const wordsOf = ({ of, words }: Figure, run: IndexedRun): string => {
  const value = of(run)
  return value === null ? NO_VALUE : words(value)
}

function trend(group: readonly IndexedRun[]): Html {
  const runs = group.slice(0, maxPoints).toReversed()
  const [latest] = group
  if (latest === undefined) return nothing
  return html`<tr><td><b>${latest.scenario}</b></td><td class="words">${latest.target}</td><td><ul class="dots">${runs.map(run => html`<li class="${toneOf(run)}" title="${run.startedAt ?? run.name}: ${run.verdict ?? ''}"></li>`)}</ul></td>${figures.map(
    figure => html`<td>${spark(runs, figure)}<span class="small">${wordsOf(figure, latest)}</span></td>`,
  )}</tr>
`
}

const sparkWidth = 150
const sparkHeight = 26

/** A line from 0 to the largest value. */
function spark(runs: readonly IndexedRun[], { name, of, words }: Figure): Html {
  const values = runs.map(of)
  const known = values.filter(value => value !== null)
  if (known.length < 2) return nothing
  const max = Math.max(...known)
  const x = (index: number) => ((index / Math.max(1, values.length - 1)) * sparkWidth).toFixed(1)
  const y = (value: number) => (sparkHeight - (max === 0 ? 0 : (value / max) * (sparkHeight - 2)) + 1).toFixed(1)
  const points = values.flatMap((value, index) => (value === null ? [] : [`${x(index)} ${y(value)}`]))
  return html`<svg class="spark" viewBox="0 0 ${sparkWidth} ${sparkHeight + 2}" role="img" aria-label="${name}: from ${words(known[0] ?? 0)} to ${words(known.at(-1) ?? 0)}"><path class="curve blue" d="M${points.join('L')}"/></svg>`
}

function table(runs: readonly IndexedRun[]): Html {
  const titles = [
    'verdict',
    'scenario',
    'target',
    'started',
    'duration',
    'violations',
    ...figures.map(({ name }) => name),
  ]
  return html`<div class="wide" tabindex="0"><table class="cards"><thead><tr><th></th>${titles.map(title => html`<th>${title}</th>`)}</tr></thead><tbody>
${runs.map(row)}</tbody></table></div>`
}

function row(run: IndexedRun): Html {
  const { name, state, verdict, scenario, target, startedAt, durationMs, violations } = run
  const check =
    state === 'complete'
      ? html`<input type="checkbox" name="run" value="${name}" aria-label="Compare ${name}">`
      : nothing
  const title = scenario ?? name
  const link = state === 'complete' ? html`<a href="/runs/${encodeURIComponent(name)}">${title}</a>` : html`${title}`
  const cell = (label: string, value: string) => html`<td class="keep" data-is="${label}">${value}</td>`
  return html`<tr><td>${check}</td><td><b class="${toneOf(run)}">${verdict ?? stateWords[state] ?? state}</b></td><td title="${name}">${link}</td><td class="words">${target ?? NO_VALUE}</td>${cell('started', startedAt?.replace(/\.\d+Z$/, 'Z') ?? NO_VALUE)}${cell('duration', formatDuration(durationMs))}${cell('violations', count(violations))}${figures.map(figure => cell(figure.name, wordsOf(figure, run)))}</tr>
`
}

const toneOf = ({ verdict }: IndexedRun): string =>
  verdict === null ? 'quiet' : { pass: 'good', fail: 'bad', inconclusive: 'doubtful' }[verdict]

function pager(page: number, pages: number, { scenario, verdict }: RunFilter): Html {
  if (pages === 1) return nothing
  const link = (to: number, words: string) => {
    const query = new URLSearchParams({ scenario: scenario ?? '', verdict: verdict ?? '', page: String(to) })
    return html`<a href="/?${query.toString()}">${words}</a>`
  }
  return html`<p class="actions">${page > 1 ? link(page - 1, 'Later runs') : nothing}<span class="quiet">page ${page} of ${pages}</span>${page < pages ? link(page + 1, 'Earlier runs') : nothing}</p>`
}
