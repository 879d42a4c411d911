import type { Series } from '../../judge/metrics/series.ts'
import { count, groupThousands, NO_VALUE, plural, threeDigits } from '../../lib/format.ts'
import { absDifference, formatPico, parsePico } from '../../lib/money.ts'
import { type Block, type Curve, chart, right, type StageBand, toned } from '../blocks.ts'
import type { Report } from '../document.ts'
import { bandsOf, endOf, isOfClauses } from './load.ts'

/** The cost by our price list, the cost that the responses claimed, and the decrease of the balances. */
export function billingSection(report: Report): readonly Block[] {
  const { billing, series, clauses, plan } = report
  const ofMoney = clauses.filter(({ id }) => /^(billing|chat\.cost|rpc\.(credits|cost))\b/.test(id))
  if ((ofMoney.length > 0 || isOfClauses(plan)) && ofMoney.every(({ verdict }) => verdict === 'not-promised')) return []
  const { expectedCredits, expectedUsd, claimedCredits, claimedUsd, billedUsd } = billing
  return [
    { kind: 'heading', id: 'money', text: 'Credits and money' },
    {
      kind: 'table',
      folds: true,
      columns: [{ title: '' }, right('credits'), right('USD')],
      rows: [
        { cells: ['expected, by the price list', groupThousands(expectedCredits), dollars(expectedUsd)] },
        { cells: ['claimed, by the responses', groupThousands(claimedCredits), dollars(claimedUsd)] },
        { cells: ['billed, by the balances', NO_VALUE, dollars(billedUsd)] },
      ],
    },
    { kind: 'text', look: 'small', text: conclusion(billing) },
    ...toleranceTexts(billing).map(text => ({ kind: 'text', look: 'small', text: toned('quiet', text) }) as const),
    ...(series === null ? [] : spendCharts(series, bandsOf(report))),
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

/** How far the amounts are apart, and how far they may be. */
export function toleranceTexts({
  expectedUsd,
  claimedUsd,
  billedUsd,
  tolerance,
}: Report['billing']): readonly string[] {
  if (tolerance === null) return []
  const { completionRatio, rpcRatio, unpricedUsd, balanceUsd } = tolerance
  const priced = formatPico((parsePico(claimedUsd) ?? 0n) - (parsePico(unpricedUsd) ?? 0n))
  const unpriced = unpricedUsd === '0' ? '' : ` $${unpricedUsd} more was claimed by responses without a list price.`
  const ratios = [
    ...(completionRatio === null ? [] : [`${percentOf(completionRatio)} of the list price of a completion`]),
    ...(rpcRatio === null ? [] : [`${percentOf(rpcRatio)} of the price of RPC credits`]),
  ]
  const prices =
    ratios.length === 0
      ? ''
      : `, the sum over all responses: each may differ by ${ratios.join(' or ')}, and by the last digit of its cost`
  const balances = `, the sum over all callers: the last digit of a balance, $${balanceUsd}, and of each cost`
  return [
    `${apart('Claimed and expected', priced, expectedUsd, tolerance.claimedUsd)}${prices}.${unpriced}`,
    ...(billedUsd === null || tolerance.billedUsd === null
      ? []
      : [`${apart('Billed and claimed', billedUsd, claimedUsd, tolerance.billedUsd)}${balances}.`]),
  ]
}

/** `Claimed and expected differ by $0.000003, within the tolerance of $0.0012`. */
function apart(names: string, a: string, b: string, tolerance: string): string {
  const difference = absDifference(parsePico(a) ?? 0n, parsePico(b) ?? 0n)
  const relation = difference <= (parsePico(tolerance) ?? 0n) ? 'within' : 'more than'
  return `${names} differ by $${formatPico(difference)}, ${relation} the tolerance of $${threeDigits(Number(tolerance))}`
}

/** `0.5 %`, `0.0001 %`: all digits, unlike a measured ratio. */
const percentOf = (ratio: number): string => `${Number((ratio * 100).toPrecision(12))} %`

function spendCharts(series: Series, stages: readonly StageBand[]): readonly Block[] {
  const { spend, stepMs } = series
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
