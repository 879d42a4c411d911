import { type ChangeVerdict, type ComparedRow, type Comparison, outcomeStatus } from '../../judge/compare/comparison.ts'
import { formatChange, formatCompared, formatSigned, obstacleLines } from '../../judge/compare/conclusion.ts'

import { formatRatio, NO_VALUE, plural } from '../../lib/format.ts'
import {
  type Block,
  chart,
  code,
  type LanesChart,
  type Medium,
  type Row,
  right,
  statusTones,
  type Table,
  toned,
  type Words,
} from '../blocks.ts'
import type { Report } from '../document.ts'

const outcomeWords: Readonly<Record<ChangeVerdict, string>> = {
  improved: 'improved',
  unchanged: 'unchanged',
  regressed: 'regressed',
  'cannot-tell': 'cannot tell',
}

const outcomeTone = (outcome: ChangeVerdict) => statusTones[outcomeStatus[outcome]]

/** The section of a report: changes first, then the rest. */
export function comparisonSection({ comparison }: Report): readonly Block[] {
  if (comparison === null) return []
  const changed = comparison.rows.filter(isChanged)
  return [
    ...sectionHead(comparison),
    { kind: 'text', text: unbroken(resultOf(comparison)) },
    ...changes(comparison, changed),
    counts(comparison),
    ...advice(comparison),
    ...unchanged(comparison),
  ]
}

/** A separate page. In text it lists every conclusive number, because text has no details to unfold. */
export function comparisonPage(comparison: Comparison): readonly Block[] {
  const { verdict, scenario, reasons, run, baselines, rows } = comparison
  return [
    ...inOnly(['text'], [{ kind: 'text', text: resultOf(comparison) }]),
    { kind: 'heading', text: scenario, verdict: { status: outcomeStatus[verdict], words: outcomeWords[verdict] } },
    { kind: 'list', look: 'reasons', items: reasons.map(unbroken), in: ['markdown', 'html'] },
    { kind: 'list', look: 'reasons', items: reasons.slice(1), in: ['text'] },
    {
      kind: 'list',
      look: 'terms',
      afterGap: true,
      terms: ['run', ...baselines.map(() => 'baseline')],
      items: [run, ...baselines].map(({ id, startedAt, target, version }) => [
        code(id),
        ` from ${startedAt}, target ${target}, turnpike ${version}`,
      ]),
    },
    ...sectionHead(comparison),
    ...inOnly(['text'], [rowTable(rows.filter(isConclusive))]),
    ...inOnly(['markdown', 'html'], changes(comparison, rows.filter(isChanged))),
    { ...counts(comparison), afterGap: true },
    ...advice(comparison),
    ...unchanged(comparison),
  ]
}

/** On a page, a line never breaks between a number and its unit, or within `101 → 113.7 ms`. */
function unbroken(words: string): Readonly<Record<Medium, string>> {
  const html = words.replace(/(?<=\d) (?=(?:%|points|µs|ms|s|→)(?!\w))|(?<=→) /g, '\u00a0')
  return { text: words, markdown: words, html }
}

/** The result in one sentence or two. */
const resultOf = ({ reasons }: Comparison): string => reasons[0] ?? ''

/** What would make the numbers comparable that are not. */
function advice({ rows }: Comparison): readonly Block[] {
  const items = obstacleLines(rows)
  return items.length === 0 ? [] : [{ kind: 'list', look: 'counts', items, afterGap: true }]
}

const inOnly = (media: readonly Medium[], blocks: readonly Block[]): readonly Block[] =>
  blocks.map(block => ({ ...block, in: media }))

function sectionHead(comparison: Comparison): readonly Block[] {
  const { verdict } = comparison
  const words = toned('strong', outcomeWords[verdict])
  const outcome = { ...toned(outcomeTone(verdict), words), verdict: outcomeStatus[verdict] }
  const criteria = unbroken(criteriaWords(comparison))
  const headline = (medium: Medium): Words => [outcome, toned('quiet', criteria[medium])]
  return [
    { kind: 'heading', id: 'comparison', text: 'Against the baseline' },
    {
      kind: 'text',
      look: 'headline',
      text: { text: headline('text'), markdown: headline('markdown'), html: headline('html') },
    },
  ]
}

const changes = (comparison: Comparison, rows: readonly ComparedRow[]): readonly Block[] => [
  ...effectChart(comparison),
  rowTable(rows),
]

/** `rpc in steady: 12 unchanged, 1 cannot tell`, for each call and stage. */
function counts({ rows }: Comparison): Extract<Block, { kind: 'list' }> {
  const cells = [...new Set(rows.map(cellOf))]
  const items = cells.map(cell => {
    const ofCell = rows.filter(row => cellOf(row) === cell)
    const tallies = (['regressed', 'improved', 'unchanged', 'cannot-tell'] as const)
      .map(verdict => ({ verdict, count: ofCell.filter(row => row.verdict === verdict).length }))
      .filter(({ count }) => count > 0)
      .map(({ verdict, count }) => `${count} ${outcomeWords[verdict]}`)
    return `${cell}: ${tallies.join(', ')}`
  })
  return { kind: 'list', look: 'counts', items }
}

