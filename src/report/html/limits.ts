import type { LimitResult } from '../../audits/audit.ts'
import { count, formatDuration, NO_VALUE } from '../../lib/format.ts'
import type { LimitSeries } from '../../metrics/limit-series.ts'
import type { Series } from '../../metrics/series.ts'
import type { Report } from '../report.ts'
import { type Html, html, nothing } from './html.ts'
import { endOf } from './load.ts'
import { timeAxis } from './svg-chart.ts'
import { percent, pixels } from './svg-scale.ts'

const laneHeight = 30
/** The width of a lane in its own units; it is stretched to whatever there is. */
const unitWidth = 1_000
/** The judge whose findings a refusal that should not have come is among. */
const limiter = 'limiter'

export function limitsSection(report: Report): Html {
  const { limits, series, findings } = report
  if (limits.length === 0) return nothing
  const lanes = series?.limits.filter(({ limit, refusedMs }) => limit !== null || refusedMs.length > 0) ?? []
  const accused = new Set(
    findings.filter(({ check }) => check === limiter).flatMap(({ examples }) => examples.flatMap(({ seqs }) => seqs)),
  )
  const drawn =
    series === null || lanes.length === 0
      ? nothing
      : html`<figure><figcaption><h3>Windows of each caller</h3><span class="quiet">how much of the limit was used, as the answers said; each line is a 429, red where it is known to have been unexpected. ${limits.length > lanes.length ? `The ${lanes.length} busiest of ${limits.length}.` : ''}</span></figcaption>
<div class="lanes">${lanes.map(lane => laneRow(lane, series, accused, useOf(limits, lane)))}<svg class="chart axis" height="1" aria-hidden="true">${timeAxis(endOf(series), 0)}</svg></div></figure>`
  return html`<section id="limits"><h2>Limits</h2>${scopesTable(limits)}${drawn}</section>`
}

const useOf = (limits: readonly LimitResult[], { caller, scope }: LimitSeries): LimitResult | undefined =>
  limits.find(use => use.caller === caller && use.scope === scope)

function laneRow(
  { caller, scope, limit, used, refusedMs, refusedSeqs }: LimitSeries,
  series: Series,
  accused: ReadonlySet<number>,
  use: LimitResult | undefined,
): Html {
  const windowMs = use?.windowMs ?? 0
  const unexpected = use?.unexpected429 ?? 0
  const endMs = endOf(series)
  const width = (series.stepMs / endMs) * unitWidth
  const most = Math.max(1, limit ?? 0, ...used.map(value => value ?? 0))
  const bar = (value: number, column: number) => {
    const top = pixels(laneHeight - (value / most) * laneHeight)
    return `M${pixels(column * width)} ${laneHeight}V${top}h${pixels(width)}V${laneHeight}Z`
  }
  // What was used stays used until its window is over, although no answer says so again.
  let last = { value: 0, column: Number.NEGATIVE_INFINITY }
  const held = used.map((value, column) => {
    if (value !== null) last = { value, column }
    const isHeld = value === null && last.value > 0 && (column - last.column) * series.stepMs <= windowMs
    return isHeld ? bar(last.value, column) : ''
  })
  const said = used.map((value, column) => (value === null ? '' : bar(value, column)))
  const bars = html`<svg width="100%" height="${laneHeight}" viewBox="0 0 ${unitWidth} ${laneHeight}" preserveAspectRatio="none"><path class="held f-teal" d="${held.join('')}"/><path class="f-teal" d="${said.join('')}"/></svg>`
  const marks = refusedMs.map((ms, index) => {
    const seq = refusedSeqs[index] ?? -1
    const isAccused = accused.has(seq) || (unexpected > 0 && unexpected === use?.rejected)
    const kind = isAccused ? 'refusal accused' : 'refusal'
    return html`<line class="${kind}" x1="${percent(ms / endMs)}" x2="${percent(ms / endMs)}" y1="-2" y2="${laneHeight + 2}"><title>429 to request ${seq} at ${formatDuration(ms)}</title></line>`
  })
  const peak = Math.max(0, ...used.map(value => value ?? 0))
  const refusals = refusedMs.length === 0 ? '' : `, ${refusedMs.length} × 429`
  return html`<span class="who">${caller} <span class="quiet">${scope}</span></span><svg class="chart lane" height="${laneHeight}" role="img" aria-label="Use of ${scope} by ${caller}"><rect class="room" x="0" y="0" width="100%" height="${laneHeight}"/>${bars}${marks}</svg><span class="end">${peak} of ${limit ?? NO_VALUE}${refusals}${unexpected === 0 ? nothing : html`, <b class="bad">${unexpected} unexpected</b>`}</span>`
}

function scopesTable(limits: readonly LimitResult[]): Html {
  const keyOf = ({ scope, tier, windowMs }: LimitResult) => JSON.stringify([scope, tier, windowMs])
  const groups = [...new Set(limits.map(keyOf))].map(key => limits.filter(use => keyOf(use) === key))
  const sum = (uses: readonly LimitResult[], of: (use: LimitResult) => number) =>
    uses.reduce((total, use) => total + of(use), 0)
  const cell = (name: string, value: number, isBad = false) =>
    html`<td class="n ${isBad && value > 0 ? 'bad' : ''}" data-is="${name}">${count(value)}</td>`
  return html`<div class="wide"><table class="cards"><thead><tr><th>limit</th><th>tier</th><th class="n">callers</th><th class="n">allowed</th><th class="n">accepted</th><th class="n">429</th><th class="n">unexpected 429</th><th class="n">missing 429</th></tr></thead><tbody>
${groups.map(uses => {
  const [first] = uses
  const allowed =
    first?.limit === null || first === undefined
      ? NO_VALUE
      : `${count(first.limit)} per ${formatDuration(first.windowMs)}`
  const total = (name: string, of: (use: LimitResult) => number, isBad = false) => cell(name, sum(uses, of), isBad)
  return html`<tr><td class="words">${first?.scope ?? ''}</td><td>${first?.tier ?? ''}</td>${cell('callers', new Set(uses.map(({ caller }) => caller)).size)}<td class="n" data-is="allowed">${allowed}</td>${total('accepted', use => use.accepted)}${total('429', use => use.rejected)}${total('unexpected 429', use => use.unexpected429, true)}${total('missing 429', use => use.missing429, true)}</tr>`
})}</tbody></table></div>`
}
