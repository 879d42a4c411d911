import { formatExact, NO_VALUE } from '../../lib/format.ts'
import { type Block, code, type Row, right, statusTones, toned } from '../blocks.ts'
import type { Report, Status, ThresholdResult } from '../document.ts'

const pageSigns: Readonly<Record<Status, string>> = { pass: '✓ holds', fail: '✗ crossed', inconclusive: '? open' }

export function thresholdsSection({ thresholds }: Report): readonly Block[] {
  if (thresholds.length === 0) return []
  return [
    { kind: 'heading', id: 'thresholds', text: 'Thresholds' },
    {
      kind: 'table',
      isBare: true,
      folds: true,
      columns: [
        { title: '' },
        { title: { text: '', markdown: 'threshold', html: 'expected' }, wraps: true },
        right({ text: '', markdown: 'value', html: 'measured' }),
        { title: { text: '', markdown: 'bound' } },
        { title: { markdown: '' } },
        { title: { html: 'why it matters' }, wraps: true },
      ],
      rows: thresholds.map(row),
    },
  ]
}

function row({ verdict, expression, value, operator, bound, unit, message, why }: ThresholdResult): Row {
  const tone = statusTones[verdict]
  const isHeld = verdict === 'pass'
  const notes = [{ text: message }, ...(why === '' ? [] : [{ text: why, lead: 'why: ' }])]
  return {
    cells: [
      { text: toned(tone, verdict), markdown: { words: '', verdict }, html: toned(tone, pageSigns[verdict]) },
      code(expression),
      value === null ? NO_VALUE : formatExact(value, unit),
      toned('quiet', `${operator} ${formatExact(bound, unit)}`),
      isHeld ? '' : [message, why].filter(Boolean).join('. '),
      [isHeld ? '' : toned(tone, `${message}. `), toned('quiet', why)],
    ],
    ...(isHeld ? {} : { notes }),
  }
}
