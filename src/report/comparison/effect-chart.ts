import type { ComparedRow, Comparison } from '../../compare/comparison.ts'
import { outcomeStatus } from '../../compare/comparison.ts'
import { type Html, html, nothing } from '../html/html.ts'
import { percent, pixels } from '../html/svg-scale.ts'
import { isChanged, isTold, outcomeWords, rowWords } from './comparison-words.ts'

const laneHeight = 22
const mostLanes = 24
/** What is three times as much, or more, ends at the edge: else it would be all that can be seen. */
const mostShown = 2
const middle = laneHeight / 2
const colours = { pass: 'green', fail: 'red', inconclusive: 'amber' } as const

/** How much each number has changed, with its range, beside what does not matter. Nothing where no change can be told. */
export function effectChart({ rows, criteria: { minimalEffect } }: Comparison): Html {
  const told = rows
    .filter(isTold)
    .flatMap(row => (row.effect?.kind === 'relative' ? [{ ...row, effect: row.effect }] : []))
  const lanes = told.toSorted((a, b) => Number(isChanged(b)) - Number(isChanged(a))).slice(0, mostLanes)
  if (lanes.length === 0) return nothing
  const farthest = Math.max(2 * minimalEffect, ...lanes.flatMap(({ effect: { low, high } }) => [-low, high]))
  const most = Math.min(mostShown, farthest)
  const x = (effect: number) => percent(0.5 + (0.48 * Math.max(-most, Math.min(most, effect))) / most)
  const room = html`<rect class="room" x="${x(-minimalEffect)}" width="${percent((0.96 * minimalEffect) / most)}" y="0" height="${laneHeight}"/><line class="base" x1="50%" x2="50%" y1="0" y2="${laneHeight}"/>`
  return html`<figure class="effects"><figcaption><h3>How much has changed</h3><span class="quiet">the point with its 95 % range; in the shade no change matters; to the right it is more${told.length > lanes.length ? `; ${lanes.length} of ${told.length}` : ''}</span></figcaption>
<div class="lanes">${lanes.map(row => lane(row, row.effect, room, x))}</div></figure>`
}

function lane(
  row: ComparedRow,
  { value, low, high }: { readonly value: number; readonly low: number; readonly high: number },
  room: Html,
  x: (effect: number) => string,
): Html {
  const colour = isChanged(row) ? colours[outcomeStatus[row.verdict]] : 'grey'
  const { effect } = rowWords(row)
  return html`<span class="who">${row.measure} <span class="quiet">${row.call} in ${row.stage}</span></span><svg class="chart lane" height="${laneHeight}" role="img" aria-label="${row.measure} of ${row.call}: ${effect}">${room}<line class="curve ${colour}" x1="${x(low)}" x2="${x(high)}" y1="${middle}" y2="${middle}"/><circle class="f-${colour}" r="4" cx="${x(value)}" cy="${pixels(middle)}"><title>${outcomeWords[row.verdict]}</title></circle></svg><span class="end">${effect}</span>`
}
