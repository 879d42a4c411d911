import { capacityLabel, missedText, timingName, trialLabels, wasExceeded } from '../../judge/capacity/result.ts'
import { count, formatDuration, formatRate, formatRatio, NO_VALUE } from '../../lib/format.ts'

import { type Block, chart, code, type RateChart, right, type Table, type Tone, toned, type Words } from '../blocks.ts'
import type { CapacityResult, Percentiles, Report, TrialResult } from '../document.ts'

/** The result of each search: goodput and times against the offered rate, and each trial with the times of its calls. */
export function capacitySection({ capacity }: Report): readonly Block[] {
  if (capacity.length === 0) return []
  return [{ kind: 'heading', id: 'capacity', text: 'Capacity' }, ...capacity.flatMap(resultBlocks)]
}

function resultBlocks(result: CapacityResult): readonly Block[] {
  const measures = measuresOf(result)
  return [
    ...headline(result),
    ...charts(result, measures),
    trialTable(result.trials),
    ...measures.flatMap(measure => timesBlocks(result.trials, measure)),
  ]
}

/** One sentence, which starts with the rate. Other results, and older reports, show a label before their sentences. */
function headline(result: CapacityResult): readonly Block[] {
  const { stage, status, reason } = result
  const label = capacityLabel(result)
  const tone = status === 'found' || status === 'above-range' ? 'good' : 'doubtful'
  const rate = toned(tone, toned('strong', label))
  const place = toned('quiet', ['in ', code(stage)])
  if (!reason.startsWith(`${label} at `))
    return [
      { kind: 'text', look: 'headline', text: [rate, place] },
      { kind: 'text', text: reason, isNested: true },
    ]
  return [
    { kind: 'text', in: ['text'], text: toned(tone, `${stage}: ${reason}`) },
    { kind: 'text', in: ['markdown', 'html'], look: 'headline', text: [[rate, reason.slice(label.length)], place] },
  ]
}

const colors = { good: 'green', bad: 'red', doubtful: 'amber' } as const

function charts(result: CapacityResult, measures: readonly Measure[]): readonly Block[] {
  const { trials, ratePerSecond } = result
  const shared = {
    draw: 'rate',
    trials: trials.map(trial => ({
      perSecond: trial.offeredPerSecond,
      color: colors[toneOf(trial)],
      text: `${formatRate(trial.offeredPerSecond)}: ${trialWords(trial)}`,
      isRing: trial.purpose === 'confirm',
    })),
    meanings: { green: 'sustained', red: 'exceeded', amber: 'inconclusive' },
    ring: 'confirmation',
    mark: ratePerSecond === null ? null : { perSecond: ratePerSecond, label: capacityLabel(result) },
  } as const
  const timesChart = (
    title: string,
    boundMs: number | null,
    times: readonly (Percentiles | undefined)[],
  ): RateChart => ({
    ...shared,
    title,
    note: `of complete 2xx responses, against arrivals per second${boundMs === null ? '' : '; the dashed line: the SLO'}`,
    hasDiagonal: false,
    bound: boundMs === null ? null : { value: boundMs, label: `SLO ${formatDuration(boundMs)}` },
    format: value => (value === 0 ? '0' : formatDuration(value)),
    curves: [
      { name: 'p99', color: 'grey', values: times.map(each => each?.p99 ?? null) },
      { name: 'p95', color: 'amber', values: times.map(each => each?.p95 ?? null) },
      { name: 'median', color: 'blue', values: times.map(each => each?.p50 ?? null) },
    ],
  })
  return [
    chart({
      ...shared,
      title: 'Goodput',
      note: 'good responses per second against arrivals per second; the dashed line: all are good',
      hasDiagonal: true,
      bound: null,
      format: formatRate,
      curves: [{ name: 'goodput', color: 'blue', values: trials.map(trial => trial.goodputPerSecond) }],
    }),
    ...measures
      .filter(({ isChart }) => isChart)
      .map(({ call, timing, boundMs }) =>
        chart(timesChart(`${call} ${timingName(timing)}`, boundMs, timesOf(trials, call, timing))),
      ),
    ...(measures.length === 0
      ? [
          chart(
            timesChart(
              'Latency',
              null,
              trials.map(trial => trial.latencyMs),
            ),
          ),
        ]
      : []),
  ]
}

/** A timing of a call. `boundMs`: its SLO; null: none. */
type Measure = {
  readonly call: string
  readonly timing: string
  readonly boundMs: number | null
  /** A call with SLOs has a chart for each of them, and else one for its latency. */
  readonly isChart: boolean
}

