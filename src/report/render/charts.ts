import { formatDuration } from '../../lib/format.ts'
import type {
  Bound,
  Chart,
  Curve,
  DotsChart,
  HeatMapChart,
  Lane,
  LanesChart,
  Mark,
  RateChart,
  StageBand,
  TilesChart,
  TimeChart,
  Words,
} from '../blocks.ts'
import { type Html, html, nothing } from './markup.ts'

const secondSteps = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 7_200, 14_400, 28_800, 86_400]
const maxTimeTicks = 6

/** The marks of a time axis that ends at `endMs`. */
export function timeTicks(endMs: number): readonly number[] {
  const step =
    1_000 * (secondSteps.find(seconds => endMs / (1_000 * seconds) <= maxTimeTicks) ?? Math.ceil(endMs / 6_000))
  return Array.from({ length: Math.floor(endMs / step) + 1 }, (_, tick) => tick * step)
}

/** `0`, `20 s`, `1m40s`. */
export const timeLabel = (ms: number): string => (ms === 0 ? '0' : formatDuration(ms))

/** Round values from 0 to at least `max`. */
export function valueTicks(max: number): readonly number[] {
  if (!(max > 0)) return [0, 1]
  const rough = max / 4
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = ([1, 2, 2.5, 5].find(factor => factor * power >= rough) ?? 10) * power
  return Array.from({ length: Math.ceil(max / step - 1e-9) + 1 }, (_, tick) => tick * step)
}

const logSteps = [[1], [1, 2, 5], [1, 2, 3, 4, 5, 6, 7, 8, 9]]
const minLogTicks = 2

/** Round values in milliseconds, from `fromMs` to `toMs`: powers of ten, and values between if these are too few. */
export function logTicks(fromMs: number, toMs: number): readonly number[] {
  const power = (ms: number) => Math.floor(Math.log10(ms) + 1e-9)
  const powers = Array.from({ length: power(toMs) - power(fromMs) + 1 }, (_, index) => 10 ** (power(fromMs) + index))
  const choices = logSteps.map(steps =>
    powers
      .flatMap(unit => steps.map(step => step * unit))
      .filter(tick => tick >= fromMs * (1 - 1e-9) && tick <= toMs * (1 + 1e-9)),
  )
  return choices.find(ticks => ticks.length >= minLogTicks) ?? choices.at(-1) ?? []
}

/** A share of the width, for attributes of SVG. */
export const percent = (share: number): string => `${Number((share * 100).toFixed(3))}%`

const pixels = (value: number): string => String(Number(value.toFixed(2)))

/** A chart as SVG or HTML. Lines stretch with the page; text and points do not. */
export function drawChart(chart: Chart, inline: (words: Words) => Html): Html {
  switch (chart.draw) {
    case 'time':
      return timeChart(chart)
    case 'rate':
      return rateChart(chart)
    case 'heat-map':
      return heatMap(chart)
    case 'lanes':
      return lanesChart(chart, inline)
    case 'tiles':
      return tiles(chart)
    case 'dots':
      return dots(chart)
  }
}

/** The width of a plot in its own units; it stretches to the available width. */
const unitWidth = 1_000
const maxStrips = 120

function timeChart({ title, note, endMs, height, stages, curves, bound = null, format, silence }: TimeChart): Html {
  const max = Math.max(0, ...curves.flatMap(({ values }) => values.map(value => value ?? 0)))
  if (max === 0)
    return html`<figure class="silent"><figcaption><h3>${title}</h3></figcaption><p class="quiet small">${silence}</p></figure>`
  const ticks = valueTicks(max)
  const top = ticks.at(-1) ?? 1
  const y = (value: number) => height - (value / top) * height
  return plot(
    { title, note, height },
    legend(curves, [], rolesOf(stages, endMs)),
    html`${stageBands(stages, endMs, height)}
${valueAxis(ticks, y, format)}
${timeAxis(endMs, height)}
${stretched(
  height,
  curves.map(curve => curvePath(curve, endMs, height, y)),
)}
${curves.map(curve => lonePoints(curve, endMs, y))}
${bound === null || bound.value > top ? nothing : boundLine(bound, y)}
${strips(curves, endMs, height, format)}`,
  )
}

