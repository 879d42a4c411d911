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
  const { verdict, expression, message, why } = result
  const tone = statusTones[verdict]
  // A met threshold needs a sentence only if its message says what the number leaves out, such as requests refused beside.
  const isPlain = verdict === 'pass' && !/, of which \d+ got \d/.test(message)
  const notes = [{ text: message }, ...(why === '' ? [] : [{ text: why, lead: 'why: ' }])]
  return {
    cells: [
      { ...toned(tone, verdict), verdict },
      code(expression),
      measured(result),
      [isPlain ? '' : toned(tone, `${message}. `), toned('quiet', why)],
    ],
    ...(isPlain ? {} : { notes }),
  }
}

function measured({ value, lowest, highest, whole, unit }: ThresholdResult): string {
  if (value === null) return highest === null ? NO_VALUE : `less than ${formatExact(highest, unit)}`
  const of = whole === null ? '' : ` of ${formatExact(whole, unit)}`
  return `${formatWithError(value, lowest ?? value, highest ?? value, unit)}${of}`
}
