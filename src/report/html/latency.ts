import { formatDuration } from '../../lib/format.ts'
import type { Heatmap, LatencyDistribution, TimesSeries } from '../../metrics/latency-grid.ts'
import type { CallSeries, Series } from '../../metrics/series.ts'
import type { CallFacts } from '../report.ts'
import { type Html, html, nothing } from './html.ts'
import { endOf } from './load.ts'
import { stageBands, timeAxis, timeChart } from './svg-chart.ts'
import { logTicks, percent, pixels } from './svg-scale.ts'

/** Calls with fewer answers have no course to show. */
const fewestAnswers = 5
const fewestPoints = 3
const heatHeight = 240
const ridgeHeight = 46

export function latencySection(series: Series, calls: readonly CallFacts[]): Html {
  const shown = series.calls.filter(call => call.count >= fewestAnswers)
  if (shown.length === 0) return nothing
  return html`<section id="latency"><h2>Latency</h2>
<p class="quiet small">Of complete 2xx answers, from when each was due, and shown where it was due.</p>
${heatMap(series)}${distributions(series.calls, calls)}
<div class="charts">${shown.filter(hasCourse).map(call => timesChart(series, call.call, call.latencyMs, `${call.count} answers`))}</div></section>`
}

/** A burst has no course: its distribution says all. */
const hasCourse = ({ latencyMs }: CallSeries): boolean =>
  latencyMs.max.filter(value => value !== null).length >= fewestPoints

/** Times to the first token, and between the chunks of a stream. */
export function streamSection(series: Series): Html {
  const charts = series.calls.flatMap(({ call, ttftMs, iclMs }) => [
    ...(ttftMs === null ? [] : [timesChart(series, `Time to first token: ${call}`, ttftMs, 'from the sending')]),
    ...(iclMs === null ? [] : [timesChart(series, `Between chunks: ${call}`, iclMs, 'of all its streams together')]),
  ])
  if (charts.length === 0) return nothing
  return html`<section id="streams"><h2>Streams</h2><div class="charts">${charts}</div></section>`
}

function timesChart(series: Series, title: string, times: TimesSeries, note: string): Html {
  const { stepMs, p50, p95, max } = times
  return timeChart({
    title,
    note,
    endMs: endOf(series),
    height: 150,
    stages: series.stages,
    format: value => (value === 0 ? '0' : formatDuration(value)),
    silence: 'Nothing was measured.',
    curves: [
      { name: 'slowest', colour: 'grey', stroke: 'thin', stepMs, values: max },
      ...(p95.some(value => value !== null) ? [{ name: 'p95', colour: 'amber', stepMs, values: p95 } as const] : []),
      { name: 'median', colour: 'blue', filled: true, stepMs, values: p50 },
    ],
  })
}

function heatMap(series: Series): Html {
  const { fromMs, perOctave, counts, stepMs } = series.heat
  const rows = counts[0]?.length ?? 0
  if (rows === 0) return nothing
  const endMs = endOf(series)
  const toMs = fromMs * 2 ** (rows / perOctave)
  const y = (ms: number) => heatHeight * (1 - Math.log(ms / fromMs) / Math.log(toMs / fromMs))
  const ticks = logTicks(fromMs, toMs)
  return html`<figure><figcaption><h3>All latencies</h3><span class="quiet">the darker, the more answers took so long; the scale is logarithmic</span></figcaption>
<div class="plot"><svg class="chart" height="${heatHeight}" role="img" aria-label="Heat map of all latencies">
${stageBands(series.stages, endMs, heatHeight)}${timeAxis(endMs, heatHeight)}
${ticks.map(ms => html`<line class="grid" x1="0" x2="100%" y1="${pixels(y(ms))}" y2="${pixels(y(ms))}"/><text x="-8" y="${pixels(y(ms) + 4)}" text-anchor="end">${formatDuration(ms)}</text>`)}
<line class="base" x1="0" x2="100%" y1="${heatHeight}" y2="${heatHeight}"/>
${cells(series.heat, stepMs / endMs, heatHeight / rows)}</svg></div></figure>`
}

