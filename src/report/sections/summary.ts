import { endedByItself } from '../../judge/ended-early.ts'
import { count, formatDuration, formatRate, formatRatio, NO_VALUE, plural, threeDigits } from '../../lib/format.ts'
import { type Block, code, type Tile, toned, type Words } from '../blocks.ts'
import type { CapacityResult, Report, Verdict } from '../document.ts'

/** The verdict, its reasons, and the main numbers of the run. */
export function summarySection(report: Report): readonly Block[] {
  const { verdict, reasons, run } = report
  const facts: readonly (readonly [string, Words])[] = [
    ['run', code(run.id)],
    ['target', code(run.target)],
    ['profile', code(run.profile)],
    ['seed', String(run.seed)],
  ]
  const words = [
    ...facts.flatMap(([name, value]) => [`${name} `, value, ' · ']),
    `${formatDuration(run.durationMs)} from ${run.startedAt} · turnpike ${run.version}`,
  ]
  return [
    { kind: 'heading', text: run.scenario, verdict: { status: verdict, words: verdict } },
    ...(run.question === null ? [] : [{ kind: 'text', look: 'question', text: run.question } as const]),
    { kind: 'list', look: 'reasons', items: reasons },
    { kind: 'text', look: 'facts', text: toned('quiet', words), afterGap: true },
    { kind: 'chart', chart: { draw: 'tiles', tiles: tiles(report) } },
  ]
}

function tiles({ load, clauses, calls, billing, thresholds, findings, run, capacity }: Report): readonly Tile[] {
  const all = calls.filter(({ stage, goodRatio }) => stage === null && goodRatio !== null)
  // A response that the client left is neither good nor bad.
  const dueOf = ({ count: sent, left, dropped }: (typeof all)[number]) => sent - left + dropped
  const due = all.reduce((sum, facts) => sum + dueOf(facts), 0)
  const good = all.reduce((sum, facts) => sum + (facts.goodRatio ?? 0) * dueOf(facts), 0)
  const passed = clauses.filter(({ verdict }) => verdict === 'pass').length
  const exercised = clauses.filter(({ verdict }) => verdict === 'pass' || verdict === 'fail').length
  const those = (status: Verdict) => thresholds.filter(({ verdict }) => verdict === status).length
  const violations = findings.reduce((sum, finding) => sum + finding.count, 0)
  return [
    ...capacity.map(capacityTile),
    {
      name: 'responses',
      value: count(load.answered),
      note: `${count(load.failed)} failed, ${count(load.dropped)} dropped`,
      tone: load.answered === 0 ? 'bad' : null,
    },
    {
      name: 'good responses',
      value: due === 0 ? NO_VALUE : formatRatio(good / due),
      note: 'of all arrivals',
      tone: null,
    },
    {
      name: 'clauses passed',
      value: String(passed),
      of: String(exercised),
      note: exercised === 0 ? 'nothing was checked' : plural(violations, 'violation'),
      tone: passed < exercised ? 'bad' : exercised === 0 ? 'doubtful' : null,
    },
    {
      name: 'thresholds met',
      value: String(those('pass')),
      of: String(thresholds.length),
      note: 'of the scenario',
      tone: those('fail') > 0 ? 'bad' : those('inconclusive') > 0 ? 'doubtful' : null,
    },
    { name: 'claimed', value: `$${threeDigits(Number(billing.claimedUsd))}`, ...billed(billing) },
    {
      name: 'duration',
      value: formatDuration(run.durationMs),
      note: run.ended.replaceAll('-', ' '),
      tone: endedByItself(run.ended) ? null : 'doubtful',
    },
  ]
}

function billed({ billedUsd, discrepancies }: Report['billing']): Pick<Tile, 'note' | 'tone'> {
  const kinds = discrepancies.length
  if (kinds > 0) return { note: plural(kinds, 'kind of discrepancy', 'kinds of discrepancy'), tone: 'bad' }
  return { note: billedUsd === null ? 'billed amount unknown' : 'no discrepancy', tone: null }
}

function capacityTile({ stage, status, ratePerSecond, fromPerSecond }: CapacityResult): Tile {
  const notes: Partial<Record<CapacityResult['status'], string>> = {
    found: `capacity in ${stage}`,
    'above-range': `at least, in ${stage}`,
    'below-range': `less than ${formatRate(fromPerSecond)} in ${stage}`,
  }
  return {
    name: 'sustained',
    value: formatRate(ratePerSecond),
    note: notes[status] ?? `not found in ${stage}`,
    tone: ratePerSecond === null ? 'doubtful' : 'good',
  }
}