/** What the trials measured, call by call; empty: an older version wrote the report. */
function measuresOf({ slo, trials }: CapacityResult): readonly Measure[] {
  const calls = [...new Set(trials.flatMap(trial => trial.calls.map(({ call }) => call)))]
  return calls.flatMap(call => {
    const bounds: Readonly<Record<string, number>> = slo[call] ?? {}
    const timings = trials.flatMap(trial => trial.calls.filter(each => each.call === call)).map(each => each.timesMs)
    return [...new Set(timings.flatMap(each => Object.keys(each)))].map(timing => {
      const boundMs = bounds[timing] ?? null
      return { call, timing, boundMs, isChart: boundMs !== null || Object.keys(bounds).length === 0 }
    })
  })
}

const timesOf = (trials: readonly TrialResult[], call: string, timing: string): readonly (Percentiles | undefined)[] =>
  trials.map(trial => trial.calls.find(each => each.call === call)?.timesMs[timing])

const columns: readonly (readonly [title: string, value: (trial: TrialResult) => string])[] = [
  ['achieved', trial => formatRate(trial.achievedPerSecond)],
  ['goodput', trial => formatRate(trial.goodputPerSecond)],
  ['good', trial => formatRatio(trial.goodRatio)],
  // The times of each call have a table of their own.
  ['p50', trial => (trial.calls.length > 0 ? NO_VALUE : formatDuration(trial.latencyMs.p50))],
  ['p95', trial => (trial.calls.length > 0 ? NO_VALUE : formatDuration(trial.latencyMs.p95))],
  ['p99', trial => (trial.calls.length > 0 ? NO_VALUE : formatDuration(trial.latencyMs.p99))],
  ['503', trial => count(trial.overloaded)],
  ['429', trial => count(trial.refused)],
  ['in-flight growth', trial => formatRate(trial.inFlightGrowthPerSecond)],
]

/** The outcome comes second: a phone shows only the first columns. Columns without any value are left out. */
function trialTable(trials: readonly TrialResult[]): Table {
  const shown = columns.filter(([, value]) => trials.some(trial => !['0', NO_VALUE].includes(value(trial))))
  const hasMisses = trials.some(trial => missedText(trial) !== '')
  return {
    kind: 'table',
    isNested: true,
    columns: [
      right('offered'),
      { title: 'outcome', wraps: true },
      ...(hasMisses ? [{ title: { markdown: 'bad responses', html: 'bad responses' }, wraps: true } as const] : []),
      ...shown.map(([title], index) => ({ ...right(title), priority: index === 0 ? 1 : 0 })),
    ],
    rows: trials.map(trial => {
      const missed = missedText(trial)
      return {
        cells: [
          formatRate(trial.offeredPerSecond),
          toned(toneOf(trial), trialWords(trial)),
          ...(hasMisses ? [missed] : []),
          ...shown.map(([, value]) => value(trial)),
        ],
        ...(missed === '' ? {} : { notes: [{ text: missed, lead: 'bad: ' }] }),
      }
    }),
  }
}

/** The quantiles of a timing in each trial; those beyond its SLO are red. */
function timesBlocks(trials: readonly TrialResult[], { call, timing, boundMs }: Measure): readonly Block[] {
  const bound = boundMs === null ? '' : `, SLO ${formatDuration(boundMs)}`
  const times = timesOf(trials, call, timing)
  const quantile = (ms: number | null | undefined): Words => {
    const words = formatDuration(ms ?? null)
    return boundMs !== null && (ms ?? 0) > boundMs ? toned('bad', words) : words
  }
  return [
    { kind: 'text', text: toned('strong', `${call} ${timingName(timing)}${bound}`), afterGap: true },
    {
      kind: 'table',
      isNested: true,
      columns: [right('offered'), right('p50'), right('p95'), right('p99'), { title: 'outcome', wraps: true }],
      rows: trials.map((trial, index) => ({
        cells: [
          formatRate(trial.offeredPerSecond),
          ...[times[index]?.p50, times[index]?.p95, times[index]?.p99].map(quantile),
          toned(toneOf(trial), trialWords(trial)),
        ],
      })),
    },
  ]
}

/** `sustained`, `confirm: sustained`, or `too many bad responses, 115/480` if the trial ended after 115 of 480 arrivals. */
function trialWords({ purpose, outcome, arrivals, planned }: TrialResult): string {
  const words = purpose === 'confirm' ? 'confirm: ' : ''
  const early = arrivals < planned ? `, ${count(arrivals)}/${count(planned)}` : ''
  return `${words}${trialLabels[outcome]}${early}`
}

const toneOf = (trial: TrialResult): Exclude<Tone, 'quiet' | 'strong'> =>
  trial.outcome === 'sustained' ? 'good' : wasExceeded(trial) ? 'bad' : 'doubtful'
