import { capacityLabel, trialLabels, wasExceeded } from '../../judge/capacity/result.ts'
import { count, formatDuration, formatRate, formatRatio, NO_VALUE } from '../../lib/format.ts'

import { type Block, chart, code, right, type Table, type Tone, toned } from '../blocks.ts'
import type { CapacityResult, Report, TrialResult } from '../document.ts'

/** The result of each search: goodput and latency against the offered rate, and each trial. */
export function capacitySection({ capacity }: Report): readonly Block[] {
  if (capacity.length === 0) return []
  return [{ kind: 'heading', id: 'capacity', text: 'Capacity' }, ...capacity.flatMap(resultBlocks)]
}

function resultBlocks(result: CapacityResult): readonly Block[] {
  const { stage, status, reason, trials } = result
  const words = capacityLabel(result)
  const tone = status === 'found' || status === 'above-range' ? 'good' : 'doubtful'
  return [
    {
      kind: 'text',
      look: 'headline',
      text: [toned(tone, toned('strong', words)), toned('quiet', ['in ', code(stage)])],
    },
    { kind: 'text', text: reason, isNested: true },
    ...charts(result, words),
    trialTable(trials),
  ]
}

const colors = { good: 'green', bad: 'red', doubtful: 'amber' } as const

function charts({ trials, ratePerSecond }: CapacityResult, words: string): readonly Block[] {
  const shared = {
    draw: 'rate',
    trials: trials.map(trial => ({
      perSecond: trial.offeredPerSecond,
      color: colors[toneOf(trial)],
      text: `${formatRate(trial.offeredPerSecond)}: ${trialWords(trial)}`,
    })),
    meanings: { green: 'sustained', red: 'exceeded', amber: 'inconclusive' },
    mark: ratePerSecond === null ? null : { perSecond: ratePerSecond, label: words },
  } as const
  return [
    chart({
      ...shared,
      title: 'Goodput',
      note: 'good responses per second against arrivals per second; the dashed line: all are good',
      hasDiagonal: true,
      format: formatRate,
      curves: [{ name: 'goodput', color: 'blue', values: trials.map(trial => trial.goodputPerSecond) }],
    }),
    chart({
      ...shared,
      title: 'Latency',
      note: 'of complete 2xx responses, against arrivals per second',
      hasDiagonal: false,
      format: value => (value === 0 ? '0' : formatDuration(value)),
      curves: [
        { name: 'p99', color: 'grey', values: trials.map(({ latencyMs }) => latencyMs.p99) },
        { name: 'p95', color: 'amber', values: trials.map(({ latencyMs }) => latencyMs.p95) },
        { name: 'median', color: 'blue', values: trials.map(({ latencyMs }) => latencyMs.p50) },
      ],
    }),
  ]
}

const columns: readonly (readonly [title: string, value: (trial: TrialResult) => string])[] = [
  ['achieved', trial => formatRate(trial.achievedPerSecond)],
  ['goodput', trial => formatRate(trial.goodputPerSecond)],
  ['good', trial => formatRatio(trial.goodRatio)],
  ['p50', trial => formatDuration(trial.latencyMs.p50)],
  ['p95', trial => formatDuration(trial.latencyMs.p95)],
  ['p99', trial => formatDuration(trial.latencyMs.p99)],
  ['503', trial => count(trial.overloaded)],
  ['429', trial => count(trial.refused)],
  ['in-flight growth', trial => formatRate(trial.inFlightGrowthPerSecond)],
]

/** The outcome comes second: a phone shows only the first columns. Columns without any value are left out. */
function trialTable(trials: readonly TrialResult[]): Table {
  const shown = columns.filter(([, value]) => trials.some(trial => !['0', NO_VALUE].includes(value(trial))))
  return {
    kind: 'table',
    isNested: true,
    columns: [
      right('offered'),
      { title: 'outcome', wraps: true },
      ...shown.map(([title], index) => ({ ...right(title), priority: index === 0 ? 1 : 0 })),
    ],
    rows: trials.map(trial => ({
      cells: [
        formatRate(trial.offeredPerSecond),
        toned(toneOf(trial), trialWords(trial)),
        ...shown.map(([, value]) => value(trial)),
      ],
    })),
  }
}

/** `sustained`, `confirm: sustained`, or `too many bad responses, 115/480` if the trial ended after 115 of 480 arrivals. */
function trialWords({ purpose, outcome, arrivals, planned }: TrialResult): string {
  const words = purpose === 'confirm' ? 'confirm: ' : ''
  const early = arrivals < planned ? `, ${count(arrivals)}/${count(planned)}` : ''
  return `${words}${trialLabels[outcome]}${early}`
}

const toneOf = (trial: TrialResult): Exclude<Tone, 'quiet' | 'strong'> =>
  trial.outcome === 'sustained' ? 'good' : wasExceeded(trial) ? 'bad' : 'doubtful'
