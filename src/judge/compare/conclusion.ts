import { formatExact, plural, type Unit } from '../../lib/format.ts'
import type { Threshold } from '../../plan/plan.ts'
import { samplesFor } from '../metrics/histogram.ts'
import type { ChangeVerdict, ComparedRow, Criteria, Effect } from './comparison.ts'
import { minSlices, minValues } from './estimates.ts'
import type { ComparedMeasure } from './measures.ts'
import { noisiness, type TestResult } from './significance.ts'

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
    remedy: `Send more requests: a p50 needs ${minValues} values of its call in its stage, a p95 ${samplesFor(95)}, a p99 ${samplesFor(99)}.`,
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

/** A row with the test behind it. */
export type ClassifiedRow = {
  readonly row: ComparedRow
  readonly measure: ComparedMeasure
  readonly test: TestResult['test']
}

/** A call with fewer values in a stage is too rare to require a comparison of it. */
const minRequired = 30
/** However few values there are: a time that may have doubled is not compared. */
const doubling = 1
/** The bound that `n` values of a usual variation give is about this ÷ √n, on the scale of logarithms. */
const precisionOfValues = 5
/** As a multiple of the minimum effect. */
const finest = 2

/**
 * Why the comparison cannot exclude a regression; null: it can. For each call, some time must be as precise as its values
 * allow, and no time may have doubled. The same holds for each time that a threshold names.
 */
export function obstacleTo(
  rows: readonly ClassifiedRow[],
  thresholds: readonly Threshold[],
  isComplete: boolean,
  criteria: Criteria,
): string | null {
  if (!isComplete) return 'the run did not end by itself'
  if (rows.length === 0) return 'there is nothing to compare'
  return openCalls(rows, criteria) ?? openTimes(rows) ?? openThresholds(rows, thresholds, criteria)
}

/** Calls without one precise time in any stage. Rare calls are left out, but not all of them. */
function openCalls(rows: readonly ClassifiedRow[], criteria: Criteria): string | null {
  const times = rows.filter(({ measure }) => measure.kind === 'time')
  if (times.length === 0) return null
  const calls = groupBy(times.filter(isRequired), ({ row }) => row.call)
  if (calls.length === 0) return 'there are too few values to compare any time'
  const open = calls.flatMap(([call, required]) => {
    const ofCall = times.filter(({ row }) => row.call === call)
    const isKnown = ofCall.some(isConclusive) || required.some(each => isPrecise(each, criteria))
    const [best] = required.toSorted((a, b) => worstOf(a) - worstOf(b))
    return isKnown || best === undefined ? [] : [best.row]
  })
  const [best, ...others] = open
  if (best === undefined) return null
  const more = others.length === 0 ? '' : ` and of ${plural(others.length, 'other call')}`
  return `no time of ${best.call}${more} could be compared; ${best.measure} of ${best.call} in ${best.stage}: ${best.reason}`
}

/** Times of a call that may have doubled in every stage. Lateness may hide times that are much shorter than the others. */
function openTimes(rows: readonly ClassifiedRow[]): string | null {
  const required = rows.filter(each => isRequired(each) && (each.test.kind === 'made' || each.row.run === null))
  const open = groupBy(required, ({ row, measure }) => `${row.call} ${measure.timing}`).flatMap(([, medians]) => {
    const [best] = medians.toSorted((a, b) => worstOf(a) - worstOf(b))
    return best === undefined || isConclusive(best) || worstOf(best) <= doubling ? [] : [best.row]
  })
  const [first, ...others] = open
  if (first === undefined) return null
  const more = others.length === 0 ? '' : ` and ${plural(others.length, 'other time')}`
  return `${nameOf(first)}${more} may have doubled: ${first.reason}`
}

/** Times that a threshold names and that could not be compared in any stage, or of any call, that it selects. */
function openThresholds(
  rows: readonly ClassifiedRow[],
  thresholds: readonly Threshold[],
  criteria: Criteria,
): string | null {
  for (const threshold of thresholds) {
    const named = namedBy(threshold, rows)
    if (named.length === 0 || named.some(each => isConclusive(each) || isPrecise(each, criteria))) continue
    const [best] = named.toSorted((a, b) => worstOf(a) - worstOf(b))
    if (best !== undefined)
      return `the threshold ${threshold.expression} names a time that could not be compared; ${nameOf(best.row)}: ${best.row.reason}`
  }
  return null
}

/**
 * A percentile that is not compared is represented by the compared one below it, and a mean by the median. Of several
 * calls together, each compared percentile up to it stands for a part of the time.
 */
function namedBy({ measure, call, stage }: Threshold, rows: readonly ClassifiedRow[]): readonly ClassifiedRow[] {
  if (measure.kind !== 'timing') return []
  const percent = measure.of.kind === 'percentile' ? measure.of.percent : 50
  const selected = rows.filter(
    ({ row, measure: { timing } }) =>
      timing === measure.timing && (call ?? row.call) === row.call && (stage ?? row.stage) === row.stage,
  )
  const percents = selected.map(each => each.measure.percent ?? 0).filter(each => each <= Math.max(50, percent))
  const lowest = call === null ? 0 : Math.max(...percents)
  return selected.filter(each => percents.includes(each.measure.percent ?? 0) && (each.measure.percent ?? 0) >= lowest)
}

/** The calls whose medians could be compared, but none precisely enough to be unchanged; and how much worse they may be. */
export function looselyBounded(
  rows: readonly ClassifiedRow[],
): readonly { readonly call: string; readonly worst: number }[] {
  return groupBy(rows.filter(isRequired), ({ row }) => row.call).flatMap(([call, medians]) =>
    medians.some(isConclusive) ? [] : [{ call, worst: Math.min(...medians.map(worstOf)) }],
  )
}

/** A median of enough values in the baselines, so that a run without its values must explain itself. */
const isRequired = ({ measure, row, test }: ClassifiedRow): boolean =>
  measure.percent === 50 && row.base !== null && !(test.kind === 'made' && test.values < minRequired)

const isConclusive = ({ row }: ClassifiedRow): boolean => row.verdict !== 'cannot-tell'

const worstOf = ({ test }: ClassifiedRow): number => (test.kind === 'made' ? test.worst : Number.POSITIVE_INFINITY)

/** Whether the number is known as precisely as its number of values allows. */
function isPrecise(each: ClassifiedRow, { minEffect }: Criteria): boolean {
  const { test, measure } = each
  if (test.kind !== 'made') return false
  const limit = Math.max(
    finest * Math.log1p(minEffect) * noisiness(measure),
    Math.min(Math.log1p(doubling), precisionOfValues / Math.sqrt(test.values)),
  )
  return Math.log1p(worstOf(each)) <= limit
}

const nameOf = ({ measure, call, stage }: ComparedRow): string => `${measure} of ${call} in ${stage}`

const groupBy = <Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
): readonly (readonly [string, readonly Item[]])[] => {
  const groups = new Map<string, Item[]>()
  for (const item of items) {
    const group = groups.get(keyOf(item)) ?? []
    group.push(item)
    groups.set(keyOf(item), group)
  }
  return [...groups]
}
