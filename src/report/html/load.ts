import { count, threeDigits } from '../../lib/format.ts'
import type { Series } from '../../metrics/series.ts'
import { type Html, html } from './html.ts'
import { timeChart } from './svg-chart.ts'

/** Until when the charts go: all columns. */
export const endOf = ({ stepMs, due }: Series): number => Math.max(1, due.length) * stepMs

/** More points than this are noise at the width of a page. */
const mostPoints = 150

/** Columns side by side as one, where there are many. */
export function coarsely(
  { stepMs }: Series,
  values: readonly number[],
  join: (part: readonly number[]) => number,
): { readonly stepMs: number; readonly values: readonly number[] } {
  const across = Math.max(1, Math.ceil(values.length / mostPoints))
  const points = Array.from({ length: Math.ceil(values.length / across) }, (_, point) => point * across)
  return { stepMs: stepMs * across, values: points.map(from => join(values.slice(from, from + across))) }
}

/** What was offered and what came of it. */
export function loadSection(series: Series): Html {
  const { stepMs, stages, due, answered, refused, failed, dropped } = series
  const rate = (values: readonly number[]) =>
    coarsely(series, values, part => (part.reduce((sum, value) => sum + value, 0) * 1_000) / (part.length * stepMs))
  const optional = [
    { name: 'refused with 429', colour: 'amber', values: refused },
    { name: 'failed', colour: 'red', values: failed },
    { name: 'dropped, never sent', colour: 'violet', values: dropped },
  ] as const
  const shared = { endMs: endOf(series), stages, height: 200 }
  return html`<section id="load"><h2>Load</h2><div class="charts">${timeChart({
    ...shared,
    title: 'Offered and achieved rate',
    note: 'requests per second: offered when due, achieved when answered',
    format: value => `${threeDigits(value)}/s`,
    silence: 'Nothing was due.',
    curves: [
      { name: 'offered', colour: 'grey', stroke: 'dashed', ...rate(due) },
      { name: 'achieved', colour: 'blue', filled: true, ...rate(answered) },
      ...optional
        .filter(({ values }) => values.some(value => value > 0))
        .map(({ name, colour, values }) => ({ name, colour, ...rate(values) })),
    ],
  })}${timeChart({
    ...shared,
    title: 'In flight',
    note: 'sent and not ended, the most at the end of a step',
    format: count,
    silence: 'Nothing was under way at the end of any step.',
    curves: [
      {
        name: 'requests',
        colour: 'teal',
        filled: true,
        atEnd: true,
        ...coarsely(series, inFlight(series), part => Math.max(...part)),
      },
    ],
  })}</div></section>`
}

function inFlight({ sent, answered, failed }: Series): readonly number[] {
  let flying = 0
  return sent.map((value, column) => {
    flying += value - (answered[column] ?? 0) - (failed[column] ?? 0)
    return Math.max(0, flying)
  })
}
