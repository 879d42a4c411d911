import { count, formatDuration, formatRatio, NO_VALUE, plural, threeDigits } from '../../lib/format.ts'
import {
  clip,
  heading,
  type Page,
  paint,
  right,
  type TableCell,
  table,
  tableWidth,
  wrap,
} from '../../lib/text-layout.ts'
import { type Ends, isProbe, totalOf } from '../probe-facts.ts'
import type { CallFacts, Report } from '../report.ts'

/** A column that no call has a value for is left out; so are, where the page is narrow, those of the highest `rank`. */
type Column = { readonly title: string; readonly rank: number; readonly text: (facts: CallFacts) => string }

const columns: readonly Column[] = [
  { title: 'sent', rank: 0, text: facts => count(facts.count) },
  { title: 'latency p50', rank: 0, text: facts => formatDuration(facts.latencyMs.p50) },
  { title: 'p95', rank: 0, text: facts => formatDuration(facts.latencyMs.p95) },
  { title: 'p99', rank: 3, text: facts => formatDuration(facts.latencyMs.p99) },
  { title: 'ttft p50', rank: 1, text: facts => formatDuration(facts.ttftMs.p50) },
  { title: 'p95', rank: 4, text: facts => formatDuration(facts.ttftMs.p95) },
  { title: 'tpot p50', rank: 5, text: facts => formatDuration(facts.tpotMs.p50) },
  { title: 'icl p95', rank: 6, text: facts => formatDuration(facts.iclMs.p95) },
  { title: 'tokens/s', rank: 2, text: facts => digits(facts.outputTokensPerSecond) },
  { title: 'good/s', rank: 7, text: facts => digits(facts.goodputPerSecond) },
  { title: 'good', rank: 1, text: facts => formatRatio(facts.goodRatio) },
]

export function callsText(report: Report, page: Page): readonly string[] {
  const shown = report.calls.filter(facts => facts.stage === null || isOneOfSeveral(facts, report.calls))
  const calls = shown.filter(facts => !isProbe(facts))
  const probes = probesText(
    shown.filter(facts => isProbe(facts) && facts.stage === null),
    page,
  )
  if (calls.length === 0) return probes.length === 0 ? [] : [...heading(page, 'Calls'), ...probes]
  const valued = columns.filter(({ text }) => calls.some(facts => text(facts) !== NO_VALUE))
  const [titles = '', ...rows] = table(page, 2, fittingCells(calls, valued, page))
  const body = calls.flatMap((facts, index) => [rows[index] ?? '', ...(facts.stage === null ? ends(facts, page) : [])])
  return [...heading(page, 'Calls'), paint(page, 'dim', titles), ...body, ...probes]
}

function probesText(probes: readonly CallFacts[], page: Page): readonly string[] {
  if (probes.length === 0) return []
  const all = totalOf(probes)
  const title = `${plural(probes.length, 'probe')}, ${count(all.count)} sent`
  return [`  ${paint(page, 'bold', title)}`, ...ends(all, page)]
}

function fittingCells(
  calls: readonly CallFacts[],
  shown: readonly Column[],
  page: Page,
): readonly (readonly TableCell[])[] {
  const cells = [
    [{ text: '' }, ...shown.map(column => right(column.title))],
    ...calls.map(facts => [name(facts), ...shown.map(column => right(column.text(facts)))]),
  ]
  const highest = Math.max(...shown.map(column => column.rank))
  if (tableWidth(2, cells) <= page.columns || highest === 0) return cells
  const fewer = shown.filter(column => column.rank < highest)
  return fittingCells(calls, fewer, page)
}

/** A call that was made in one stage only needs no row for it. */
const isOneOfSeveral = ({ call }: CallFacts, calls: readonly CallFacts[]): boolean =>
  calls.filter(other => other.call === call).length > 2

const LONGEST_NAME = 24

const name = ({ call, stage }: CallFacts): TableCell =>
  stage === null ? { text: clip(call, LONGEST_NAME), style: 'bold' } : { text: clip(`  in ${stage}`, LONGEST_NAME) }

/** How the requests of a call ended. */
function ends({ statuses, failed, dropped }: Ends, page: Page): readonly string[] {
  const parts = [
    ...Object.entries(statuses).map(([status, n]) => `${status} × ${count(n)}`),
    ...(failed > 0 ? [`failed × ${count(failed)}`] : []),
    ...(dropped > 0 ? [`dropped × ${count(dropped)}`] : []),
  ]
  return wrap(page, parts.join(', '), 4)
}

const digits = (perSecond: number | null): string => (perSecond === null ? NO_VALUE : threeDigits(perSecond))
