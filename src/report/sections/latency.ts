import type { Series } from '../../judge/metrics/series.ts'
import { formatDuration } from '../../lib/format.ts'
import { type Block, chart, type Lane } from '../blocks.ts'
import type { CallFacts, Report } from '../document.ts'
import { endOf } from './load.ts'

type CallSeries = Series['calls'][number]

/** Calls with fewer responses are not drawn. */
const minResponses = 5
/** A burst has fewer; its distribution is enough. */
const minPoints = 3

/** Latencies over time and by size; then times to the first token, and gaps between the chunks of a stream. */
export function latencySection({ series, calls }: Report): readonly Block[] {
  if (series === null) return []
  const shown = series.calls.filter(call => call.count >= minResponses)
  const streams = series.calls.flatMap(({ call, ttftMs, iclMs }) => [
    ...(ttftMs === null
      ? []
      : [timesChart(series, `Time to first token: ${call}`, ttftMs, 'from sending the request')]),
    ...(iclMs === null ? [] : [timesChart(series, `Between chunks: ${call}`, iclMs, 'of all its streams')]),
  ])
  return [
    ...(shown.length === 0 ? [] : latencies(series, shown, calls)),
    ...(streams.length === 0 ? [] : [{ kind: 'heading', id: 'streams', text: { html: 'Streams' } } as const]),
    ...streams,
  ]
}

function latencies(series: Series, shown: readonly CallSeries[], calls: readonly CallFacts[]): readonly Block[] {
  const hasHeat = (series.heatmap.counts[0]?.length ?? 0) > 0
  const note = 'Of complete 2xx responses, counted from the due time and drawn at the due time.'
  const hasCourse = ({ latencyMs: { max } }: CallSeries) => max.filter(value => value !== null).length >= minPoints
  return [
    { kind: 'heading', id: 'latency', text: { html: 'Latency' } },
    { kind: 'text', look: 'small', text: { html: note } },
    ...(hasHeat ? [heatMap(series)] : []),
    distributions(shown, calls),
    ...shown.filter(hasCourse).map(call => timesChart(series, call.call, call.latencyMs, `${call.count} responses`)),
  ]
}

const heatMap = (series: Series): Block =>
  chart({
    draw: 'heat-map',
    title: 'All latencies',
    note: 'darker: more responses; the scale is logarithmic',
    endMs: endOf(series),
    stages: series.stages,
    ...series.heatmap,
  })

function timesChart(series: Series, title: string, times: CallSeries['latencyMs'], note: string): Block {
  const { stepMs, p50, p95, max } = times
  return chart({
    draw: 'time',
    title,
    note,
    endMs: endOf(series),
    height: 150,
    stages: series.stages,
    format: value => (value === 0 ? '0' : formatDuration(value)),
    silence: 'Nothing was measured.',
    curves: [
      { name: 'slowest', color: 'grey', stroke: 'thin', stepMs, values: max },
      ...(p95.some(value => value !== null) ? [{ name: 'p95', color: 'amber', stepMs, values: p95 } as const] : []),
      { name: 'median', color: 'blue', filled: true, stepMs, values: p50 },
    ],
  })
}

/** One lane for each call, on one logarithmic axis, with the percentiles that the sample bounds. */
function distributions(shown: readonly CallSeries[], calls: readonly CallFacts[]): Block {
  const ends = shown.map(({ latencies: { fromMs, perOctave, counts } }) => fromMs * 2 ** (counts.length / perOctave))
  return chart({
    draw: 'lanes',
    title: 'Distribution of latencies',
    note: 'lines: p50, p95 and p99, if there are enough responses',
    axis: { scale: 'log', from: Math.min(...shown.map(({ latencies }) => latencies.fromMs)), to: Math.max(...ends) },
    height: 46,
    lanes: shown.map(call => distribution(call, calls)),
  })
}

function distribution({ call, count, latencies }: CallSeries, calls: readonly CallFacts[]): Lane {
  const facts = calls.find(each => each.call === call && each.stage === null)?.latencyMs
  const max = Math.max(1, ...latencies.counts)
  const at = (row: number) => latencies.fromMs * 2 ** (row / latencies.perOctave)
  const bounded = [facts?.p50, facts?.p95, facts?.p99].filter(ms => ms !== null && ms !== undefined)
  return {
    name: call,
    label: `Distribution of ${call}`,
    end: `${count} responses${facts === undefined || facts.p50 === null ? '' : `, p50 ${formatDuration(facts.p50)}`}`,
    marks: [
      ...latencies.counts.flatMap((value, row) =>
        value === 0
          ? []
          : [
              {
                mark: 'bar' as const,
                from: at(row),
                to: at(row + 1),
                share: value / max,
                text: `${value} from ${formatDuration(at(row))}`,
              },
            ],
      ),
      ...bounded.map(ms => ({ mark: 'tick', at: ms, look: 'mark' }) as const),
    ],
  }
}
