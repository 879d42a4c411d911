import { groupThousands, NO_VALUE, plural } from '../../lib/format.ts'
import { heading, type Page, paint, right, table, wrap } from '../../lib/text-layout.ts'
import { requestList } from '../plain-evidence.ts'
import type { Report, ReportedDiscrepancy } from '../report.ts'
import { evidenceText } from './evidence.ts'

export function billingText({ billing }: Report, page: Page): readonly string[] {
  const { expectedCredits, claimedCredits, expectedUsd, claimedUsd, billedUsd, discrepancies } = billing
  const dollars = (usd: string | null) =>
    right(usd === null ? NO_VALUE : usd.startsWith('-') ? `-$${usd.slice(1)}` : `$${usd}`)
  const [titles = '', ...rows] = table(page, 2, [
    [{ text: '' }, right('credits'), right('USD')],
    [{ text: 'expected, by our tariff' }, right(groupThousands(expectedCredits)), dollars(expectedUsd)],
    [{ text: 'claimed by the answers' }, right(groupThousands(claimedCredits)), dollars(claimedUsd)],
    [{ text: 'billed, by the balances' }, right(''), dollars(billedUsd)],
  ])
  return [
    ...heading(page, 'Credits and money'),
    paint(page, 'dim', titles),
    ...rows,
    ...discrepancies.flatMap(discrepancy => discrepancyText(discrepancy, page)),
  ]
}

function discrepancyText({ kind, count, amountUsd, examples }: ReportedDiscrepancy, page: Page): readonly string[] {
  const [example] = examples
  const tally = `${plural(count, 'discrepancy', 'discrepancies')}, $${amountUsd} in all`
  return [
    ...table(page, 2, [[{ text: kind, style: 'red' }, { text: tally }]]),
    ...(example === undefined ? [] : wrap(page, `${example.because} (${requestList(example.seqs)})`, 4, 'seen ')),
    ...evidenceText(example, `${kind} credits cost`, page),
  ]
}
