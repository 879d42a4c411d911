import type { Series } from '../../judge/metrics/series.ts'
import { count, groupThousands, NO_VALUE, plural, threeDigits } from '../../lib/format.ts'
import { type Block, type Curve, chart, right, toned } from '../blocks.ts'
import type { Report } from '../document.ts'
import { endOf, isOfClauses } from './load.ts'

/** The cost by our price list, the cost that the responses claimed, and the decrease of the balances. */
export function billingSection({ billing, series, clauses, plan }: Report): readonly Block[] {
  const ofMoney = clauses.filter(({ id }) => /^(billing|chat\.cost|rpc\.(credits|cost))\b/.test(id))
  if ((ofMoney.length > 0 || isOfClauses(plan)) && ofMoney.every(({ verdict }) => verdict === 'not-promised')) return []
  const { expectedCredits, expectedUsd, claimedCredits, claimedUsd, billedUsd } = billing
  return [
    { kind: 'heading', id: 'money', text: 'Credits and money' },
    {
      kind: 'table',
      columns: [{ title: '' }, right('credits'), right('USD')],
      rows: [
        { cells: ['expected, by the price list', groupThousands(expectedCredits), dollars(expectedUsd)] },
        { cells: ['claimed, by the responses', groupThousands(claimedCredits), dollars(claimedUsd)] },
        { cells: ['billed, by the balances', '', dollars(billedUsd)] },
      ],
    },
    { kind: 'text', look: 'small', text: conclusion(billing) },
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
      ? 'The billed amount is unknown, because not every caller got a balance.'
      : 'No discrepancy between the claimed costs and the balances.',
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
      note: 'since the start of the run',
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
      note: 'of the RPC proxy, since the start of the run',
      format: count,
      silence: 'No credits were spent.',
      curves: [
        { name: 'claimed', color: 'blue', filled: true, ...curve(spend.claimedCredits) },
        { name: 'expected', color: 'grey', stroke: 'dashed', ...curve(spend.expectedCredits) },
      ],
    }),
  ]
}