/** Across a chart, with its label above the right end. */
function boundLine({ value, label }: Bound, y: (value: number) => number): Html {
  const at = y(value)
  return html`<line class="curve red dashed thin" x1="0" x2="100%" y1="${pixels(at)}" y2="${pixels(at)}"/><text class="slo" x="100%" y="${pixels(at - 5)}" text-anchor="end">${label}</text>`
}

const captioned = ({ title, note }: { readonly title: string; readonly note: string }): Html =>
  html`<figcaption><h3>${title}</h3><span class="quiet">${note}</span></figcaption>`

const plot = (
  chart: { readonly title: string; readonly note: string; readonly height: number },
  legends: Html,
  drawing: Html,
): Html => html`<figure>
${captioned(chart)}
${legends}
<div class="plot"><svg class="chart" height="${chart.height}" role="img" aria-label="${chart.title}">
${drawing}
</svg></div></figure>`

const stretched = (height: number, drawing: Html | readonly Html[]): Html =>
  html`<svg width="100%" height="${height}" viewBox="0 0 ${unitWidth} ${height}" preserveAspectRatio="none" overflow="visible">${drawing}</svg>`

const valueAxis = (ticks: readonly number[], y: (value: number) => number, format: (value: number) => string): Html =>
  html`${ticks.map(
    tick =>
      html`<line class="${tick === 0 ? 'base' : 'grid'}" x1="0" x2="100%" y1="${pixels(y(tick))}" y2="${pixels(y(tick))}"/><text x="-8" y="${pixels(y(tick) + 4)}" text-anchor="end">${format(tick)}</text>`,
  )}`

/** The labels below a plot, at shares of its width. The last one ends inside the plot. */
const axis = (ticks: readonly { readonly at: number; readonly label: string }[], height: number): Html =>
  html`${ticks.map(
    ({ at, label }) =>
      html`<line class="grid" x1="${percent(at)}" x2="${percent(at)}" y1="${height}" y2="${height + 4}"/><text x="${percent(at)}" y="${height + 17}" text-anchor="${at > 0.96 ? 'end' : 'middle'}">${label}</text>`,
  )}`

const timeAxis = (endMs: number, height: number): Html =>
  axis(
    timeTicks(endMs).map(ms => ({ at: ms / endMs, label: timeLabel(ms) })),
    height,
  )

/** A narrower stage has no room for its name. */
const minNamed = 0.16

const rolesOf = (stages: readonly StageBand[], endMs: number): readonly NonNullable<StageBand['role']>[] =>
  (['warm-up', 'confirmation'] as const).filter(role => stages.some(each => each.role === role && each.startMs < endMs))

/** Every other stage is shaded, and each with a role has its color. */
function stageBands(stages: readonly StageBand[], endMs: number, height: number): Html {
  const shown = stages.filter(({ startMs }) => startMs < endMs)
  return html`${shown.map(({ name, startMs, endMs: stageEndMs, role }, index) => {
    const from = startMs / endMs
    const width = Math.min(stageEndMs, endMs) / endMs - from
    const label = html`<text x="${percent(from + width / 2)}" y="-4" text-anchor="middle">${name.slice(0, 18)}</text>`
    return html`<rect class="${role ?? (index % 2 === 0 ? 'stage' : 'strip')}" x="${percent(from)}" width="${percent(Math.max(0, width))}" y="0" height="${height}"><title>${name}</title></rect>${width >= minNamed ? label : nothing}`
  })}`
}

const timeOf = ({ stepMs, atEnd }: Curve, index: number): number => (index + (atEnd ? 1 : 0.5)) * stepMs

