import { capacityLabel, wasExceeded } from '../../capacity/result.ts'
import { formatDuration, formatRate } from '../../lib/format.ts'
import type { CapacityResult, Report, TrialResult } from '../report.ts'
import { trialColumns, trialWords } from '../trial-table.ts'
import { type Html, html, nothing } from './html.ts'
import { rateChart } from './rate-chart.ts'

/** What searches have found: goodput and latency against what was offered, and each rate that they tried. */
export function capacitySection({ capacity }: Report): Html {
  if (capacity.length === 0) return nothing
  return html`<section id="capacity"><h2>Capacity</h2>${capacity.map(result)}</section>`
}

const tones: Partial<Record<CapacityResult['status'], string>> = { found: 'good', 'not-reached': 'good' }

function result(found: CapacityResult): Html {
  const { stage, status, because, trials, perSecond } = found
  const words = capacityLabel(found)
  const mark = perSecond === null ? null : { perSecond, label: words }
  return html`<p class="headline"><b class="${tones[status] ?? 'doubtful'}">${words}</b> <span class="quiet">in ${stage}</span></p><p>${because}</p>
<div class="charts">${rateChart({
    title: 'Goodput',
    note: 'good answers a second against arrivals a second; on the dashed line all are good',
    trials: trials.map(point),
    isDiagonal: true,
    mark,
    format: formatRate,
    curves: [{ name: 'goodput', colour: 'blue', values: trials.map(trial => trial.goodputPerSecond) }],
  })}${rateChart({
    title: 'Latency',
    note: 'of complete 2xx answers, against arrivals a second',
    trials: trials.map(point),
    isDiagonal: false,
    mark,
    format: value => (value === 0 ? '0' : formatDuration(value)),
    curves: [
      { name: 'p99', colour: 'grey', values: trials.map(({ latencyMs }) => latencyMs.p99) },
      { name: 'p95', colour: 'amber', values: trials.map(({ latencyMs }) => latencyMs.p95) },
      { name: 'median', colour: 'blue', values: trials.map(({ latencyMs }) => latencyMs.p50) },
    ],
  })}</div>
${trials.length === 0 ? nothing : trialTable(trials)}`
}

/** What came of a trial stands next to its rate, for on a phone the rest is out of sight. */
function trialTable(trials: readonly TrialResult[]): Html {
  const [offered, ...others] = trialColumns
  const cell = (trial: TrialResult, { text }: (typeof trialColumns)[number]) => html`<td class="n">${text(trial)}</td>`
  return html`<div class="wide"><table><thead><tr><th class="n">${offered.title}</th><th>what came of it</th>${others.map(({ title }) => html`<th class="n">${title}</th>`)}</tr></thead><tbody>
${trials.map(trial => html`<tr>${cell(trial, offered)}<td class="words ${toneOf(trial)}">${trialWords(trial)}</td>${others.map(column => cell(trial, column))}</tr>`)}
</tbody></table></div>`
}

const point = (trial: TrialResult) => ({
  perSecond: trial.offeredPerSecond,
  colour: trial.outcome === 'held' ? ('green' as const) : wasExceeded(trial) ? ('red' as const) : ('amber' as const),
  says: `${formatRate(trial.offeredPerSecond)}: ${trialWords(trial)}`,
})

const toneOf = (trial: TrialResult): string =>
  trial.outcome === 'held' ? 'good' : wasExceeded(trial) ? 'bad' : 'doubtful'
