import type { Series } from '../../judge/metrics/series.ts'
import { count, formatDuration, NO_VALUE, plural } from '../../lib/format.ts'
import { type Block, type Content, chart } from '../blocks.ts'
import type { LoadFacts, Report } from '../document.ts'
import { coarsely, endOf } from './load.ts'

/** What the harness says about itself. */
export function harnessSection(report: Report): readonly Block[] {
  const { load, series } = report
  const sentences = workerLines(load).map(line => ({ text: line, markdown: `${line}.` }))
  return [
    { kind: 'heading', id: 'harness', text: 'The harness itself' },
    { kind: 'list', look: 'lines', items: lines(report) },
    ...sentences.map(text => ({ kind: 'text', text }) as const),
    pageFacts(load),
    ...(series === null ? [] : [latenessChart(series)]),
  ]
}

/** The same facts in sentences, for text and Markdown. */
function lines({ load, calls }: Report): readonly Content[] {
  const { planned, sent, answered, failed, dropped, skipped } = load
  const ends = `${count(answered)} answered, ${count(failed)} failed`
  const leftOutWords = skipped === 0 ? '' : `, ${count(skipped)} left out for want of credentials`
  const ofCalls = calls.filter(facts => facts.stage === null).reduce((sum, facts) => sum + facts.count, 0)
  const own = sent > ofCalls ? ` (${count(sent - ofCalls)} the program's own)` : ''
  const forecast = `${count(planned)} forecast`
  const times = `ateness ${latenessWords(load)}; event loop delay ${delayWords(load)}`
  return [
    {
      text: `${count(sent)} requests sent${own}, ${forecast}; ${ends}${failureWords(load)}, ${count(dropped)} dropped${leftOutWords}`,
      markdown: `${plural(sent, 'request')} sent, ${forecast}; ${ends}, ${count(dropped)} dropped.`,
    },
    { text: `l${times}`, markdown: `L${times}.` },
    ...[recordGap(load), load.pushed === null ? null : pushedWords(load.pushed)]
      .filter(line => line !== null)
      .map(line => ({ text: line, markdown: `${line}.` })),
  ]
}

function pageFacts(load: LoadFacts): Block {
  const { planned, sent, answered, failed, dropped, pushed } = load
  const gap = recordGap(load)
  const facts: readonly (readonly [term: string, words: string])[] = [
    ['requests', `${count(sent)} sent, ${count(planned)} forecast`],
    ['ends', `${count(answered)} answered, ${count(failed)} failed${failureWords(load)}, ${count(dropped)} dropped`],
    ['lateness', latenessWords(load)],
    ['event loop delay', delayWords(load)],
    ...(gap === null ? [] : [['record', gap] as const]),
    ...(pushed === null ? [] : [['remote write', pushedWords(pushed)] as const]),
    ...workerLines(load).map((line, index) => [index === 0 ? 'workers' : '', line] as const),
  ]
  return {
    kind: 'list',
    in: ['html'],
    look: 'terms',
    terms: facts.map(([term]) => term),
    items: facts.map(([, words]) => words),
  }
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

/** What a reader must know about a recording that is not complete; null: it is. */
const recordGap = ({ notRecorded }: LoadFacts): string | null =>
  notRecorded === 0
    ? null
    : `${plural(notRecorded, 'observation was', 'observations were')} judged but left out of the record: the disk did not keep up`

/** `12,345 samples pushed, 40 lost; 2 pushes not taken`. */
export const pushedWords = ({ takenSamples, lostSamples, failures }: NonNullable<LoadFacts['pushed']>): string =>
  `${plural(takenSamples, 'sample')} pushed, ${lostSamples} lost; ${plural(failures, 'push', 'pushes')} not taken`

/** What each worker says about itself, and how far apart they started; nothing where one worker did everything. */
function workerLines({ workers }: LoadFacts): readonly string[] {
  if (workers.length < 2) return []
  const began = workers.flatMap(({ startedMs }) => startedMs ?? [])
  const skew = began.length < 2 ? NO_VALUE : formatDuration(Math.max(...began) - Math.min(...began))
  return [
    `${plural(workers.length, 'worker')}, which began ${skew} apart`,
    ...workers.map(worker => {
      const lost = worker.lost ? 'lost; known of it: ' : ''
      return `worker ${worker.worker}: ${lost}${plural(worker.callers, 'caller')}, ${count(worker.sent)} sent, lateness ${latenessWords(worker)}`
    }),
  ]
}

const latenessChart = (series: Series): Block =>
  chart({
    draw: 'time',
    title: 'Lateness',
    note: 'the longest time from due to sent in each step: what the harness itself adds',
    endMs: endOf(series),
    height: 130,
    stages: series.stages,
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