function curvePath(curve: Curve, endMs: number, height: number, y: (value: number) => number): Html {
  const runs: string[][] = []
  let previous: number | null = null
  curve.values.forEach((value, index) => {
    if (value !== null) {
      const point = `${pixels((Math.min(timeOf(curve, index), endMs) / endMs) * unitWidth)} ${pixels(y(value))}`
      if (previous === null) runs.push([point])
      else runs.at(-1)?.push(point)
    }
    previous = value
  })
  const lines = runs.filter(run => run.length > 1)
  const along = lines.map(run => `M${run.join('L')}`).join('')
  const filled = lines.map(run => `M${xOf(run[0])} ${height}L${run.join('L')}L${xOf(run.at(-1))} ${height}Z`).join('')
  const area = curve.filled ? html`<path class="area f-${curve.color}" d="${filled}"/>` : nothing
  return html`${area}<path class="curve ${curve.color} ${curve.stroke ?? ''}" d="${along}"/>`
}

const xOf = (point: string | undefined): string => point?.split(' ')[0] ?? '0'

/** Points for values without neighbors, which no line would show. */
const lonePoints = (curve: Curve, endMs: number, y: (value: number) => number): Html =>
  html`${curve.values.map((value, index) =>
    value === null || (curve.values[index - 1] ?? null) !== null || (curve.values[index + 1] ?? null) !== null
      ? null
      : html`<circle class="f-${curve.color}" r="2.5" cx="${percent(Math.min(timeOf(curve, index), endMs) / endMs)}" cy="${pixels(y(value))}"/>`,
  )}`

/** Tooltips: a strip for each step, with the values of all curves. */
function strips(curves: readonly Curve[], endMs: number, height: number, format: (value: number) => string): Html {
  const [first] = curves
  if (first === undefined) return nothing
  const across = Math.max(1, Math.ceil(first.values.length / maxStrips))
  const indexes = Array.from({ length: Math.ceil(first.values.length / across) }, (_, strip) => strip * across)
  return html`${indexes.map(index => {
    const atMs = index * first.stepMs
    const values = curves.map(({ name, values: all }) => {
      const value = all[index] ?? null
      return value === null ? null : `\n${name}: ${format(value)}`
    })
    const width = Math.min(across * first.stepMs, Math.max(0, endMs - atMs))
    return html`<rect class="strip" x="${percent(atMs / endMs)}" width="${percent(width / endMs)}" y="0" height="${height}"><title>${timeLabel(atMs)}${values}</title></rect>`
  })}`
}

/** `bands`: the roles of stages, which are also the classes of their color. */
const legend = (
  curves: readonly Pick<Curve, 'name' | 'color' | 'stroke'>[],
  points: readonly (readonly [look: string, name: string])[] = [],
  bands: readonly string[] = [],
): Html =>
  html`<ul class="legend">${curves.map(
    ({ name, color, stroke }) =>
      html`<li><svg aria-hidden="true"><line class="curve ${color} ${stroke ?? ''}" x1="1" x2="17" y1="5" y2="5"/></svg>${name}</li>`,
  )}${points.map(([look, name]) => html`<li><svg aria-hidden="true"><circle class="${look}" r="3.5" cx="9" cy="5"/></svg>${name}</li>`)}${bands.map(
    name => html`<li><svg aria-hidden="true"><rect class="${name}" width="18" height="10"/></svg>${name}</li>`,
  )}</ul>`

const rateHeight = 200

