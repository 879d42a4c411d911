import { type Html, html, nothing } from './html.ts'
import { percent, pixels, timeLabel, timeTicks, valueTicks } from './svg-scale.ts'

export type Colour = 'blue' | 'teal' | 'amber' | 'red' | 'green' | 'violet' | 'grey'

/** One value for each step of time; null: none. */
export type Curve = {
  readonly name: string
  readonly colour: Colour
  readonly stroke?: 'dashed' | 'dotted' | 'thin'
  /** Filled down to the base line. */
  readonly filled?: boolean
  readonly stepMs: number
  /** Whether a value belongs to the end of its step, as a running total does; otherwise to its middle. */
  readonly atEnd?: boolean
  readonly values: readonly (number | null)[]
}

export type Stage = { readonly name: string; readonly startMs: number; readonly endMs: number }

export type TimeChart = {
  readonly title: string
  readonly note: string
  readonly endMs: number
  readonly height: number
  readonly stages: readonly Stage[]
  readonly curves: readonly Curve[]
  readonly format: (value: number) => string
  /** Said in place of the plot where all values are 0, or none is there. */
  readonly silence: string
}

/** The width of a plot in its own units; it is stretched to whatever there is. */
const unitWidth = 1_000
const mostReaches = 120

/** Curves over time. Lines stretch with the page; text and points do not. */
export function timeChart(chart: TimeChart): Html {
  const { title, note, endMs, height, stages, curves, format, silence } = chart
  const most = Math.max(0, ...curves.flatMap(({ values }) => values.map(value => value ?? 0)))
  if (most === 0)
    return html`<figure class="silent"><figcaption><h3>${title}</h3></figcaption><p class="quiet small">${silence}</p></figure>`
  const ticks = valueTicks(most)
  const top = ticks.at(-1) ?? 1
  const y = (value: number) => height - (value / top) * height
  return html`<figure>
<figcaption><h3>${title}</h3><span class="quiet">${note}</span></figcaption>
${legend(curves)}
<div class="plot"><svg class="chart" height="${height}" role="img" aria-label="${title}">
${stageBands(stages, endMs, height)}
${ticks.map(tick => html`<line class="${tick === 0 ? 'base' : 'grid'}" x1="0" x2="100%" y1="${pixels(y(tick))}" y2="${pixels(y(tick))}"/><text x="-8" y="${pixels(y(tick) + 4)}" text-anchor="end">${format(tick)}</text>`)}
${timeAxis(endMs, height)}
<svg width="100%" height="${height}" viewBox="0 0 ${unitWidth} ${height}" preserveAspectRatio="none" overflow="visible">
${curves.map(curve => path(curve, endMs, height, y))}</svg>
${curves.map(curve => lonePoints(curve, endMs, y))}
${reaches(curves, endMs, height, format)}
</svg></div></figure>`
}

/** The labels below a plot. The outer ones are kept within it. */
export const timeAxis = (endMs: number, height: number): Html =>
  html`${timeTicks(endMs).map(
    tick =>
      html`<line class="grid" x1="${percent(tick / endMs)}" x2="${percent(tick / endMs)}" y1="${height}" y2="${height + 4}"/><text x="${percent(tick / endMs)}" y="${height + 17}" text-anchor="${tick / endMs > 0.96 ? 'end' : 'middle'}">${timeLabel(tick)}</text>`,
  )}`

const narrowest = 0.16

/** Every other stage is shaded; the name stands where there is room for it. */
export function stageBands(stages: readonly Stage[], endMs: number, height: number): Html {
  const shown = stages.filter(({ startMs }) => startMs < endMs)
  return html`${shown.map(({ name, startMs, endMs: stageEndMs }, index) => {
    const from = startMs / endMs
    const width = Math.min(stageEndMs, endMs) / endMs - from
    const label = html`<text x="${percent(from + width / 2)}" y="-4" text-anchor="middle">${name.slice(0, 18)}</text>`
    return html`<rect class="${index % 2 === 0 ? 'stage' : 'reach'}" x="${percent(from)}" width="${percent(Math.max(0, width))}" y="0" height="${height}"><title>${name}</title></rect>${width >= narrowest ? label : nothing}`
  })}`
}

const timeOf = ({ stepMs, atEnd }: Curve, index: number): number => (index + (atEnd ? 1 : 0.5)) * stepMs

function path(curve: Curve, endMs: number, height: number, y: (value: number) => number): Html {
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
  const area = curve.filled ? html`<path class="area f-${curve.colour}" d="${filled}"/>` : nothing
  return html`${area}<path class="curve ${curve.colour} ${curve.stroke ?? ''}" d="${along}"/>`
}

const xOf = (point: string | undefined): string => point?.split(' ')[0] ?? '0'

/** A value between two that are missing is no line. */
const lonePoints = (curve: Curve, endMs: number, y: (value: number) => number): Html =>
  html`${curve.values.map((value, index) =>
    value === null || (curve.values[index - 1] ?? null) !== null || (curve.values[index + 1] ?? null) !== null
      ? null
      : html`<circle class="f-${curve.colour}" r="2.5" cx="${percent(Math.min(timeOf(curve, index), endMs) / endMs)}" cy="${pixels(y(value))}"/>`,
  )}`

/** What a pointer reads off: a tall strip for each step, with the values of all curves. */
function reaches(curves: readonly Curve[], endMs: number, height: number, format: (value: number) => string): Html {
  const [first] = curves
  if (first === undefined) return nothing
  const across = Math.max(1, Math.ceil(first.values.length / mostReaches))
  const strips = Array.from({ length: Math.ceil(first.values.length / across) }, (_, strip) => strip * across)
  return html`${strips.map(index => {
    const atMs = index * first.stepMs
    const values = curves.map(({ name, values: all }) => {
      const value = all[index] ?? null
      return value === null ? null : `\n${name}: ${format(value)}`
    })
    const width = Math.min(across * first.stepMs, Math.max(0, endMs - atMs))
    return html`<rect class="reach" x="${percent(atMs / endMs)}" width="${percent(width / endMs)}" y="0" height="${height}"><title>${timeLabel(atMs)}${values}</title></rect>`
  })}`
}

export const legend = (
  curves: readonly Pick<Curve, 'name' | 'colour' | 'stroke'>[],
  dots: readonly { readonly name: string; readonly colour: string }[] = [],
): Html =>
  html`<ul class="legend">${curves.map(
    ({ name, colour, stroke }) =>
      html`<li><svg aria-hidden="true"><line class="curve ${colour} ${stroke ?? ''}" x1="1" x2="17" y1="5" y2="5"/></svg>${name}</li>`,
  )}${dots.map(({ name, colour }) => html`<li><svg aria-hidden="true"><circle class="f-${colour}" r="3.5" cx="9" cy="5"/></svg>${name}</li>`)}</ul>`