function unchanged({ rows }: Comparison): readonly Block[] {
  const others = rows.filter(row => !isChanged(row))
  const summary = 'Unchanged, and cannot tell'
  return others.length === 0 ? [] : [{ kind: 'details', summary, blocks: [rowTable(others)] }]
}

const rowTable = (rows: readonly ComparedRow[]): Table => ({
  kind: 'table',
  folds: true,
  columns: [
    { title: '' },
    { title: { markdown: 'call', html: 'call' } },
    { title: 'measure' },
    right('baseline'),
    right('run'),
    right('effect'),
    { title: '95 % interval', wraps: true },
    right('confidence'),
  ],
  rows: rows.map(tableRow),
})

function tableRow(row: ComparedRow): Row {
  const { call, stage, measure, verdict, reason } = row
  const { base, run, effect, range, confidence } = rowWords(row)
  const tone = verdict === 'unchanged' ? 'quiet' : outcomeTone(verdict)
  return {
    group: cellOf(row),
    cells: [
      { ...toned(tone, outcomeWords[verdict]), verdict: outcomeStatus[verdict] },
      { markdown: [code(call), ' in ', code(stage)], html: [call, toned('quiet', ` in ${stage}`)] },
      measure,
      base,
      run,
      effect,
      reason === '' ? range : reason,
      confidence,
    ],
  }
}

/** The numbers of a row, formatted. */
export function rowWords(row: ComparedRow) {
  const { unit, base, run, effect, confidence } = row
  const shown = (value: number | null) => (value === null ? NO_VALUE : formatCompared(value, unit))
  return {
    base: shown(base),
    run: shown(run),
    effect: effect === null ? NO_VALUE : formatChange(effect.value, effect.kind),
    range:
      effect === null ? '' : `${formatSigned(effect.low, effect.kind)} … ${formatChange(effect.high, effect.kind)}`,
    // If nothing changed, the range alone shows how certain that is.
    confidence:
      confidence === null || !isChanged(row) ? '' : confidence > 0.9995 ? '> 99.9 %' : formatRatio(confidence),
  }
}

function criteriaWords({ baselines, criteria: { minEffect, noiseFloor } }: Comparison): string {
  return `${plural(baselines.length, 'baseline')} · minimum effect ${formatRatio(minEffect)} · noise floor ${formatRatio(noiseFloor)}`
}

const cellOf = ({ call, stage }: ComparedRow): string => `${call} in ${stage}`

const isChanged = ({ verdict }: ComparedRow): boolean => verdict === 'regressed' || verdict === 'improved'

const isConclusive = ({ verdict }: ComparedRow): boolean => verdict !== 'cannot-tell'

const maxLanes = 24
/** A larger effect is cut at the edge; otherwise all others would be invisible. */
const maxEffect = 2
const colors = { pass: 'green', fail: 'red', inconclusive: 'amber' } as const

/** The change of each number, with its range. Changes below the minimum effect are shaded. */
function effectChart({ rows, criteria: { minEffect } }: Comparison): readonly Block[] {
  const conclusive = rows
    .filter(isConclusive)
    .flatMap(row => (row.effect?.kind === 'relative' ? [{ row, effect: row.effect }] : []))
  const shown = conclusive.toSorted((a, b) => Number(isChanged(b.row)) - Number(isChanged(a.row))).slice(0, maxLanes)
  if (shown.length === 0) return []
  const farthest = Math.max(2 * minEffect, ...shown.flatMap(({ effect: { low, high } }) => [-low, high]))
  const max = Math.min(maxEffect, farthest)
  const clamped = (effect: number) => Math.max(-max, Math.min(max, effect))
  const left = conclusive.length > shown.length ? `; ${shown.length} of ${conclusive.length} shown` : ''
  const lanes: LanesChart = {
    draw: 'lanes',
    title: 'Changes',
    note: `each change with its 95 % interval; right: more; shaded: below the minimum effect${left}`,
    axis: { scale: 'plain', from: -max / 0.96, to: max / 0.96 },
    height: 22,
    isWide: true,
    lanes: shown.map(({ row, effect }) => {
      const words = rowWords(row).effect
      const color = isChanged(row) ? colors[outcomeStatus[row.verdict]] : 'grey'
      return {
        name: [`${row.measure} `, toned('quiet', cellOf(row))],
        label: `${row.measure} of ${row.call}: ${words}`,
        end: words,
        marks: [
          { mark: 'shade', from: -minEffect, to: minEffect },
          { mark: 'tick', at: 0, look: 'base' },
          { mark: 'span', from: clamped(effect.low), to: clamped(effect.high), color },
          { mark: 'point', at: clamped(effect.value), color, text: outcomeWords[row.verdict] },
        ],
      }
    }),
  }
  return [chart(lanes)]
}