function rateChart({
  title,
  note,
  trials,
  meanings,
  ring,
  hasDiagonal,
  mark,
  bound,
  format,
  ...chart
}: RateChart): Html {
  const curves = chart.curves.filter(curve => curve.values.some(value => value !== null))
  const rates = valueTicks(Math.max(0, ...trials.map(({ perSecond }) => perSecond)))
  const values = valueTicks(
    Math.max(bound?.value ?? 0, ...curves.flatMap(curve => curve.values.map(value => value ?? 0))),
  )
  const [last, top] = [rates.at(-1) ?? 1, values.at(-1) ?? 1]
  const y = (value: number) => rateHeight - (value / top) * rateHeight
  const edge = Math.min(last, top)
  const points = curves.flatMap(curve =>
    trials.flatMap(({ perSecond, color, text, isRing }, index) => {
      const value = curve.values[index] ?? null
      const look = isRing ? `ring ${color}` : `f-${color}`
      return value === null ? [] : [{ perSecond, look, value, text: `${text}\n${curve.name}: ${format(value)}` }]
    }),
  )
  const path = (curve: RateChart['curves'][number]) =>
    trials
      .map(({ perSecond }, index) => ({ perSecond, value: curve.values[index] ?? null }))
      .toSorted((a, b) => a.perSecond - b.perSecond)
      .flatMap(({ perSecond, value }) =>
        value === null ? [] : [`${pixels((perSecond / last) * unitWidth)} ${pixels(y(value))}`],
      )
      .join('L')
  const at = mark === null ? '0' : percent(mark.perSecond / last)
  const marked = html`<line class="curve green thin" x1="${at}" x2="${at}" y1="0" y2="${rateHeight}"/><text class="mark" x="${at}" y="-4" text-anchor="middle">${mark?.label ?? ''}</text>`
  const diagonal = html`<path class="curve grey dashed thin" d="M0 ${rateHeight}L${pixels((edge / last) * unitWidth)} ${pixels(y(edge))}"/>`
  const colors = Object.entries(meanings).filter(([color]) => trials.some(trial => trial.color === color))
  const seen = [
    ...colors.map(([color, name]) => [`f-${color}`, name] as const),
    ...(trials.some(({ isRing }) => isRing) ? [['ring', ring] as const] : []),
  ]
  return plot(
    { title, note, height: rateHeight },
    legend(curves, seen),
    html`${valueAxis(values, y, format)}
${axis(
  rates.map(tick => ({ at: tick / last, label: `${tick}/s` })),
  rateHeight,
)}
${mark === null ? nothing : marked}
${stretched(rateHeight, [hasDiagonal ? diagonal : nothing, ...curves.map(curve => html`<path class="curve ${curve.color}" d="M${path(curve)}"/>`)])}
${points.map(({ perSecond, look, value, text }) => html`<circle class="${look}" r="3.5" cx="${percent(perSecond / last)}" cy="${pixels(y(value))}"><title>${text}</title></circle>`)}
${bound === null ? nothing : boundLine(bound, y)}`,
  )
}

const heatHeight = 240

function heatMap({ title, note, endMs, stages, stepMs, fromMs, perOctave, counts }: HeatMapChart): Html {
  const rows = counts[0]?.length ?? 0
  const toMs = fromMs * 2 ** (rows / perOctave)
  const y = (ms: number) => heatHeight * (1 - Math.log(ms / fromMs) / Math.log(toMs / fromMs))
  const height = heatHeight / rows
  const width = percent(stepMs / endMs)
  const max = Math.max(1, ...counts.flat())
  const cells = counts.map((column, index) =>
    column.map((value, row) => {
      if (value === 0) return null
      // The square root keeps a single response visible next to a thousand.
      const strength = 0.18 + 0.82 * Math.sqrt(value / max)
      const top = pixels(heatHeight - (row + 1) * height)
      return html`<rect class="cell" fill-opacity="${pixels(strength)}" x="${percent((index * stepMs) / endMs)}" width="${width}" y="${top}" height="${pixels(height)}"><title>${value} from ${formatDuration(fromMs * 2 ** (row / perOctave))}</title></rect>`
    }),
  )
  return plot(
    { title, note, height: heatHeight },
    legend([], [], rolesOf(stages, endMs)),
    html`${stageBands(stages, endMs, heatHeight)}${timeAxis(endMs, heatHeight)}
${valueAxis(logTicks(fromMs, toMs), y, formatDuration)}
<line class="base" x1="0" x2="100%" y1="${heatHeight}" y2="${heatHeight}"/>
${cells}`,
  )
}

function lanesChart(chart: LanesChart, inline: (words: Words) => Html): Html {
  const { axis: shown, height, isWide, lanes } = chart
  const { scale, from, to } = shown
  const share = (value: number) =>
    scale === 'log' ? Math.log(value / from) / Math.log(to / from) : (value - from) / (to - from)
  const x = (value: number) => Math.min(1, Math.max(0, share(value)))
  const ticks = scale === 'plain' ? [] : scale === 'log' ? logTicks(from, to) : timeTicks(to)
  const grid = ticks.map(
    tick => html`<line class="grid" x1="${percent(x(tick))}" x2="${percent(x(tick))}" y1="0" y2="${height}"/>`,
  )
  const labels = ticks.map(tick => ({ at: x(tick), label: timeLabel(tick) }))
  const below = html`<svg class="chart axis" height="1" aria-hidden="true">${axis(labels, 0)}</svg>`
  return html`<figure${isWide ? html` class="effects"` : nothing}>${captioned(chart)}
<div class="lanes">${lanes.map(lane => laneOf(lane, height, grid, x, inline))}${ticks.length === 0 ? nothing : below}</div></figure>\n`
}

