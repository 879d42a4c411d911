import { count, duration, NO_VALUE, plural, ratio, threeDigits } from '../../metrics/quantity.ts'
import { type Block, type Column, code, type Medium, type Row, toned } from '../blocks.ts'
import type { CallFacts, Report } from '../document.ts'

/** How the requests of a call, or of several calls, ended. */
type Ends = Pick<CallFacts, 'statuses' | 'failed' | 'dropped'>

type CallColumn = Omit<Column, 'title'> & {
  /** By medium, for those that show the column. */
  readonly titles: { readonly [M in Medium]?: string }
  /** The media that leave the column out where no call has a value for it. */
  readonly optionalIn: readonly Medium[]
  readonly value: (facts: CallFacts) => string
}

const everywhere = (title: string) => ({ text: title, markdown: title, html: title })
const ofStreams: readonly Medium[] = ['text', 'html']

const allColumns: readonly CallColumn[] = [
  { titles: everywhere('sent'), optionalIn: [], value: facts => count(facts.count) },
  { titles: everywhere('latency p50'), optionalIn: ['text'], value: facts => duration(facts.latencyMs.p50) },
  { titles: everywhere('p95'), optionalIn: ['text'], value: facts => duration(facts.latencyMs.p95) },
  { titles: everywhere('p99'), priority: 3, optionalIn: ['text'], value: facts => duration(facts.latencyMs.p99) },
  { titles: { html: 'slowest' }, optionalIn: [], value: facts => duration(facts.latencyMs.max) },
  {
    titles: { text: 'ttft p50', markdown: 'TTFT p50', html: 'TTFT p50' },
    priority: 1,
    optionalIn: ofStreams,
    value: facts => duration(facts.ttftMs.p50),
  },
  { titles: everywhere('p95'), priority: 4, optionalIn: ofStreams, value: facts => duration(facts.ttftMs.p95) },
  {
    titles: { text: 'tpot p50', html: 'TPOT p50' },
    priority: 5,
    optionalIn: ofStreams,
    value: facts => duration(facts.tpotMs.p50),
  },
  { titles: { text: 'icl p95' }, priority: 6, optionalIn: ofStreams, value: facts => duration(facts.iclMs.p95) },
  {
    titles: { text: 'tokens/s', html: 'tokens/s' },
    priority: 2,
    optionalIn: ofStreams,
    value: facts => digits(facts.outputTokensPerSecond),
  },
  {
    titles: { text: 'good/s', html: 'good/s' },
    priority: 7,
    optionalIn: ['text'],
    value: facts => digits(facts.goodputPerSecond),
  },
  { titles: everywhere('good'), priority: 1, optionalIn: ['text'], value: facts => ratio(facts.goodRatio) },
]

const digits = (perSecond: number | null): string => (perSecond === null ? NO_VALUE : threeDigits(perSecond))

const maxName = 24

/** Each call over all stages, then by stage where it has several; all probes in one row, except in Markdown. */
export function callsSection({ calls }: Report): readonly Block[] {
  if (calls.length === 0) return []
  const isOneOfSeveral = (facts: CallFacts) => calls.filter(({ call }) => call === facts.call).length > 2
  const shown = calls.filter(facts => !isProbe(facts) && (facts.stage === null || isOneOfSeveral(facts)))
  const probes = calls.filter(facts => isProbe(facts) && facts.stage === null)
  const columns = allColumns.map(({ titles, optionalIn, value, ...column }): Column => {
    const isEmpty = shown.every(facts => value(facts) === NO_VALUE)
    const left = Object.entries(titles).filter(([medium]) => !isEmpty || !optionalIn.includes(medium as Medium))
    return { ...column, align: 'right', title: Object.fromEntries(left) }
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
