import { count, groupThousands, NO_VALUE, plural, threeDigits } from '../../lib/format.ts'
import type { Series } from '../../metrics/series.ts'
import type { Report } from '../report.ts'
import { type Html, html, nothing } from './html.ts'
import { endOf } from './load.ts'
import { timeChart } from './svg-chart.ts'

export function moneySection({ billing, series }: Report): Html {
  const { expectedCredits, claimedCredits, expectedUsd, claimedUsd, billedUsd, discrepancies } = billing
  const dollars = (usd: string | null) =>
    usd === null ? NO_VALUE : usd.startsWith('-') ? `-$${usd.slice(1)}` : `$${usd}`
  const rows = [
    ['expected', 'by our tariff', groupThousands(expectedCredits), dollars(expectedUsd)],
    ['claimed', 'by the answers', groupThousands(claimedCredits), dollars(claimedUsd)],
    ['billed', 'by the balances', '', dollars(billedUsd)],
  ] as const
  const sum =
    discrepancies.length === 0
      ? html`<p class="small quiet">${billedUsd === null ? 'Not every caller was shown its balance, so that what was billed is not known.' : 'No discrepancy between what was claimed and what left the balances.'}</p>`
      : html`<p class="bad">${plural(
          discrepancies.reduce((total, { count: times }) => total + times, 0),
          'discrepancy',
          'discrepancies',
        )}: ${discrepancies.map(({ kind }) => kind).join(', ')}. See the findings.</p>`
  return html`<section id="money"><h2>Credits and money</h2>
<div class="wide"><table><thead><tr><th></th><th class="n">credits</th><th class="n">USD</th></tr></thead><tbody>
${rows.map(([name, by, credits, usd]) => html`<tr><td><b>${name}</b> <span class="quiet">${by}</span></td><td class="n">${credits}</td><td class="n">${usd}</td></tr>`)}
</tbody></table></div>${sum}${series === null ? nothing : spendCharts(series)}</section>`
}

function spendCharts(series: Series): Html {
  const { spend, stepMs, stages } = series
  const shared = { endMs: endOf(series), stages, height: 170 }
  const numbers = (values: readonly (string | null)[]) => values.map(value => (value === null ? null : Number(value)))
  const curve = (name: string, values: readonly (string | null)[]) => ({
    name,
    stepMs,
    atEnd: true,
    values: numbers(values),
  })
  return html`<div class="charts">${timeChart({
    ...shared,
    title: 'Dollars spent',
    note: 'since the beginning of the run',
    format: value => (value === 0 ? '0' : `$${threeDigits(value)}`),
    silence: 'Nothing was spent.',
    curves: [
      { ...curve('claimed', spend.claimedUsd), colour: 'blue', filled: true },
      { ...curve('expected', spend.expectedUsd), colour: 'grey', stroke: 'dashed' },
      { ...curve('billed', spend.billedUsd), colour: 'teal', stroke: 'dotted' },
    ],
  })}${timeChart({
    ...shared,
    title: 'Credits spent',
    note: 'of the RPC proxy, since the beginning of the run',
    format: count,
    silence: 'No credits were spent.',
    curves: [
      { ...curve('claimed', spend.claimedCredits), colour: 'blue', filled: true },
      { ...curve('expected', spend.expectedCredits), colour: 'grey', stroke: 'dashed' },
    ],
  })}</div>`
}
