import type { Series } from '../../judge/metrics/series.ts'
import { count, groupThousands, NO_VALUE, plural, threeDigits } from '../../lib/format.ts'
import { type Block, type Content, type Curve, chart, right, toned } from '../blocks.ts'
import type { Report } from '../document.ts'
import { billingDiscrepancies } from './findings.ts'
import { endOf } from './load.ts'

/** What our price list expects, what the responses claimed, and what left the balances. */
export function billingSection({ billing, series }: Report): readonly Block[] {
  const { expectedCredits, expectedUsd, claimedCredits, claimedUsd, billedUsd, discrepancies } = billing
  const credits = (value: string): Content => {
    const grouped = groupThousands(value)
    return { text: grouped, markdown: value, html: grouped }
  }
  return [
    { kind: 'heading', id: 'money', text: 'Credits and money' },
    {
      kind: 'table',
      columns: [{ title: '' }, right('credits'), right('USD')],
      rows: [
        { cells: ['expected, by our tariff', credits(expectedCredits), dollars(expectedUsd)] },
        { cells: ['claimed by the answers', credits(claimedCredits), dollars(claimedUsd)] },
        { cells: ['billed, by the balances', '', dollars(billedUsd)] },
      ],
    },
    ...billingDiscrepancies(discrepancies),
    { kind: 'text', look: 'small', text: { html: conclusion(billing) } },
    ...(series === null ? [] : spendCharts(series)),
  ]
}

const dollars = (usd: string | null): string =>
  usd === null ? NO_VALUE : usd.startsWith('-') ? `-$${usd.slice(1)}` : `$${usd}`

function conclusion({ billedUsd, discrepancies }: Report['billing']) {
  if (discrepancies.length > 0) {
    const times = discrepancies.reduce((total, discrepancy) => total + discrepancy.count, 0)
    const kinds = discrepancies.map(({ kind }) => kind).join(', ')
    return toned('bad', `${plural(times, 'discrepancy', 'discrepancies')}: ${kinds}. See the findings.`)
  }
  return toned(
    'quiet',
    billedUsd === null
      ? 'Not every caller was shown its balance, so that what was billed is not known.'
      : 'No discrepancy between what was claimed and what left the balances.',
  )
}

function spendCharts(series: Series): readonly Block[] {
  const { spend, stepMs, stages } = series
  const shared = { draw: 'time', endMs: endOf(series), stages, height: 170 } as const
  const curve = (values: readonly (string | null)[]): Pick<Curve, 'stepMs' | 'atEnd' | 'values'> => ({
    stepMs,
    atEnd: true,
    values: values.map(value => (value === null ? null : Number(value))),
  })
  return [
    chart({
      ...shared,
      title: 'Dollars spent',
      note: 'since the beginning of the run',
      format: value => (value === 0 ? '0' : `$${threeDigits(value)}`),
      silence: 'Nothing was spent.',
      curves: [
        { name: 'claimed', color: 'blue', filled: true, ...curve(spend.claimedUsd) },
        { name: 'expected', color: 'grey', stroke: 'dashed', ...curve(spend.expectedUsd) },
        { name: 'billed', color: 'teal', stroke: 'dotted', ...curve(spend.billedUsd) },
      ],
    }),
    chart({
      ...shared,
      title: 'Credits spent',
      note: 'of the RPC proxy, since the beginning of the run',
      format: count,
      silence: 'No credits were spent.',
      curves: [
        { name: 'claimed', color: 'blue', filled: true, ...curve(spend.claimedCredits) },
        { name: 'expected', color: 'grey', stroke: 'dashed', ...curve(spend.expectedCredits) },
      ],
    }),
  ]
}
