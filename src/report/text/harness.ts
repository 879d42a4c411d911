import { count, formatDuration, NO_VALUE } from '../../lib/format.ts'
import { heading, type Page, wrap } from '../../lib/text-layout.ts'
import { pushedWords } from '../pushed-words.ts'
import { recordGap } from '../record-gap.ts'
import type { Report } from '../report.ts'
import { workerLines } from '../worker-lines.ts'

/** What the harness says about itself. */
export function harnessText({ load, calls }: Report, page: Page): readonly string[] {
  const { planned, sent, answered, failed, dropped, leftOut, failures, latenessMs, eventLoopDelayMs: loop } = load
  const reasons = Object.entries(failures).map(([reason, n]) => `${reason} × ${count(n)}`)
  const why = reasons.length === 0 ? '' : ` (${reasons.join(', ')})`
  const delay = loop === null ? NO_VALUE : `p99 ${formatDuration(loop.p99)}, max ${formatDuration(loop.max)}`
  const unsent = leftOut === 0 ? '' : `, ${count(leftOut)} left out for want of credentials`
  const ends = `${count(answered)} answered, ${count(failed)} failed${why}, ${count(dropped)} dropped${unsent}`
  const ofCalls = calls.filter(facts => facts.stage === null).reduce((sum, facts) => sum + facts.count, 0)
  const own = sent > ofCalls ? ` (${count(sent - ofCalls)} the program's own)` : ''
  const { p50, p99, max } = latenessMs
  const gap = recordGap(load)
  return [
    ...heading(page, 'The harness itself'),
    ...wrap(page, `${count(sent)} requests sent${own}, ${count(planned)} forecast; ${ends}`, 2),
    ...wrap(
      page,
      `lateness p50 ${formatDuration(p50)}, p99 ${formatDuration(p99)}, max ${formatDuration(max)}; event loop delay ${delay}`,
      2,
    ),
    ...(gap === null ? [] : wrap(page, gap, 2)),
    ...(load.pushed === null ? [] : wrap(page, pushedWords(load.pushed), 2)),
    ...workerLines(load).flatMap(line => wrap(page, line, 2)),
  ]
}
