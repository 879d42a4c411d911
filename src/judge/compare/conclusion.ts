import { formatExact, plural, type Unit } from '../../lib/format.ts'
import { samplesFor } from '../metrics/histogram.ts'
import type { ChangeVerdict, ComparedRow, Effect } from './comparison.ts'
import { minSlices, minValues } from './estimates.ts'

/** Changed numbers that the headline names; the rest is counted. */
const maxNamed = 3

/**
 * The result of a comparison in one sentence or two: the numbers that changed, then the counts of all others.
 * `obstacle`: why the comparison cannot tell; null: it can.
 */
export function headlineOf(rows: readonly ComparedRow[], obstacle: string | null): string {
  const of = (verdict: ChangeVerdict) => rows.filter(row => row.verdict === verdict)
  const [regressed, improved, unchanged] = [of('regressed'), of('improved'), of('unchanged')]
  const isChanged = regressed.length + improved.length > 0
  const parts = [
    ...(regressed.length === 0 ? [] : [`Regressed: ${namesOf(regressed)}`]),
    ...(improved.length === 0
      ? []
      : [regressed.length > 0 ? `${improved.length} improved` : `Improved: ${namesOf(improved)}`]),
    ...(unchanged.length === 0
      ? []
      : [`${isChanged ? unchanged.length : plural(unchanged.length, 'number')} unchanged`]),
    ...openText(rows),
  ]
  const lead = regressed.length > 0 ? [] : [obstacle === null ? 'No regression.' : `Cannot tell: ${obstacle}.`]
  return [...lead, ...(parts.length === 0 ? [] : [`${parts.join('; ')}.`])].join(' ')
}

/** Times of one call in one stage rise together, so the first of them stands for the others. */
function namesOf(changed: readonly ComparedRow[]): string {
  const size = ({ effect }: ComparedRow) => (effect === null ? Number.POSITIVE_INFINITY : Math.abs(effect.value))
  const kindOf = ({ call, stage, unit, measure }: ComparedRow) => [call, stage, unit === 'ms' ? unit : measure].join()
  const leading = changed.filter((row, index) => changed.findIndex(other => kindOf(other) === kindOf(row)) === index)
  const named = leading.toSorted((a, b) => size(b) - size(a)).slice(0, maxNamed)
  const left = changed.length - named.length
  return `${named.map(changeWords).join(', ')}${left > 0 ? ` and ${left} more` : ''}`
}

/** `latency p50 of chat in steady +12.6 % (101 → 113.7 ms)`. */
function changeWords({ measure, call, stage, unit, base, run, effect }: ComparedRow): string {
  const change = effect === null ? '' : ` ${formatChange(effect.value, effect.kind)}`
  const [before, after] = [base, run].map(value => (value === null ? '–' : formatCompared(value, unit)))
  const suffix = / ?[^\d.]+$/.exec(after ?? '')?.[0] ?? ''
  const short = suffix !== '' && before?.endsWith(suffix) ? before.slice(0, -suffix.length) : before
  return `${measure} of ${call} in ${stage}${change} (${short} → ${after})`
}

/** `60 could not be compared (52 too few values, 8 too much variation)`; nothing if all could. */
function openText(rows: readonly ComparedRow[]): readonly string[] {
  const groups = obstaclesOf(rows)
  const total = groups.reduce((sum, { count }) => sum + count, 0)
  if (total === 0) return []
  const why = groups.length === 1 ? groups[0]?.words : groups.map(({ count, words }) => `${count} ${words}`).join(', ')
  return [`${total} could not be compared (${why})`]
}

/** Why numbers could not be compared, most frequent first, and what would make them comparable. */
export function obstaclesOf(
  rows: readonly ComparedRow[],
): readonly { readonly words: string; readonly count: number; readonly remedy: string | null }[] {
  const groups = new Map<string, { count: number; readonly remedy: string | null }>()
  for (const { verdict, reason } of rows) {
    if (verdict !== 'cannot-tell') continue
    const { words, remedy } = obstacles.find(({ start }) => reason.startsWith(start)) ?? { words: reason, remedy: null }
    const group = groups.get(words) ?? { count: 0, remedy }
    group.count++
    groups.set(words, group)
  }
  return [...groups].map(([words, group]) => ({ words, ...group })).toSorted((a, b) => b.count - a.count)
}

/** `too few values (60): Send more requests: …`, most frequent first. */
export const obstacleLines = (rows: readonly ComparedRow[]): readonly string[] =>
  obstaclesOf(rows).map(({ words, count, remedy }) => `${words} (${count})${remedy === null ? '' : `: ${remedy}`}`)

const moreTime = 'Make the stage longer, so that its requests spread over more time.'
const calmer = 'Use a faster machine or more --workers.'
const again = 'Let the run end by itself, with a verdict.'

/** Reasons of rows by how they start, in few words; and what to do. */
const obstacles: readonly { readonly start: string; readonly words: string; readonly remedy: string }[] = [
  {
    start: 'too few values',
    words: 'too few values',
    remedy: `Send more requests: a p50 or p95 needs ${minValues} values of its call in its stage, a p99 ${samplesFor(99)}.`,
  },
  {
    start: 'values too close in time',
    words: 'values too close in time',
    remedy: `${moreTime} A number needs values in ${minSlices} of the slices of its stage.`,
  },
  {
    start: 'it varies too much',
    words: 'too much variation',
    remedy: 'Give more baselines, best five, or send more requests.',
  },
  { start: 'the run did not end', words: 'the run did not end by itself', remedy: again },
  { start: 'the run is inconclusive', words: 'the run is inconclusive', remedy: again },
  {
    start: 'its baseline',
    words: 'no sound baseline',
    remedy: 'Give a baseline that ended by itself, with a verdict.',
  },
  {
    start: 'arrivals of its stage were dropped',
    words: 'dropped arrivals',
    remedy: 'Raise bounds: max-in-flight, or lower the rate, until no arrival is dropped.',
  },
  { start: 'Turnpike was late', words: 'Turnpike was late', remedy: calmer },
  { start: 'the lateness of Turnpike', words: 'changed lateness of Turnpike', remedy: calmer },
]

/** A compared value with its unit: four significant digits. */
export const formatCompared = (value: number, unit: Unit): string => formatExact(Number(value.toPrecision(4)), unit)

/** `+9.8 %`, or `-1.25 points` between ratios. */
export const formatChange = (value: number, kind: Effect['kind']): string =>
  `${formatSigned(value, kind)} ${kind === 'relative' ? '%' : 'points'}`

/** The same without the unit. */
export function formatSigned(value: number, kind: Effect['kind']): string {
  const shown = Number((value * 100).toFixed(kind === 'relative' ? 1 : 2))
  return shown === 0 ? '±0' : `${shown < 0 ? '' : '+'}${shown}`
}
