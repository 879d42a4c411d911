import type { Series } from '../../judge/metrics/series.ts'
import { count, threeDigits } from '../../lib/format.ts'
import { type Block, type Curve, chart } from '../blocks.ts'
import type { Report } from '../document.ts'

/** The end of the charts over time: that of the last column. */
export const endOf = ({ stepMs, due }: Series): number => Math.max(1, due.length) * stepMs

/** More points than this are noise at the width of a page. */
const maxPoints = 150

/** Where there are many columns, neighbors become one. */
export function coarsely(
  { stepMs }: Series,
  values: readonly number[],
  join: (part: readonly number[]) => number,
): Pick<Curve, 'stepMs' | 'values'> {
  const across = Math.max(1, Math.ceil(values.length / maxPoints))
  const points = Array.from({ length: Math.ceil(values.length / across) }, (_, point) => point * across)
  return { stepMs: stepMs * across, values: points.map(from => join(values.slice(from, from + across))) }
}

/** What was offered, and what was achieved. */
export function loadSection({ series }: Report): readonly Block[] {
  if (series === null) return []
  const { stepMs, stages, due, answered, refused, failed, dropped } = series
  const rate = (values: readonly number[]) =>
    coarsely(series, values, part => (part.reduce((sum, value) => sum + value, 0) * 1_000) / (part.length * stepMs))
  const optional = [
    { name: 'refused with 429', color: 'amber', values: refused },
    { name: 'failed', color: 'red', values: failed },
    { name: 'dropped, never sent', color: 'violet', values: dropped },
  ] as const
  const shared = { draw: 'time', endMs: endOf(series), stages, height: 200 } as const
  return [
    { kind: 'heading', id: 'load', text: { html: 'Load' } },
    chart({
      ...shared,
      title: 'Offered and achieved rate',
      note: 'requests per second: offered when due, achieved when answered',
      format: value => `${threeDigits(value)}/s`,
      silence: 'Nothing was due.',
      curves: [
        { name: 'offered', color: 'grey', stroke: 'dashed', ...rate(due) },
        { name: 'achieved', color: 'blue', filled: true, ...rate(answered) },
        ...optional
          .filter(({ values }) => values.some(value => value > 0))
          .map(({ name, color, values }) => ({ name, color, ...rate(values) })),
      ],
    }),
    chart({
      ...shared,
      title: 'In flight',
      note: 'sent and not ended, the most at the end of a step',
      format: count,
      silence: 'Nothing was under way at the end of any step.',
      curves: [
        {
          name: 'requests',
          color: 'teal',
          filled: true,
          atEnd: true,
          ...coarsely(series, inFlight(series), part => Math.max(...part)),
        },
      ],
    }),
  ]
}

function inFlight({ sent, answered, failed }: Series): readonly number[] {
  let flying = 0
  return sent.map((value, column) => {
    flying += value - (answered[column] ?? 0) - (failed[column] ?? 0)
    return Math.max(0, flying)
  })
}
