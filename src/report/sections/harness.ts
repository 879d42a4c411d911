import type { Series } from '../../judge/metrics/series.ts'
import { count, formatBytes, formatDuration, NO_VALUE, plural } from '../../lib/format.ts'
import { type Block, chart, type StageBand } from '../blocks.ts'
import type { LoadFacts, Report, WorkerFacts } from '../document.ts'
import { bandsOf, coarsely, endOf } from './load.ts'

/** The facts about Turnpike itself: what it sent, how late it was, and whether its recording is complete. */
export function harnessSection(report: Report): readonly Block[] {
  const { series } = report
  const facts = factsOf(report)
  return [
    { kind: 'heading', id: 'harness', text: 'Turnpike itself' },
    { kind: 'list', look: 'terms', terms: facts.map(([term]) => term), items: facts.map(([, words]) => words) },
    ...(series === null ? [] : [latenessChart(series, bandsOf(report))]),
  ]
}

function factsOf({ load, calls }: Report): readonly (readonly [term: string, words: string])[] {
  const { planned, sent, answered, failed, dropped, skipped, notRecorded, pushed } = load
  const ofCalls = calls.filter(facts => facts.stage === null).reduce((sum, facts) => sum + facts.count, 0)
  const own = sent > ofCalls ? `, including ${plural(sent - ofCalls, 'system call')}` : ''
  const skippedWords = skipped === 0 ? '' : `, ${count(skipped)} skipped for lack of credentials`
  return [
    ['requests', `${count(sent)} sent${own}, ${count(planned)} forecast`],
    [
      'outcomes',
      `${count(answered)} answered, ${count(failed)} failed${failureWords(load)}, ${count(dropped)} dropped${skippedWords}`,
    ],
    ['lateness', latenessWords(load)],
    ['event-loop delay', delayWords(load)],
    ...(notRecorded === 0 ? [] : [['recording', recordingGap(notRecorded)] as const]),
    ...(pushed === null ? [] : [['exported', pushedWords(pushed)] as const]),
    ...workerFacts(load),
  ]
}

/** ` (connection-lost × 2, idle-timeout × 1)`. */
function failureWords({ failures }: LoadFacts): string {
  const reasons = Object.entries(failures).map(([reason, times]) => `${reason} × ${count(times)}`)
  return reasons.length === 0 ? '' : ` (${reasons.join(', ')})`
}

const latenessWords = ({ latenessMs: { p50, p99, max } }: Pick<LoadFacts, 'latenessMs'>): string =>
  `p50 ${formatDuration(p50)}, p99 ${formatDuration(p99)}, max ${formatDuration(max)}`

const delayWords = ({ eventLoopDelayMs: delay }: LoadFacts): string =>
  delay === null ? NO_VALUE : `p99 ${formatDuration(delay.p99)}, max ${formatDuration(delay.max)}`

const recordingGap = (notRecorded: number): string =>
  `${plural(notRecorded, 'observation was', 'observations were')} judged but not recorded, because the disk was too slow or full`

/** `12,345 samples pushed, 40 lost; 2 pushes failed`. */
export const pushedWords = (
  { takenSamples, lostSamples, failures }: NonNullable<LoadFacts['pushed']>,
  unit: 'sample' | 'span' = 'sample',
): string => `${plural(takenSamples, unit)} pushed, ${lostSamples} lost; ${plural(failures, 'push', 'pushes')} failed`

/** What each worker did, and how far apart they started; nothing if there was only one. */
function workerFacts({ workers }: LoadFacts): readonly (readonly [term: string, words: string])[] {
  if (workers.length < 2) return []
  const started = workers.flatMap(({ startedMs }) => startedMs ?? [])
  const skew = started.length < 2 ? NO_VALUE : formatDuration(Math.max(...started) - Math.min(...started))
  return [
    ['workers', `${workers.length}, started ${skew} apart`],
    ...workers.map(worker => {
      const lost = worker.lost ? 'crashed; recovered: ' : ''
      const words = `${lost}${plural(worker.callers, 'caller')}, ${count(worker.sent)} sent, lateness ${latenessWords(worker)}${machineWords(worker)}${healthWords(worker)}${recordsWords(worker)}`
      return [`worker ${worker.worker}`, words] as const
    }),
  ]
}

/** `; on host/123, whose times moved by 0.2 ms ± 0.1 ms`. */
const machineWords = ({ machine }: WorkerFacts): string =>
  machine === null
    ? ''
    : `; on ${machine.name}, whose times moved by ${formatDuration(Math.abs(machine.clockDriftMs))} ± ${formatDuration(machine.clockErrorMs)}`

/** `; 1.3 of 4 cores, 210 MB of 8.6 GB, Node.js 22.1.0`. */
function healthWords({ health }: WorkerFacts): string {
  if (health === null) return ''
  const { usedCores, cores, rssBytes, memoryBytes, node } = health
  return `; ${usedCores.toFixed(1)} of ${plural(cores, 'core')}, ${formatBytes(rssBytes)} of ${formatBytes(memoryBytes)}, Node.js ${node}`
}

/** `; records not in the run directory (none arrived for 30 s), but on host/123 in runs/…`. */
const recordsWords = ({ records }: WorkerFacts): string =>
  records === null || records.missing === null
    ? ''
    : `; records not in the run directory (${records.missing}), but on ${records.worker} in ${records.file}`

const latenessChart = (series: Series, stages: readonly StageBand[]): Block =>
  chart({
    draw: 'time',
    title: 'Lateness',
    note: 'the longest time from due to sent in each step; Turnpike adds it to the latency',
    endMs: endOf(series),
    height: 130,
    stages,
    format: value => (value === 0 ? '0' : formatDuration(value)),
    silence: 'Nothing was sent late.',
    curves: [
      {
        name: 'longest lateness',
        color: 'violet',
        filled: true,
        ...coarsely(series, series.latenessMs, part => Math.max(...part)),
      },
    ],
  })
