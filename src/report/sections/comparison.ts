import { formatChange, formatSigned } from '../../judge/compare/compare-runs.ts'
import { type ChangeVerdict, type ComparedRow, type Comparison, outcomeStatus } from '../../judge/compare/comparison.ts'

import { formatExact, formatRatio, NO_VALUE, plural } from '../../lib/format.ts'
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
} from '../blocks.ts'
import type { Report } from '../document.ts'

const outcomeWords: Readonly<Record<ChangeVerdict, string>> = {
  improved: 'improved',
  unchanged: 'unchanged',
  regressed: 'regressed',
  'cannot-tell': 'cannot tell',
}

const outcomeTone = (outcome: ChangeVerdict) => statusTones[outcomeStatus[outcome]]

/** A section of a report: what has changed first, then the rest. */
export function comparisonSection({ comparison }: Report): readonly Block[] {
  if (comparison === null) return []
  const changed = comparison.rows.filter(isChanged)
  return [...sectionHead(comparison), ...changes(comparison, changed), counts(comparison), ...unchanged(comparison)]
}

/** A page of its own. In text it has every number that can be told, also those that have not changed. */
export function comparisonPage(comparison: Comparison): readonly Block[] {
  const { verdict, scenario, reasons, run, baselines, rows } = comparison
  const words = outcomeWords[verdict]
  const names = baselines.flatMap(({ id }) => [' ', code(id)])
  const runs = [run, ...baselines]
  return [
    { kind: 'heading', text: scenario, verdict: { status: outcomeStatus[verdict], words } },
    { kind: 'list', look: 'reasons', items: reasons },
    {
      kind: 'text',
      look: 'facts',
      afterGap: true,
      text: {
        text: toned('quiet', `run ${run.id} · ${criteriaWords(comparison)}`),
        markdown: ['run ', code(run.id), ' · baselines', ...names, ` · ${criteriaWords(comparison)}`],
      },
    },
    ...baselines.map(({ id, startedAt }): Block => {
      const text = toned('quiet', `baseline ${id} from ${startedAt}`)
      return { kind: 'text', look: 'facts', text: { text } }
    }),
    {
      kind: 'list',
      in: ['html'],
      look: 'terms',
      terms: runs.map((_, index) => (index === 0 ? 'run' : 'baseline')),
      items: runs.map(({ id, startedAt, target, version }) => [
        toned('strong', id),
        ` from ${startedAt}, against ${target}, turnpike ${version}`,
      ]),
    },
    ...inOnly(['html'], sectionHead(comparison)),
    ...inOnly(['text'], [rowTable(rows.filter(isTold))]),
    ...inOnly(['markdown', 'html'], changes(comparison, rows.filter(isChanged))),
    { ...counts(comparison), afterGap: true },
    ...unchanged(comparison),
  ]
}

const inOnly = (media: readonly Medium[], blocks: readonly Block[]): readonly Block[] =>
  blocks.map(block => ({ ...block, in: media }))

function sectionHead(comparison: Comparison): readonly Block[] {
  const { verdict } = comparison
  const outcome = { ...toned(outcomeTone(verdict), outcomeWords[verdict]), verdict: outcomeStatus[verdict] }
  const criteria = toned('quiet', criteriaWords(comparison))
  return [
    { kind: 'heading', id: 'comparison', text: 'Against the baseline' },
    {
      kind: 'text',
      look: 'headline',
      text: {
        text: [outcome, criteria],
        markdown: [outcome, ', ', criteria],
        html: [toned('strong', outcome), ' ', criteria],
      },
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
  const summary = 'What has not changed, and what cannot be told'
  return others.length === 0 ? [] : [{ kind: 'details', summary, blocks: [rowTable(others)] }]
}

const rowTable = (rows: readonly ComparedRow[]): Table => ({
  kind: 'table',
  isBare: true,
  folds: true,
  columns: [
    { title: '' },
    { title: { markdown: 'call', html: 'call' } },
    { title: 'measure' },
    right('baseline'),
    { title: { text: '' } },
    right('run'),
    right('effect'),
    { title: 'with 95 % confidence', wraps: true },
    { title: { markdown: 'sure', html: 'sure' } },
  ],
  rows: rows.map(tableRow),
})

function tableRow(row: ComparedRow): Row {
  const { call, stage, measure, verdict, reason } = row
  const { base, run, effect, range, confidence } = rowWords(row)
  const words = outcomeWords[verdict]
  const outcome = { ...toned(outcomeTone(verdict), words), verdict: outcomeStatus[verdict] }
  const reach = reason === '' ? range : reason
  const certain = confidence === '' ? range : `${range}, ${confidence} sure`
  return {
    group: cellOf(row),
    cells: [
      { text: outcome, markdown: outcome, html: verdict === 'unchanged' ? toned('quiet', words) : outcome },
      { markdown: [code(call), ' in ', code(stage)], html: [call, toned('quiet', ` in ${stage}`)] },
      measure,
      base,
      '→',
      run,
      effect,
      { text: toned('quiet', certain), markdown: reach, html: reach },
      confidence,
    ],
  }
}

/** The numbers of a row, as people read them. */
export function rowWords(row: ComparedRow) {
  const { unit, base, run, effect, confidence } = row
  const shown = (value: number | null) => (value === null ? NO_VALUE : formatExact(Number(value.toPrecision(4)), unit))
  return {
    base: shown(base),
    run: shown(run),
    effect: effect === null ? NO_VALUE : formatChange(effect.value, effect.kind),
    range:
      effect === null ? '' : `${formatSigned(effect.low, effect.kind)} … ${formatChange(effect.high, effect.kind)}`,
    // Where nothing has changed, the range says how sure that is.
    confidence:
      confidence === null || !isChanged(row) ? '' : confidence > 0.9995 ? '> 99.9 %' : formatRatio(confidence),
  }
}

/** What the comparison goes by. */
function criteriaWords({ baselines, criteria: { minEffect, noiseFloor } }: Comparison): string {
  return `against ${plural(baselines.length, 'baseline')} · what matters is ${formatRatio(minEffect)} · a run varies by ${formatRatio(noiseFloor)} at least`
}

const cellOf = ({ call, stage }: ComparedRow): string => `${call} in ${stage}`

const isChanged = ({ verdict }: ComparedRow): boolean => verdict === 'regressed' || verdict === 'improved'

const isTold = ({ verdict }: ComparedRow): boolean => verdict !== 'cannot-tell'

const maxLanes = 24
/** A larger effect ends at the edge: otherwise nothing else could be seen. */
const maxEffect = 2
const colors = { pass: 'green', fail: 'red', inconclusive: 'amber' } as const

/** How much each number has changed, with its range, over the shade of what does not matter. */
function effectChart({ rows, criteria: { minEffect } }: Comparison): readonly Block[] {
  const told = rows
    .filter(isTold)
    .flatMap(row => (row.effect?.kind === 'relative' ? [{ row, effect: row.effect }] : []))
  const shown = told.toSorted((a, b) => Number(isChanged(b.row)) - Number(isChanged(a.row))).slice(0, maxLanes)
  if (shown.length === 0) return []
  const farthest = Math.max(2 * minEffect, ...shown.flatMap(({ effect: { low, high } }) => [-low, high]))
  const max = Math.min(maxEffect, farthest)
  const clamped = (effect: number) => Math.max(-max, Math.min(max, effect))
  const left = told.length > shown.length ? `; ${shown.length} of ${told.length}` : ''
  const lanes: LanesChart = {
    draw: 'lanes',
    title: 'How much has changed',
    note: `the point with its 95 % range; in the shade no change matters; to the right it is more${left}`,
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
