import { type Html, html, nothing } from './html.ts'
import { type Colour, legend } from './svg-chart.ts'
import { percent, pixels, valueTicks } from './svg-scale.ts'

export type RateChart = {
  readonly title: string
  readonly note: string
  readonly trials: readonly {
    readonly perSecond: number
    readonly colour: keyof typeof meanings
    readonly says: string
  }[]
  /** One value for each trial; null: none. */
  readonly curves: readonly {
    readonly name: string
    readonly colour: Colour
    readonly values: readonly (number | null)[]
  }[]
  /** Whether a line shows where a value is the rate itself. */
  readonly isDiagonal: boolean
  /** A rate that is marked; null: none. */
  readonly mark: { readonly perSecond: number; readonly label: string } | null
  readonly format: (value: number) => string
}

const height = 200
/** The width of a plot in its own units; it is stretched to whatever there is. */
const unitWidth = 1_000

/** Values against the rates at which they were seen. Lines stretch with the page; text and points do not. */
export function rateChart(chart: RateChart): Html {
  const { title, note, trials, isDiagonal, mark, format } = chart
  const curves = chart.curves.filter(curve => curve.values.some(value => value !== null))
  const rates = valueTicks(Math.max(0, ...trials.map(({ perSecond }) => perSecond)))
  const values = valueTicks(Math.max(0, ...curves.flatMap(curve => curve.values.map(value => value ?? 0))))
  const [last, top] = [rates.at(-1) ?? 1, values.at(-1) ?? 1]
  const y = (value: number) => height - (value / top) * height
  const at = (index: number): number => trials[index]?.perSecond ?? 0
  const order = trials.map((_, index) => index).toSorted((a, b) => at(a) - at(b))
  const path = (of: readonly (number | null)[]) =>
    order
      .flatMap(index => {
        const value = of[index] ?? null
        return value === null ? [] : [`${pixels((at(index) / last) * unitWidth)} ${pixels(y(value))}`]
      })
      .join('L')
  const edge = Math.min(last, top)
  return html`<figure>
<figcaption><h3>${title}</h3><span class="quiet">${note}</span></figcaption>
${legend(curves, dots(trials))}
<div class="plot"><svg class="chart" height="${height}" role="img" aria-label="${title}">
${values.map(tick => html`<line class="${tick === 0 ? 'base' : 'grid'}" x1="0" x2="100%" y1="${pixels(y(tick))}" y2="${pixels(y(tick))}"/><text x="-8" y="${pixels(y(tick) + 4)}" text-anchor="end">${format(tick)}</text>`)}
${rates.map(tick => html`<line class="grid" x1="${percent(tick / last)}" x2="${percent(tick / last)}" y1="${height}" y2="${height + 4}"/><text x="${percent(tick / last)}" y="${height + 17}" text-anchor="${tick === last ? 'end' : 'middle'}">${tick}/s</text>`)}
${mark === null ? nothing : html`<line class="curve green thin" x1="${percent(mark.perSecond / last)}" x2="${percent(mark.perSecond / last)}" y1="0" y2="${height}"/><text class="mark" x="${percent(mark.perSecond / last)}" y="-4" text-anchor="middle">${mark.label}</text>`}
<svg width="100%" height="${height}" viewBox="0 0 ${unitWidth} ${height}" preserveAspectRatio="none" overflow="visible">
${isDiagonal ? html`<path class="curve grey dashed thin" d="M0 ${height}L${pixels((edge / last) * unitWidth)} ${pixels(y(edge))}"/>` : nothing}
${curves.map(curve => html`<path class="curve ${curve.colour}" d="${path(curve.values) === '' ? '' : `M${path(curve.values)}`}"/>`)}</svg>
${curves.map(curve => points(chart, curve.values, last, y))}
</svg></div></figure>`
}

const meanings = { green: 'held', red: 'broke', amber: 'says nothing of the target' } as const

/** What the colours of the points mean, of those that are there. */
const dots = (trials: RateChart['trials']) =>
  Object.entries(meanings)
    .filter(([colour]) => trials.some(trial => trial.colour === colour))
    .map(([colour, name]) => ({ colour, name }))

function points(
  { trials, format }: RateChart,
  of: readonly (number | null)[],
  last: number,
  y: (value: number) => number,
): Html {
  return html`${trials.map(({ perSecond, colour, says }, index) => {
    const value = of[index] ?? null
    if (value === null) return nothing
    return html`<circle class="f-${colour}" r="3.5" cx="${percent(perSecond / last)}" cy="${pixels(y(value))}"><title>${`${says}\n${format(value)}`}</title></circle>`
  })}`
}
