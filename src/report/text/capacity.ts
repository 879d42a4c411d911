import { capacityLabel, wasExceeded } from '../../capacity/result.ts'
import { NO_VALUE } from '../../lib/format.ts'
import type { Page, Style } from '../../lib/text-layout.ts'
import { heading, paint, right, table, wrap } from '../../lib/text-layout.ts'
import type { CapacityResult, Report, TrialResult } from '../report.ts'
import { trialColumns, trialWords } from '../trial-table.ts'

const styles: Partial<Record<CapacityResult['status'], Style>> = { found: 'green', 'not-reached': 'green' }

/** What searches have found, and each rate that they tried. */
export function capacityText({ capacity }: Report, page: Page): readonly string[] {
  if (capacity.length === 0) return []
  return [...heading(page, 'Capacity'), ...capacity.flatMap(result => resultText(result, page))]
}

function resultText(result: CapacityResult, page: Page): readonly string[] {
  const { stage, status, because, trials } = result
  const head = [
    { text: stage, style: 'bold' as const },
    { text: capacityLabel(result), style: styles[status] ?? 'yellow' },
  ]
  const narrow = trialColumns.filter(({ title }) => title !== 'achieved')
  const shown = narrow.filter(({ text }) => trials.some(trial => !['0', NO_VALUE].includes(text(trial))))
  const [titles = '', ...rows] = table(page, 4, [
    shown.map(({ title }) => right(title)),
    ...trials.map(trial => [
      ...shown.map(({ text }) => right(text(trial))),
      { text: trialWords(trial), style: styleOf(trial) },
    ]),
  ])
  return [...table(page, 2, [head]), ...wrap(page, because, 4), paint(page, 'dim', titles), ...rows]
}

const styleOf = (trial: TrialResult): Style =>
  trial.outcome === 'held' ? 'green' : wasExceeded(trial) ? 'red' : 'yellow'
