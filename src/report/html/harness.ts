import { count, formatDuration, NO_VALUE, plural } from '../../lib/format.ts'
import { pushedWords } from '../pushed-words.ts'
import { recordGap } from '../record-gap.ts'
import type { Report } from '../report.ts'
import { workerLines } from '../worker-lines.ts'
import { type Html, html, nothing } from './html.ts'
import { coarsely, endOf } from './load.ts'
import { timeChart } from './svg-chart.ts'

/** What the harness says about itself. */
export function harnessSection({ load, series }: Report): Html {
  const { planned, sent, answered, failed, dropped, failures, latenessMs, eventLoopDelayMs: loop } = load
  const reasons = Object.entries(failures).map(([reason, times]) => `${reason} × ${count(times)}`)
  const gap = recordGap(load)
  const facts = [
    ['requests', `${count(sent)} sent, ${count(planned)} forecast`],
    [
      'ends',
      `${count(answered)} answered, ${count(failed)} failed${reasons.length === 0 ? '' : ` (${reasons.join(', ')})`}, ${count(dropped)} dropped`,
    ],
    [
      'lateness',
      `p50 ${formatDuration(latenessMs.p50)}, p99 ${formatDuration(latenessMs.p99)}, max ${formatDuration(latenessMs.max)}`,
    ],
    ['event loop delay', loop === null ? NO_VALUE : `p99 ${formatDuration(loop.p99)}, max ${formatDuration(loop.max)}`],
    ...(gap === null ? [] : [['record', gap] as const]),
    ...(load.pushed === null ? [] : [['remote write', pushedWords(load.pushed)] as const]),
    ...workerLines(load).map((line, index) => [index === 0 ? 'workers' : '', line] as const),
  ] as const
  const chart =
    series === null
      ? nothing
      : timeChart({
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
              colour: 'violet',
              filled: true,
              ...coarsely(series, series.latenessMs, part => Math.max(...part)),
            },
          ],
        })
  return html`<section id="harness"><h2>The harness itself</h2><dl class="pairs small">${facts.map(([name, text]) => html`<dt>${name}</dt><dd>${text}</dd>`)}</dl>${chart}</section>`
}

/** Every clause as a dot, by chapter of the document; then all of them by name. */
export function coverageSection({ clauses }: Report): Html {
  if (clauses.length === 0) return nothing
  const of = (verdict: Report['clauses'][number]['verdict']) =>
    clauses.filter(clause => clause.verdict === verdict).length
  const judged = clauses.reduce((sum, clause) => sum + clause.judged, 0)
  const sections = [...new Set(clauses.map(({ section }) => section))].toSorted(bySection)
  const words = { pass: 'kept', fail: 'broken', 'not-exercised': 'not exercised' } as const
  const tones = { pass: 'good', fail: 'bad', 'not-exercised': 'quiet' } as const
  return html`<section id="clauses"><h2>Clauses of the interface document</h2>
<p class="small quiet"><b class="${of('pass') > 0 ? 'good' : 'quiet'}">${of('pass')} kept</b>, <b class="${of('fail') > 0 ? 'bad' : 'quiet'}">${of('fail')} broken</b>, ${of('not-exercised')} not exercised by this run, in ${plural(judged, 'judgement')}.</p>
<div class="clauses">${sections.map(
    section =>
      html`<span class="quiet">§${section}</span><ul class="dots">${clauses
        .filter(clause => clause.section === section)
        .map(
          ({ id, verdict, judged: times }) =>
            html`<li class="${verdict}" title="${id}: ${words[verdict]}, ${plural(times, 'judgement')}"></li>`,
        )}</ul>`,
  )}</div>
<details class="aside"><summary>All clauses</summary><div class="wide"><table><thead><tr><th>clause</th><th>§</th><th></th><th class="n">judged</th><th class="n">violated</th></tr></thead><tbody>
${clauses.map(({ id, section, verdict, judged: times, violated }) => html`<tr><td><code>${id}</code></td><td>${section}</td><td class="keep ${tones[verdict]}">${words[verdict]}</td><td class="n">${count(times)}</td><td class="n">${count(violated)}</td></tr>`)}
</tbody></table></div></details></section>`
}

/** 2.10 comes behind 2.9. */
const bySection = (a: string, b: string): number => a.localeCompare(b, 'en', { numeric: true })
