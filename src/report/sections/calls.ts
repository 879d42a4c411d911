import { count, formatDuration, formatRatio, NO_VALUE, plural, threeDigits } from '../../lib/format.ts'
import { type Block, type Column, code, type Medium, type Row, toned } from '../blocks.ts'
import type { CallFacts, Report } from '../document.ts'

/** How the requests of a call, or of several calls, ended. */
type Ends = Pick<CallFacts, 'statuses' | 'failed' | 'dropped'>

type CallColumn = {
  /** By medium, for those that show the column. */
  readonly titles: { readonly [M in Medium]?: string }
  readonly value: (facts: CallFacts) => string
  /** The media that leave the column out where no call has a value for it. */
  readonly optionalIn: readonly Medium[]
  readonly priority: number
}

/** In every medium: only text leaves it out where it is empty. */
const figure = (title: string, value: CallColumn['value'], priority = 0): CallColumn => ({
  titles: { text: title, markdown: title, html: title },
  value,
  optionalIn: ['text'],
  priority,
})

/** Of streams and their tokens, which many runs do not have. */
const ofStreams = (titles: CallColumn['titles'], value: CallColumn['value'], priority: number): CallColumn => ({
  titles,
  value,
  optionalIn: ['text', 'html'],
  priority,
})

const allColumns: readonly CallColumn[] = [
  { ...figure('sent', facts => count(facts.count)), optionalIn: [] },
  figure('latency p50', facts => formatDuration(facts.latencyMs.p50)),
  figure('p95', facts => formatDuration(facts.latencyMs.p95)),
  figure('p99', facts => formatDuration(facts.latencyMs.p99), 3),
  { ...figure('slowest', facts => formatDuration(facts.latencyMs.max)), titles: { html: 'slowest' } },
  ofStreams({ text: 'ttft p50', markdown: 'TTFT p50', html: 'TTFT p50' }, facts => formatDuration(facts.ttftMs.p50), 1),
  ofStreams({ text: 'p95', markdown: 'p95', html: 'p95' }, facts => formatDuration(facts.ttftMs.p95), 4),
  ofStreams({ text: 'tpot p50', html: 'TPOT p50' }, facts => formatDuration(facts.tpotMs.p50), 5),
  ofStreams({ text: 'icl p95' }, facts => formatDuration(facts.iclMs.p95), 6),
  ofStreams({ text: 'tokens/s', html: 'tokens/s' }, facts => digits(facts.outputTokensPerSecond), 2),
  { ...figure('good/s', facts => digits(facts.goodputPerSecond), 7), titles: { text: 'good/s', html: 'good/s' } },
  figure('good', facts => formatRatio(facts.goodRatio), 1),
]

const digits = (perSecond: number | null): string => (perSecond === null ? NO_VALUE : threeDigits(perSecond))

const maxName = 24

/** Each call over all stages, then by stage where it has several; all probes in one row, except in Markdown. */
export function callsSection({ calls }: Report): readonly Block[] {
  if (calls.length === 0) return []
  const isOneOfSeveral = (facts: CallFacts) => calls.filter(({ call }) => call === facts.call).length > 2
  const shown = calls.filter(facts => !isProbe(facts) && (facts.stage === null || isOneOfSeveral(facts)))
  const probes = calls.filter(facts => isProbe(facts) && facts.stage === null)
  const columns = allColumns.map(({ titles, optionalIn, value, priority }): Column => {
    const isEmpty = shown.every(facts => value(facts) === NO_VALUE)
    const left = Object.entries(titles).filter(([medium]) => !isEmpty || !optionalIn.includes(medium as Medium))
    return { priority, align: 'right', title: Object.fromEntries(left) }
  })
  const all = totalOf(probes)
  const title = plural(probes.length, 'probe')
  return [
    { kind: 'heading', id: 'calls', text: 'Calls' },
    {
      kind: 'table',
      columns: [
        { title: { text: '', markdown: 'call', html: '' }, maxWidth: maxName },
        ...columns,
        { title: { markdown: 'ended', html: 'ended' }, wraps: true },
      ],
      rows: [
        ...shown.map(callRow),
        ...probes.map((probe): Row => ({ ...callRow(probe), in: ['markdown'] })),
        ...(probes.length === 0 ? [] : [probesRow(title, all)]),
      ],
    },
    ...(probes.length === 0
      ? []
      : ([
          { kind: 'text', in: ['text'], text: toned('strong', `${title}, ${count(all.count)} sent`) },
          { kind: 'text', in: ['text'], text: endsOf(all), isNested: true },
        ] as const)),
  ]
}

function callRow(facts: CallFacts): Row {
  const { call, stage } = facts
  const values = allColumns.map(({ value }) => value(facts))
  const ends = endsOf(facts)
  if (stage === null)
    return {
      cells: [{ text: toned('strong', call), markdown: code(call), html: toned('strong', call) }, ...values, ends],
      notes: [{ text: ends }],
    }
  const name = { text: `  in ${stage}`, html: toned('quiet', `\u2003in ${stage}`) }
  return { cells: [name, ...values, ends], in: ['text', 'html'] }
}

const probesRow = (title: string, all: ReturnType<typeof totalOf>): Row => ({
  cells: [toned('strong', title), count(all.count), ...allColumns.slice(1).map(() => ''), endsOf(all)],
  in: ['html'],
})

const endsOf = ({ statuses, failed, dropped }: Ends): string =>
  [
    ...Object.entries(statuses).map(([status, times]) => `${status} × ${count(times)}`),
    ...(failed > 0 ? [`failed × ${count(failed)}`] : []),
    ...(dropped > 0 ? [`dropped × ${count(dropped)}`] : []),
  ].join(', ')

/** No response to a probe is good or bad by itself: its clause says what was promised. */
const isProbe = ({ goodRatio }: CallFacts): boolean => goodRatio === null

/** There may be dozens of probes, each sent once or twice: how all of them ended says enough. */
function totalOf(probes: readonly CallFacts[]): Ends & Pick<CallFacts, 'count'> {
  const sum = (of: (facts: CallFacts) => number) => probes.reduce((total, facts) => total + of(facts), 0)
  const statuses = [...new Set(probes.flatMap(facts => Object.keys(facts.statuses)))].toSorted()
  return {
    count: sum(facts => facts.count),
    statuses: Object.fromEntries(statuses.map(status => [status, sum(facts => facts.statuses[status] ?? 0)])),
    failed: sum(facts => facts.failed),
    dropped: sum(facts => facts.dropped),
  }
}
