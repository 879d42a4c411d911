import { count, formatDuration, formatRatio, plural } from '../lib/format.ts'
import type { Page } from '../lib/text-layout.ts'
import { type Block, chart, code, type Row, right, statusTones, toned, type Words } from '../report/blocks.ts'
import type { Verdict } from '../report/document.ts'
import { renderHtmlPage } from '../report/render/html.ts'
import { renderTextPage } from '../report/render/text.ts'
import { type ComparedNumber, changeOf, type PairedTimes, valuesOf } from './compare-numbers.ts'
import type { ComparedClause } from './compare-promises.ts'
import type { TargetDiff } from './compare-sides.ts'

const statuses = {
  'no-worse': 'pass',
  better: 'pass',
  worse: 'fail',
  'cannot-tell': 'inconclusive',
} as const satisfies Readonly<Record<string, Verdict>>

/** For a terminal. */
export const renderDiff = (diff: TargetDiff, page: Page): string => renderTextPage(diffPage(diff), page)

/** One file that opens offline and without scripts. */
export const renderDiffPage = (diff: TargetDiff): string => renderHtmlPage(diffPage(diff))

function diffPage(diff: TargetDiff): readonly Block[] {
  const { verdict, scenario, seed, reasons, numbers } = diff
  const isCharge = ({ measure }: ComparedNumber) => measure === 'credits' || measure === 'cost'
  return [
    {
      kind: 'heading',
      text: scenario,
      verdict: { status: statuses[verdict], words: verdict.replace('-', ' ') },
    },
    { kind: 'list', look: 'reasons', items: reasons },
    ...sideBlocks(diff),
    { kind: 'text', look: 'facts', text: `seed ${seed}, the same requests to both at the same time` },
    ...clauseBlocks(diff),
    ...limitBlocks(diff),
    ...numberBlocks('charges', 'Charges', numbers.filter(isCharge)),
    ...numberBlocks(
      'times',
      'Times and failures',
      numbers.filter(number => !isCharge(number)),
    ),
    ...diff.times.map(times => timesChart(times, numbers)),
  ]
}

const section = (id: string, text: string): Block => ({ kind: 'heading', id, text })

const sideBlocks = ({ old, new: fresh }: TargetDiff): readonly Block[] => [
  section('sides', 'Sides'),
  {
    kind: 'table',
    folds: true,
    columns: [{ title: '' }, { title: 'target' }, right('requests'), right('spent'), { title: 'verdict alone' }],
    rows: [['OLD', old] as const, ['NEW', fresh] as const].map(([name, side]) => ({
      cells: [name, side.target, count(side.sent), `$${side.spentUsd}`, side.verdict],
    })),
  },
]

function clauseBlocks({ clauses, bothKept }: TargetDiff): readonly Block[] {
  const side = ({ judged, violated, because }: ComparedClause['old']) => {
    if (because !== null) return 'not judged'
    return judged === null ? count(violated) : `${count(violated)} of ${count(judged)}`
  }
  return [
    section('contract', 'Contract'),
    { kind: 'text', text: `Both kept ${plural(bothKept, 'clause')}.` },
    {
      kind: 'table',
      folds: true,
      columns: [
        { title: 'violated' },
        right('OLD'),
        right('NEW'),
        { title: '' },
        { title: { html: 'first violation' }, wraps: true },
      ],
      rows: clauses.map(each => ({
        cells: [
          code(each.name),
          side(each.old),
          side(each.new),
          verdictWords(each.verdict, wordOf(each)),
          { html: each.new.message ?? each.old.message ?? '' },
        ],
      })),
    },
  ]
}

function wordOf({ verdict, old }: ComparedClause): string {
  if (verdict === 'worse') return old.violated === 0 ? 'only NEW' : 'NEW more often'
  return { same: 'both', better: 'only OLD', 'cannot-tell': 'cannot tell' }[verdict]
}

const limitBlocks = ({ limits }: TargetDiff): readonly Block[] => [
  section('limits', 'Limits'),
  ...(limits.length === 0
    ? [{ kind: 'text', text: 'Both state the same limits, or none.' } as const]
    : limits.map(({ text }) => ({ kind: 'text', text }) as const)),
]

function numberBlocks(id: string, title: string, numbers: readonly ComparedNumber[]): readonly Block[] {
  if (numbers.length === 0) return []
  const left = numbers.filter(({ isRequired, verdict }) => !isRequired && verdict === 'cannot-tell').length
  return [
    section(id, title),
    {
      kind: 'table',
      folds: true,
      columns: [
        { title: 'measure' },
        { title: 'call' },
        { title: '' },
        { title: 'OLD → NEW' },
        { title: 'change' },
        right('margin'),
      ],
      rows: numbers.map(numberRow),
    },
    ...(left === 0
      ? []
      : [
          {
            kind: 'text',
            look: 'small',
            text: `${plural(left, 'number')} would need more requests. The verdict does not wait for them.`,
          } as const,
        ]),
  ]
}

/** Text shows a call of its own only if it says something that all calls together do not. */
function numberRow(number: ComparedNumber): Row {
  const { measure, call, verdict, unit, margin } = number
  const isTold = verdict === 'worse' || verdict === 'better' || call === null || unit === 'credits' || unit === 'usd'
  return {
    cells: [
      measure,
      call ?? 'all',
      verdictWords(verdict, verdict.replace('-', ' ')),
      valuesOf(number),
      changeOf(number),
      formatRatio(margin),
    ],
    ...(isTold ? {} : { in: ['html'] }),
  }
}

const verdictWords = (verdict: keyof typeof statuses | 'same', words: string): Words =>
  verdict === 'same' ? words : toned(statusTones[statuses[verdict]], words)

/** A shorter step than this share of the run cannot be seen. */
const minStep = 1 / 240

/** The mean of both sides in each slice, and what NEW may reach. */
function timesChart({ measure, slices }: PairedTimes, numbers: readonly ComparedNumber[]): Block {
  const margin = numbers.find(each => each.measure === measure && each.call === null)?.margin ?? 0
  const fromMs = Math.min(...slices.map(slice => slice.startMs))
  const endMs = Math.max(...slices.map(slice => slice.endMs)) - fromMs
  const stepMs = Math.max(endMs * minStep, Math.min(...slices.map(slice => slice.endMs - slice.startMs)))
  const values = (timeIn: (slice: PairedTimes['slices'][number]) => number) =>
    Array.from({ length: Math.ceil(endMs / stepMs - 1e-9) }, (_, step) => {
      const middle = fromMs + (step + 0.5) * stepMs
      const slice = slices.find(({ startMs, endMs: to }) => middle >= startMs && middle < to)
      return slice === undefined ? null : timeIn(slice)
    })
  return chart({
    draw: 'time',
    title: `${measure} by slice`,
    note: `geometric mean of all calls; NEW may take ${formatRatio(margin)} longer`,
    ...{ endMs, height: 140, stages: [], format: formatDuration, silence: 'No time was measured.' },
    curves: [
      { name: 'OLD', color: 'grey', stepMs, values: values(({ old }) => old) },
      { name: 'NEW', color: 'blue', stepMs, values: values(({ new: fresh }) => fresh) },
      { name: 'margin', color: 'red', stroke: 'dashed', stepMs, values: values(({ old }) => old * (1 + margin)) },
    ],
  })
}
