import type { Series } from '../../judge/metrics/series.ts'
import { formatDuration } from '../../lib/format.ts'
import { type Block, chart, type Lane, type StageBand } from '../blocks.ts'
import type { CallFacts, Report } from '../document.ts'
import { bandsOf, endOf } from './load.ts'

type CallSeries = Series['calls'][number]
/** With the stages as charts show them. */
type DrawnSeries = Omit<Series, 'stages'> & { readonly stages: readonly StageBand[] }

/** Calls with fewer responses are not drawn. */
const minResponses = 5
/** A burst has fewer; its distribution is enough. */
const minPoints = 3

/** Latencies over time and by size; then times to the first token, and gaps between the chunks of a stream. */
export function latencySection(report: Report): readonly Block[] {
  const { series, calls } = report
  if (series === null) return []
  const drawn = { ...series, stages: bandsOf(report) }
  const sloOf = (name: string, timing: string) =>
    report.plan?.calls.find(({ call }) => call === name)?.slo[timing] ?? null
  const shown = series.calls.filter(call => call.count >= minResponses)
  const streams = series.calls.flatMap(({ call, ttftMs, iclMs }) => [
    ...(ttftMs === null
      ? []
      : [timesChart(drawn, `Time to first token: ${call}`, ttftMs, 'from sending the request', sloOf(call, 'ttft'))]),
    ...(iclMs === null
      ? []
      : [timesChart(drawn, `Between chunks: ${call}`, iclMs, 'of all its streams', sloOf(call, 'icl'))]),
  ])
  return [
    ...(shown.length === 0 ? [] : latencies(drawn, shown, calls, call => sloOf(call, 'latency'))),
    ...(streams.length === 0 ? [] : [{ kind: 'heading', id: 'streams', text: { html: 'Streams' } } as const]),
    ...streams,
  ]
}

function latencies(
  series: DrawnSeries,
  shown: readonly CallSeries[],
  calls: readonly CallFacts[],
  sloOf: (call: string) => number | null,
): readonly Block[] {
  const hasHeat = (series.heatmap.counts[0]?.length ?? 0) > 0
  const note = 'Of complete 2xx responses, counted from the due time and drawn at the due time.'
  const hasCourse = ({ latencyMs: { max } }: CallSeries) => max.filter(value => value !== null).length >= minPoints
  return [
    { kind: 'heading', id: 'latency', text: { html: 'Latency' } },
    { kind: 'text', look: 'small', text: { html: note } },
    ...(hasHeat ? [heatMap(series)] : []),
    distributions(shown, calls),
    ...shown
      .filter(hasCourse)
      .map(({ call, latencyMs, count }) => timesChart(series, call, latencyMs, `${count} responses`, sloOf(call))),
  ]
}

const heatMap = (series: DrawnSeries): Block =>
  chart({
    draw: 'heat-map',
    title: 'All latencies',
    note: 'darker: more responses; the scale is logarithmic',
    endMs: endOf(series),
    stages: series.stages,
    ...series.heatmap,
  })

function timesChart(
  series: DrawnSeries,
  title: string,
  times: CallSeries['latencyMs'],
  about: string,
  sloMs: number | null,
): Block {
  const { stepMs, p50, p95, max } = times
  return chart({
    draw: 'time',
    title,
    note: sloMs === null ? about : `${about}, SLO ${formatDuration(sloMs)}`,
    endMs: endOf(series),
    height: 150,
    stages: series.stages,
    bound: sloMs === null ? null : { value: sloMs, label: `SLO ${formatDuration(sloMs)}` },
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
