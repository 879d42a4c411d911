import { formatExact, NO_VALUE } from '../../lib/format.ts'
import type { Page, Style, TableCell } from '../../lib/text-layout.ts'
import { heading, table, wrap } from '../../lib/text-layout.ts'
import type { Status, ThresholdResult } from '../../thresholds.ts'
import type { Report } from '../report.ts'

export function thresholdsText({ thresholds }: Report, page: Page): readonly string[] {
  if (thresholds.length === 0) return []
  const rows = table(page, 2, thresholds.map(row))
  const lines = thresholds.flatMap((threshold, index) => [rows[index] ?? '', ...details(threshold, page)])
  return [...heading(page, 'Thresholds'), ...lines]
}

function row({ verdict, expression, value, operator, bound, unit }: ThresholdResult): readonly TableCell[] {
  return [
    { text: verdict, style: verdictStyles[verdict] },
    { text: expression },
    { text: value === null ? NO_VALUE : formatExact(value, unit), align: 'right' },
    { text: `${operator} ${formatExact(bound, unit)}`, style: 'dim' },
  ]
}

const details = ({ verdict, because, why }: ThresholdResult, page: Page): readonly string[] =>
  verdict === 'pass' ? [] : [...wrap(page, because, 4), ...(why === '' ? [] : wrap(page, why, 4, 'why: '))]

export const verdictStyles: Readonly<Record<Status, Style>> = { pass: 'green', fail: 'red', inconclusive: 'yellow' }
