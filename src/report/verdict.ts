import type { ClauseTally } from '../checks/findings.ts'
import { duration, plural } from '../metrics/quantity.ts'
import type { Status, ThresholdResult } from '../metrics/thresholds.ts'
import type { Threshold } from '../plan/plan.ts'
import type { CallFacts, CapacityResult, LoadFacts, ReportedBilling, ReportedFinding, RunFacts } from './report.ts'

export type Evident = {
  readonly run: RunFacts
  readonly load: LoadFacts
  readonly calls: readonly CallFacts[]
  readonly billing: ReportedBilling
  readonly clauses: readonly ClauseTally[]
  readonly findings: readonly ReportedFinding[]
  readonly capacity: readonly CapacityResult[]
  readonly thresholds: readonly ThresholdResult[]
  readonly planned: readonly Threshold[]
}

/**
 * Failing outranks inconclusive: what was seen broken is broken, however the run ended. Then the doubts are listed
 * behind, for they say what else was not established.
 */
export function reachVerdict(evident: Evident): { readonly verdict: Status; readonly because: readonly string[] } {
  const failures = reasonsToFail(evident)
  const doubts = reasonsToDoubt(evident)
  if (failures.length > 0) return { verdict: 'fail', because: [...failures, ...doubts] }
  if (doubts.length > 0) return { verdict: 'inconclusive', because: doubts }
  return { verdict: 'pass', because: [praise(evident)] }
}

function reasonsToFail({ findings, billing, thresholds }: Evident): readonly string[] {
  return [
    ...findings.map(
      ({ clause, section, count, says }) => `${plural(count, 'violation')} of ${clause} (§${section}): ${says}`,
    ),
    ...billing.discrepancies
      .filter(({ count }) => count > 0)
      .map(
        ({ kind, count, amountUsd }) =>
          `${plural(count, 'billing discrepancy', 'billing discrepancies')} "${kind}", $${amountUsd} in all.`,
      ),
    ...ofVerdict(thresholds, 'fail', 'crossed'),
  ]
}

function reasonsToDoubt(evident: Evident): readonly string[] {
  const { run, load, clauses, thresholds } = evident
  const failed = unjudged(evident, 'failed')
  const dropped = unjudged(evident, 'dropped')
  const judged = thresholds.length > 0 || clauses.some(clause => clause.judged > 0)
  return [
    run.ended === 'complete' ? null : endings[run.ended](run, load),
    load.sent === 0 ? 'Nothing was sent.' : null,
    load.sent > 0 && load.answered === 0 ? `None of ${plural(load.sent, 'request')} was answered.` : null,
    load.blocked > 0
      ? `${plural(load.blocked, 'answer')} said that the caller had failed too often and was blocked: what was measured is the block.`
      : null,
    ...ofVerdict(thresholds, 'inconclusive', 'not established'),
    failed > 0 ? `${plural(failed, 'request')} failed${reasons(load)}, and no threshold says how many may.` : null,
    dropped > 0
      ? `${plural(dropped, 'arrival was', 'arrivals were')} dropped and never sent, and no threshold says how many may be.`
      : null,
    ...unfound(evident),
    load.answered > 0 && !judged ? 'Nothing was judged: no clause was exercised and the plan has no threshold.' : null,
  ].filter(reason => reason !== null)
}

const endings: Readonly<Record<Exclude<RunFacts['ended'], 'complete'>, (run: RunFacts, load: LoadFacts) => string>> = {
  interrupted: run => `The run was interrupted after ${duration(run.durationMs)}.`,
  'target-unreachable': run => `No answer came from the target ${run.target}.`,
  'keys-refused': run => `The target ${run.target} refused every key with 401.`,
  'budget-reached': run => `The budget was reached after ${duration(run.durationMs)}, and the run ended early.`,
  'worker-lost': (run, load) => `${lossOf(load)} The run ended early, after ${duration(run.durationMs)}.`,
  'cut-short': run => `The record of the run ends after ${duration(run.durationMs)} without an end, as after a kill.`,
}

function lossOf({ workers }: LoadFacts): string {
  const lost = workers.filter(({ isLost }) => isLost)
  const callers = lost.reduce((sum, worker) => sum + worker.callers, 0)
  const sent = lost.reduce((sum, worker) => sum + worker.sent, 0)
  const who = `${lost.length === 1 ? 'Worker' : 'Workers'} ${lost.map(({ worker }) => worker).join(', ')}`
  const known = `of what ${plural(callers, 'caller')} did there, ${plural(sent, 'request is', 'requests are')} known.`
  return `${who} of ${workers.length} in the harness ${lost.length === 1 ? 'was' : 'were'} lost: ${known}`
}

const unfoundStatuses: readonly CapacityResult['status'][] = ['limited-by-tier', 'harness-limited', 'inconclusive']

/** Searches that came to nothing, but for those that a threshold speaks of already. */
function unfound({ capacity, thresholds, planned }: Evident): readonly string[] {
  const told = planned.filter(
    ({ measure }, index) => measure.kind === 'capacity' && thresholds[index]?.verdict === 'inconclusive',
  )
  return capacity
    .filter(({ status, stage }) => unfoundStatuses.includes(status) && !told.some(each => each.stage === stage))
    .map(({ stage, because }) => `No capacity was found in ${stage}: ${because}`)
}

const ofVerdict = (thresholds: readonly ThresholdResult[], verdict: Status, word: string): readonly string[] =>
  thresholds.filter(t => t.verdict === verdict).map(t => `Threshold ${word}: ${t.expression}: ${t.because}.`)

/**
 * Failures or drops that no threshold of the plan is about, and no search, to which they are an answer. A threshold
 * without a stage is about the program's own too.
 */
function unjudged({ load, calls, capacity, planned }: Evident, kind: 'failed' | 'dropped'): number {
  const about = planned.filter(({ measure }) => 'count' in measure && measure.count.kind === kind)
  if (about.some(({ call, stage }) => call === null && stage === null)) return 0
  const judged = calls
    .filter(cell => cell.stage !== null)
    .filter(
      cell =>
        about.some(({ call, stage }) => (call ?? cell.call) === cell.call && (stage ?? cell.stage) === cell.stage) ||
        capacity.some(({ stage }) => stage === cell.stage),
    )
    .reduce((sum, cell) => sum + cell[kind], 0)
  return load[kind] - judged
}

function reasons({ failures }: LoadFacts): string {
  const counted = Object.entries(failures).toSorted((a, b) => b[1] - a[1])
  return counted.length === 0 ? '' : ` (${counted.map(([reason, count]) => `${reason} ${count}`).join(', ')})`
}

function praise({ load, clauses, thresholds }: Evident): string {
  const kept = clauses.filter(clause => clause.verdict === 'pass').length
  const held = thresholds.length === 0 ? '' : `, ${plural(thresholds.length, 'threshold')} held`
  return `${plural(load.answered, 'answer')} judged: ${plural(kept, 'clause')} kept${held}, no discrepancy.`
}
