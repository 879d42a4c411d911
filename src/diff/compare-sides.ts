import { plural } from '../lib/format.ts'
import type { Report } from '../report/document.ts'
import {
  type ComparedNumber,
  compareNumbers,
  type DiffSide,
  minPairs,
  missingTimes,
  type PairedTimes,
  type SideVerdict,
  timesBySlice,
  whyNumber,
} from './compare-numbers.ts'
import {
  type ComparedClause,
  type ComparedLimit,
  compareClauses,
  compareLimits,
  whyClause,
} from './compare-promises.ts'
import type { Margins } from './margins.ts'

/** Whether NEW is worse than OLD, and in what. */
export type TargetDiff = {
  readonly schema: 1
  readonly verdict: SideVerdict
  /** Sentences; at least one. */
  readonly reasons: readonly string[]
  /** How many more requests to both sides would decide; null: it is decided, or no number of them would. */
  readonly moreRequests: number | null
  readonly scenario: string
  readonly seed: number
  readonly old: SideSummary
  readonly new: SideSummary
  /** What at least one side violated: clauses, and kinds of discrepancies of the ledger. */
  readonly clauses: readonly ComparedClause[]
  /** Clauses that both sides kept. */
  readonly bothKept: number
  /** Limits that the sides state differently. */
  readonly limits: readonly ComparedLimit[]
  readonly numbers: readonly ComparedNumber[]
  /** Latency, time to first token, and time per token in each slice of time. */
  readonly times: readonly PairedTimes[]
}

type SideSummary = Pick<Report['run'], 'id' | 'target' | 'startedAt' | 'ended'> &
  Pick<Report, 'verdict'> & {
    readonly sent: number
    /** A decimal: the larger of what the responses claim and what the balances show. */
    readonly spentUsd: string
  }

/** Compares two sides that got the same requests at the same time. */
export function compareSides(old: DiffSide, fresh: DiffSide, margins: Margins): TargetDiff {
  const clauses = compareClauses(old.report, fresh.report)
  const limits = compareLimits(old.report, fresh.report)
  const numbers = compareNumbers(old, fresh, margins)
  const worse = [
    ...clauses.filter(({ verdict }) => verdict === 'worse').map(whyClause),
    ...limits.filter(({ verdict }) => verdict === 'worse').map(({ text }) => text),
    ...numbers.filter(({ verdict }) => verdict === 'worse').map(whyNumber),
  ]
  const open = [
    ...endsOf(old.report, fresh.report),
    ...clauses.filter(({ verdict }) => verdict === 'cannot-tell').map(whyClause),
    ...numbers.filter(({ verdict, isRequired }) => verdict === 'cannot-tell' && isRequired).map(whyNumber),
    ...missingTimes(numbers, margins).map(
      name => `${name} could not be compared: it needs values of both sides in ${minPairs} slices of time.`,
    ),
  ]
  const verdict = worse.length > 0 ? 'worse' : open.length > 0 ? 'cannot-tell' : 'no-worse'
  const more = Math.max(0, ...numbers.flatMap(({ isRequired, moreRequests }) => (isRequired ? (moreRequests ?? 0) : 0)))
  const moreRequests = verdict === 'cannot-tell' && more > 0 ? more : null
  const bothKept = old.report.clauses.filter(
    ({ id, verdict: kept }) =>
      kept === 'pass' && fresh.report.clauses.some(clause => clause.id === id && clause.verdict === 'pass'),
  ).length
  const { run } = old.report
  return {
    schema: 1,
    verdict,
    reasons: worse.length > 0 ? worse : open.length > 0 ? open : [noWorseText(bothKept, numbers)],
    moreRequests,
    ...{ scenario: run.scenario, seed: run.seed },
    ...{ old: summaryOf(old.report), new: summaryOf(fresh.report) },
    ...{ clauses, bothKept, limits, numbers, times: timesBySlice(old, fresh) },
  }
}

/** Which side ended early, and why. The other was stopped with it. */
function endsOf(old: Report, fresh: Report): readonly string[] {
  const ends = [
    ['OLD', old.run.ended],
    ['NEW', fresh.run.ended],
  ] as const
  const early = ends.filter(([, ended]) => ended !== 'complete')
  const causes = early.filter(([, ended]) => ended !== 'interrupted')
  return (causes.length > 0 ? causes : early).map(([name, ended]) => `The run of ${name} ended early: ${ended}.`)
}

function noWorseText(bothKept: number, numbers: readonly ComparedNumber[]): string {
  const within = numbers.filter(({ isRequired }) => isRequired).map(({ measure }) => measure)
  const times =
    within.length === 0
      ? '. No time could be compared'
      : `, and ${within.join(', ')} ${within.length === 1 ? 'is' : 'are'} within the margin`
  return `NEW kept ${plural(bothKept, 'clause')} that OLD kept, and violated no other${times}.`
}

function summaryOf({ run, verdict, load, billing: { claimedUsd, billedUsd } }: Report): SideSummary {
  const { id, target, startedAt, ended } = run
  const spentUsd = billedUsd !== null && Number(billedUsd) > Number(claimedUsd) ? billedUsd : claimedUsd
  return { id, target, startedAt, ended, verdict, sent: load.sent, spentUsd }
}
