import { count, formatDuration, formatRate, formatRatio, NO_VALUE, plural, threeDigits } from '../../lib/format.ts'
import type { CapacityResult, Report, Status } from '../report.ts'
import { type Html, html, nothing } from './html.ts'

/** A number that stands for the whole run; `of` stands small behind it. */
type Tile = {
  readonly name: string
  readonly value: string
  readonly of?: string
  readonly note: string
  readonly tone: '' | 'good' | 'bad' | 'doubtful'
}

export function tiles(report: Report): Html {
  return html`<dl class="tiles">${tilesOf(report).map(
    ({ name, value, of, note, tone }) =>
      html`<div class="tile"><dt>${name}</dt><dd class="${tone}">${value}${of === undefined ? nothing : html` <span>of ${of}</span>`}</dd><dd class="note">${note}</dd></div>`,
  )}</dl>`
}

function tilesOf({ load, clauses, calls, billing, thresholds, findings, run, capacity }: Report): readonly Tile[] {
  const all = calls.filter(({ stage, goodRatio }) => stage === null && goodRatio !== null)
  const due = all.reduce((sum, { count: sent, dropped }) => sum + sent + dropped, 0)
  const good = all.reduce((sum, { goodRatio, count: sent, dropped }) => sum + (goodRatio ?? 0) * (sent + dropped), 0)
  const kept = clauses.filter(({ verdict }) => verdict === 'pass').length
  const exercised = clauses.filter(({ verdict }) => verdict !== 'not-exercised').length
  const those = (status: Status) => thresholds.filter(({ verdict }) => verdict === status).length
  const violations = findings.reduce((sum, finding) => sum + finding.count, 0)
  return [
    ...capacity.map(capacityTile),
    {
      name: 'answers',
      value: count(load.answered),
      note: `${count(load.failed)} failed, ${count(load.dropped)} dropped`,
      tone: load.answered === 0 ? 'bad' : '',
    },
    {
      name: 'good answers',
      value: due === 0 ? NO_VALUE : formatRatio(good / due),
      note: 'of all that was due',
      tone: '',
    },
    {
      name: 'clauses kept',
      value: String(kept),
      of: String(exercised),
      note: exercised === 0 ? 'nothing was judged' : plural(violations, 'violation'),
      tone: kept < exercised ? 'bad' : exercised === 0 ? 'doubtful' : '',
    },
    {
      name: 'thresholds held',
      value: String(those('pass')),
      of: String(thresholds.length),
      note: 'of this scenario',
      tone: those('fail') > 0 ? 'bad' : those('inconclusive') > 0 ? 'doubtful' : '',
    },
    { name: 'claimed', value: `$${threeDigits(Number(billing.claimedUsd))}`, ...billed(billing) },
    {
      name: 'took',
      value: formatDuration(run.durationMs),
      note: endings[run.ended],
      tone: run.ended === 'complete' ? '' : 'doubtful',
    },
  ]
}

function billed({ billedUsd, discrepancies }: Report['billing']): Pick<Tile, 'note' | 'tone'> {
  const sorts = discrepancies.length
  if (sorts > 0) return { note: plural(sorts, 'sort of discrepancy', 'sorts of discrepancy'), tone: 'bad' }
  return { note: billedUsd === null ? 'billed is not known' : 'no discrepancy', tone: '' }
}

function capacityTile({ stage, status, perSecond, fromPerSecond }: CapacityResult): Tile {
  const notes: Readonly<Record<CapacityResult['status'], string>> = {
    found: `capacity in ${stage}`,
    'not-reached': `at least, in ${stage}`,
    'below-lowest': `less than ${formatRate(fromPerSecond)} in ${stage}`,
    'limited-by-tier': `not found in ${stage}`,
    'harness-limited': `not found in ${stage}`,
    inconclusive: `not found in ${stage}`,
  }
  return {
    name: 'sustained',
    value: formatRate(perSecond),
    note: notes[status],
    tone: perSecond === null ? 'doubtful' : 'good',
  }
}

const endings: Readonly<Record<Report['run']['ended'], string>> = {
  complete: 'complete',
  interrupted: 'interrupted',
  'target-unreachable': 'target unreachable',
  'keys-refused': 'keys refused',
  'budget-reached': 'budget reached',
  'worker-lost': 'worker lost',
  'cut-short': 'cut short',
}
