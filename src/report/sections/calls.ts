import { count, formatDuration, formatRatio, NO_VALUE, plural, threeDigits } from '../../lib/format.ts'
import { type Block, code, type Row, right, toned } from '../blocks.ts'
import type { CallFacts, Report } from '../document.ts'

/** How the requests of a call, or of several calls, ended. */
type Ends = Pick<CallFacts, 'statuses' | 'failed' | 'left' | 'dropped'>

type CallColumn = readonly [title: string, value: (facts: CallFacts) => string, priority: number]

const sentColumn: CallColumn = ['sent', facts => count(facts.count), 0]

/** A column without any value is left out. */
const valueColumns: readonly CallColumn[] = [
  ['latency p50', facts => formatDuration(facts.latencyMs.p50), 0],
  ['p95', facts => formatDuration(facts.latencyMs.p95), 0],
  ['p99', facts => formatDuration(facts.latencyMs.p99), 3],
  ['max', facts => formatDuration(facts.latencyMs.max), 8],
  ['TTFT p50', facts => formatDuration(facts.ttftMs.p50), 1],
  ['p95', facts => formatDuration(facts.ttftMs.p95), 4],
  ['TPOT p50', facts => formatDuration(facts.tpotMs.p50), 5],
  ['ICL p95', facts => formatDuration(facts.iclMs.p95), 6],
  ['tokens/s', facts => digits(facts.outputTokensPerSecond), 2],
  ['good/s', facts => digits(facts.goodputPerSecond), 7],
  ['good', facts => formatRatio(facts.goodRatio), 1],
]

const digits = (perSecond: number | null): string => (perSecond === null ? NO_VALUE : threeDigits(perSecond))

const maxName = 24

/** Each call over all stages, then by stage if it has several; all probes in one row. */
export function callsSection({ calls }: Report): readonly Block[] {
  if (calls.length === 0) return []
  const isOneOfSeveral = (facts: CallFacts) => calls.filter(({ call }) => call === facts.call).length > 2
  const shown = calls.filter(facts => !isProbe(facts) && (facts.stage === null || isOneOfSeveral(facts)))
  const probes = calls.filter(facts => isProbe(facts) && facts.stage === null)
  const columns = [sentColumn, ...valueColumns.filter(([, value]) => shown.some(facts => value(facts) !== NO_VALUE))]
  return [
    { kind: 'heading', id: 'calls', text: 'Calls' },
    {
      kind: 'table',
      columns: [
        { title: 'call', maxWidth: maxName },
        ...columns.map(([title, , priority]) => ({ ...right(title), priority })),
        { title: { markdown: 'outcomes', html: 'outcomes' }, wraps: true },
      ],
      rows: [
        ...shown.map(facts => callRow(facts, columns)),
        ...(probes.length === 0 ? [] : [probesRow(probes, columns)]),
      ],
    },
  ]
}

function callRow(facts: CallFacts, columns: readonly CallColumn[]): Row {
  const { call, stage } = facts
  const values = columns.map(([, value]) => value(facts))
  const ends = endsOf(facts)
  if (stage === null) return { cells: [toned('strong', code(call)), ...values, ends], notes: [{ text: ends }] }
  return { cells: [toned('quiet', `\u2003in ${stage}`), ...values, ends] }
}

function probesRow(probes: readonly CallFacts[], columns: readonly CallColumn[]): Row {
  const all = totalOf(probes)
  const ends = endsOf(all)
  return {
    cells: [toned('strong', plural(probes.length, 'probe')), count(all.count), ...columns.slice(1).map(() => ''), ends],
    notes: [{ text: ends }],
  }
}

const endsOf = ({ statuses, failed, left, dropped }: Ends): string =>
  [
    ...Object.entries(statuses).map(([status, times]) => `${status} × ${count(times)}`),
    ...(failed > 0 ? [`failed × ${count(failed)}`] : []),
    ...(left > 0 ? [`left × ${count(left)}`] : []),
    ...(dropped > 0 ? [`dropped × ${count(dropped)}`] : []),
  ].join(', ')

/** A response to a probe is neither good nor bad: the clause of the probe decides. So is one that its client left. */
const isProbe = ({ goodRatio, left }: CallFacts): boolean => goodRatio === null && left === 0

/** There may be dozens of probes, each sent once or twice; their outcomes together are enough. */
function totalOf(probes: readonly CallFacts[]): Ends & Pick<CallFacts, 'count'> {
  const sum = (of: (facts: CallFacts) => number) => probes.reduce((total, facts) => total + of(facts), 0)
  const statuses = [...new Set(probes.flatMap(facts => Object.keys(facts.statuses)))].toSorted()
  return {
    count: sum(facts => facts.count),
    statuses: Object.fromEntries(statuses.map(status => [status, sum(facts => facts.statuses[status] ?? 0)])),
    failed: sum(facts => facts.failed),
    left: sum(facts => facts.left),
    dropped: sum(facts => facts.dropped),
  }
}
