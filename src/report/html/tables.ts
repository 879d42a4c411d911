import { count, formatDuration, formatExact, formatRatio, NO_VALUE, plural, threeDigits } from '../../lib/format.ts'
import { type Ends, isProbe, totalOf } from '../probe-facts.ts'
import type { CallFacts, PlanFacts, Report, Status } from '../report.ts'
import { type Html, html, nothing } from './html.ts'

/** The class of what has this status. */
export const tones: Readonly<Record<Status, string>> = { pass: 'good', fail: 'bad', inconclusive: 'doubtful' }
const signs: Readonly<Record<Status, string>> = { pass: '✓ holds', fail: '✗ crossed', inconclusive: '? open' }

export function thresholdsSection({ thresholds }: Report): Html {
  if (thresholds.length === 0) return nothing
  return html`<section id="thresholds"><h2>Thresholds</h2><div class="wide"><table class="stack"><thead><tr><th></th><th>expected</th><th class="n">measured</th><th>why it matters</th></tr></thead><tbody>
${thresholds.map(({ verdict, expression, value, unit, because, why }) => {
  const reason = verdict === 'pass' ? nothing : html`<br><span class="${tones[verdict]}">${because}</span>`
  return html`<tr><td class="keep ${tones[verdict]}">${signs[verdict]}</td><td class="words"><code>${expression}</code></td><td class="n">${value === null ? NO_VALUE : formatExact(value, unit)}</td><td class="words quiet">${why}${reason}</td></tr>`
})}</tbody></table></div></section>`
}

type Column = {
  readonly title: string
  readonly text: (facts: CallFacts) => string
  /** Of streams and their tokens, which many runs have none of. */
  readonly isOfStreams?: true
}

const allColumns: readonly Column[] = [
  { title: 'sent', text: facts => count(facts.count) },
  { title: 'latency p50', text: facts => formatDuration(facts.latencyMs.p50) },
  { title: 'p95', text: facts => formatDuration(facts.latencyMs.p95) },
  { title: 'p99', text: facts => formatDuration(facts.latencyMs.p99) },
  { title: 'slowest', text: facts => formatDuration(facts.latencyMs.max) },
  { title: 'TTFT p50', text: facts => formatDuration(facts.ttftMs.p50), isOfStreams: true },
  { title: 'p95', text: facts => formatDuration(facts.ttftMs.p95), isOfStreams: true },
  { title: 'TPOT p50', text: facts => formatDuration(facts.tpotMs.p50), isOfStreams: true },
  {
    title: 'tokens/s',
    text: facts => (facts.outputTokensPerSecond === null ? NO_VALUE : threeDigits(facts.outputTokensPerSecond)),
    isOfStreams: true,
  },
  {
    title: 'good/s',
    text: facts => (facts.goodputPerSecond === null ? NO_VALUE : threeDigits(facts.goodputPerSecond)),
  },
  { title: 'good', text: facts => formatRatio(facts.goodRatio) },
]

export function callsSection({ calls }: Report): Html {
  if (calls.length === 0) return nothing
  const isOneOfSeveral = (facts: CallFacts) => calls.filter(({ call }) => call === facts.call).length > 2
  const shown = calls.filter(facts => !isProbe(facts) && (facts.stage === null || isOneOfSeveral(facts)))
  const probes = calls.filter(facts => isProbe(facts) && facts.stage === null)
  const columns = allColumns.filter(
    ({ isOfStreams, text }) => !isOfStreams || shown.some(facts => text(facts) !== NO_VALUE),
  )
  const rows = shown.map(facts => {
    const name =
      facts.stage === null
        ? html`<td class="keep"><b>${facts.call}</b></td>`
        : html`<td class="keep sub">in ${facts.stage}</td>`
    return html`<tr>${name}${columns.map(({ text }) => html`<td class="n">${text(facts)}</td>`)}<td class="words small">${ends(facts)}</td></tr>`
  })
  return html`<section id="calls"><h2>Calls</h2><div class="wide"><table><thead><tr><th></th>${columns.map(({ title }) => html`<th class="n">${title}</th>`)}<th>ended</th></tr></thead><tbody>${rows}${probesRow(probes, columns.length)}</tbody></table></div></section>`
}

function probesRow(probes: readonly CallFacts[], columns: number): Html {
  if (probes.length === 0) return nothing
  const all = totalOf(probes)
  return html`<tr><td class="keep"><b>${plural(probes.length, 'probe')}</b></td><td class="n">${count(all.count)}</td><td colspan="${columns - 1}"></td><td class="words small">${ends(all)}</td></tr>`
}

const ends = ({ statuses, failed, dropped }: Ends): string =>
  [
    ...Object.entries(statuses).map(([status, times]) => `${status} × ${count(times)}`),
    ...(failed > 0 ? [`failed × ${count(failed)}`] : []),
    ...(dropped > 0 ? [`dropped × ${count(dropped)}`] : []),
  ].join(', ')

/** Probes by number alone: there may be dozens. */
function callNames(calls: PlanFacts['calls']): string {
  const probes = calls.filter(({ kind }) => kind === 'probe').length
  const named = calls
    .filter(({ kind }) => kind !== 'probe')
    .map(({ call, kind }) => (call === kind ? call : `${call} (${kind})`))
  return [...named, ...(probes === 0 ? [] : [plural(probes, 'probe')])].join(', ')
}

export function planSection({ plan }: Report): Html {
  if (plan === null) return nothing
  const { callers, budgetUsd, forecast, stages, calls } = plan
  const slos = calls.flatMap(({ call, slo }) =>
    Object.entries(slo).map(([timing, ms]) => `${call} ${timing} ≤ ${formatDuration(ms)}`),
  )
  const facts = [
    ['callers', `${count(callers.count)} of tier ${callers.tier}${callers.shared ? ', shared with others' : ''}`],
    [
      'forecast',
      `${count(forecast.requests)} requests, ${count(forecast.credits)} credits, ${forecast.worstUsd === null ? 'of unknown cost' : `$${forecast.worstUsd} at worst`}`,
    ],
    ['budget', budgetUsd === null ? 'none' : `$${budgetUsd}`],
    ['calls', callNames(calls)],
    ['a good answer', slos.length === 0 ? 'a complete 2xx answer' : slos.join(', ')],
  ] as const
  return html`<section id="plan"><h2>The plan</h2><div class="wide"><table class="cards"><thead><tr><th>stage</th><th class="n">from</th><th class="n">lasts</th><th class="n">callers</th><th>load</th></tr></thead><tbody>
${stages.map(({ name, startMs, durationMs, callers: taking, load }) => html`<tr><td class="keep"><b>${name}</b></td><td class="n" data-is="from">${startMs === 0 ? 0 : formatDuration(startMs)}</td><td class="n" data-is="lasts">${formatDuration(durationMs)}</td><td class="n" data-is="callers">${count(taking)}</td><td class="words">${load}</td></tr>`)}
</tbody></table></div><dl class="pairs small">${facts.map(([name, text]) => html`<dt>${name}</dt><dd>${text}</dd>`)}</dl></section>`
}
