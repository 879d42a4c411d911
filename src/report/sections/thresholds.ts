import { formatExact, formatWithError, NO_VALUE } from '../../lib/format.ts'
import { type Block, code, type Row, right, statusTones, toned } from '../blocks.ts'
import type { Report, ThresholdResult } from '../document.ts'

export function thresholdsSection({ thresholds }: Report): readonly Block[] {
  if (thresholds.length === 0) return []
  return [
    { kind: 'heading', id: 'thresholds', text: 'Thresholds' },
    {
      kind: 'table',
      folds: true,
      columns: [
        { title: '' },
        { title: 'threshold', wraps: true },
        right('measured'),
        { title: { markdown: 'why', html: 'why' }, wraps: true },
      ],
      rows: thresholds.map(row),
    },
  ]
}

function row(result: ThresholdResult): Row {
  const { verdict, expression, why } = result
  const tone = statusTones[verdict]
  const isMet = verdict === 'pass'
  // The cells of a met threshold say everything except what its number rests on.
  const message = isMet ? result.basis : result.message
  const reason = isMet || why === '' ? [] : [{ text: why, lead: 'why: ' }]
  return {
    cells: [
      { ...toned(tone, verdict), verdict },
      code(expression),
      measured(result),
      [message === null ? '' : toned(tone, `${message}. `), toned('quiet', why)],
    ],
    ...(message === null ? {} : { notes: [{ text: message }, ...reason] }),
  }
}

function measured({ value, lowest, highest, whole, unit }: ThresholdResult): string {
  if (value === null) return highest === null ? NO_VALUE : `less than ${formatExact(highest, unit)}`
  const of = whole === null ? '' : ` of ${formatExact(whole, unit)}`
  return `${formatWithError(value, lowest ?? value, highest ?? value, unit)}${of}`
}