function laneOf(
  { name, label, end, marks }: Lane,
  height: number,
  grid: readonly Html[],
  x: (value: number) => number,
  inline: (words: Words) => Html,
): Html {
  const shades = marks.filter(({ mark }) => mark === 'shade')
  const drawn = marks.filter(({ mark }) => mark !== 'shade')
  const base = html`<line class="base" x1="0" x2="100%" y1="${height}" y2="${height}"/>`
  return html`<span class="who">${inline(name)}</span><svg class="chart lane" height="${height}" role="img" aria-label="${label}">${shades.map(mark => markOf(mark, height, x))}${grid}${drawn.map(mark => markOf(mark, height, x))}${shades.length === 0 ? base : nothing}</svg><span class="end">${inline(end)}</span>`
}

function markOf(mark: Mark, height: number, x: (value: number) => number): Html {
  const at = (value: number) => percent(x(value))
  const upright = (look: string, value: number, text: Html) =>
    html`<line class="${look}" x1="${at(value)}" x2="${at(value)}" y1="0" y2="${height}">${text}</line>`
  switch (mark.mark) {
    case 'shade':
      return html`<rect class="room" x="${at(mark.from)}" width="${percent(x(mark.to) - x(mark.from))}" y="0" height="${height}"/>`
    case 'bar': {
      const tall = mark.share * (height - 6)
      const width = Math.max(0.002, x(mark.to) - x(mark.from))
      return html`<rect class="f-blue" x="${at(mark.from)}" width="${percent(width)}" y="${pixels(height - tall)}" height="${pixels(tall)}"><title>${mark.text}</title></rect>`
    }
    case 'bars': {
      const width = x(mark.step) * unitWidth
      const bars = mark.shares.map((share, index) =>
        share === 0
          ? ''
          : `M${pixels(index * width)} ${height}V${pixels(height * (1 - share))}h${pixels(width)}V${height}Z`,
      )
      return stretched(height, html`<path class="${mark.isPale ? 'held ' : ''}f-teal" d="${bars.join('')}"/>`)
    }
    case 'span':
      return html`<line class="curve ${mark.color}" x1="${at(mark.from)}" x2="${at(mark.to)}" y1="${height / 2}" y2="${height / 2}"/>`
    case 'point':
      return html`<circle class="f-${mark.color}" r="4" cx="${at(mark.at)}" cy="${pixels(height / 2)}"><title>${mark.text}</title></circle>`
    case 'tick':
      return upright(mark.look === 'base' ? 'base' : 'percentile', mark.at, nothing)
    case 'refusal':
      return upright(mark.isUnexpected ? 'refusal unexpected' : 'refusal', mark.at, html`<title>${mark.text}</title>`)
  }
}

/** A tile has room for this many characters in the size of its class. */
function lengthClass(value: string): string | null {
  if (value.length <= 7) return null
  return value.length <= 10 ? 'long' : 'longer'
}

const tiles = ({ tiles: all }: TilesChart): Html =>
  html`<dl class="tiles">${all.map(
    ({ name, value, of, note, tone }) =>
      html`<div class="tile"><dt>${name}</dt><dd class="${[tone, lengthClass(value)].filter(Boolean).join(' ')}">${value}${of === undefined ? nothing : html` <span>of ${of}</span>`}</dd><dd class="note">${note}</dd></div>`,
  )}</dl>\n`

const dots = ({ rows }: DotsChart): Html =>
  html`<div class="clauses">${rows.map(
    ({ name, dots: all }) =>
      html`<span class="quiet">${name}</span><ul class="dots">${all.map(({ tone, text }) => html`<li class="${tone}" title="${text}"></li>`)}</ul>`,
  )}</div>\n`