function cells({ counts, fromMs, perOctave }: Heatmap, width: number, height: number): Html {
  const most = Math.max(1, ...counts.flat())
  return html`${counts.map((column, wide) =>
    column.map((value, row) => {
      if (value === 0) return null
      // By the root, so that a single answer can still be seen beside a thousand.
      const strength = 0.18 + 0.82 * Math.sqrt(value / most)
      const above = pixels(heatHeight - (row + 1) * height)
      return html`<rect class="cell" fill-opacity="${pixels(strength)}" x="${percent(wide * width)}" width="${percent(width)}" y="${above}" height="${pixels(height)}"><title>${value} from ${formatDuration(fromMs * 2 ** (row / perOctave))}</title></rect>`
    }),
  )}`
}

/** One ridge for each call, on one logarithmic axis, with its percentiles where the sample bounds them. */
function distributions(series: readonly CallSeries[], calls: readonly CallFacts[]): Html {
  const ridges = series.filter(({ count }) => count >= fewestAnswers)
  const fromMs = Math.min(...ridges.map(({ latencies }) => latencies.fromMs))
  const toMs = Math.max(
    ...ridges.map(({ latencies: { fromMs: first, perOctave, counts } }) => first * 2 ** (counts.length / perOctave)),
  )
  const x = (ms: number) => Math.min(1, Math.max(0, Math.log(ms / fromMs) / Math.log(toMs / fromMs)))
  const ticks = logTicks(fromMs, toMs)
  const lines = ticks.map(
    ms => html`<line class="grid" x1="${percent(x(ms))}" x2="${percent(x(ms))}" y1="0" y2="${ridgeHeight}"/>`,
  )
  const labels = ticks.map(
    ms => html`<text x="${percent(x(ms))}" y="12" text-anchor="middle">${formatDuration(ms)}</text>`,
  )
  return html`<figure><figcaption><h3>How latencies are distributed</h3><span class="quiet">lines: p50, p95 and p99, where the sample bounds them</span></figcaption>
<div class="lanes">${ridges.map(({ call, count, latencies }) => {
    const facts = calls.find(each => each.call === call && each.stage === null)?.latencyMs
    const marks = [facts?.p50, facts?.p95, facts?.p99].map(ms =>
      ms === null || ms === undefined
        ? null
        : html`<line class="amber" stroke-width="2" x1="${percent(x(ms))}" x2="${percent(x(ms))}" y1="4" y2="${ridgeHeight}"/>`,
    )
    const bars = ridge(latencies, x)
    return html`<span class="who">${call}</span><svg class="chart lane" height="${ridgeHeight}" role="img" aria-label="Distribution of ${call}">${lines}${bars}${marks}<line class="base" x1="0" x2="100%" y1="${ridgeHeight}" y2="${ridgeHeight}"/></svg><span class="end">${count} answers${facts?.p50 === null || facts?.p50 === undefined ? null : `, p50 ${formatDuration(facts.p50)}`}</span>`
  })}<svg class="chart axis" height="16" aria-hidden="true">${labels}</svg></div></figure>`
}

function ridge({ fromMs, perOctave, counts }: LatencyDistribution, x: (ms: number) => number): Html {
  const most = Math.max(1, ...counts)
  const at = (row: number) => x(fromMs * 2 ** (row / perOctave))
  return html`${counts.map((value, row) => {
    const height = (value / most) * (ridgeHeight - 6)
    return value === 0
      ? null
      : html`<rect class="f-blue" x="${percent(at(row))}" width="${percent(Math.max(0.002, at(row + 1) - at(row)))}" y="${pixels(ridgeHeight - height)}" height="${pixels(height)}"><title>${value} from ${formatDuration(fromMs * 2 ** (row / perOctave))}</title></rect>`
  })}`
}
