import type { JudgeName } from '../../contract/clause.ts'
import { type ClauseId, type ClausesOf, clauseIds, clauses, isExtra } from '../../contract/clauses.ts'
import {
  type Causes,
  type CausesSnapshot,
  type CountedExample,
  createCauses,
  type Example,
  shownIds,
} from './causes.ts'
import { createMeasuredLog, type Measured, type MeasuredSnapshot } from './measured.ts'
import { createObstacleLog, type Obstacle, type ObstacleSnapshot } from './obstacles.ts'

/** Reports the results of one judge, about its own clauses only. */
export type ClauseReporter<Name extends JudgeName> = {
  /** Counts the clause as judged and passed. */
  readonly pass: (clause: ClausesOf<Name>) => void
  /**
   * Counts the clause as judged and failed. The message states what was found and what was expected. `requestIds` are
   * the requests that show it, in the order of sending, and `decidedBy` those of them whose responses contradict the
   * clause: the last one, unless given.
   */
  readonly fail: (
    clause: ClausesOf<Name>,
    message: string,
    requestIds: readonly number[],
    decidedBy?: readonly number[],
  ) => void
  /** Notes that a response tested the clause, but that it could not be judged. Does not count as judged. */
  readonly unjudged: (clause: ClausesOf<Name>, obstacle: Obstacle) => void
  /** Adds what was measured of a violation. It is shown if the clause was violated. */
  readonly measured: (clause: ClausesOf<Name>, measured: Measured) => void
  /** Whether the target promises the clause, and --only selects it. Others are never judged: `pass` and `fail` ignore them. */
  readonly promises: (clause: ClausesOf<Name>) => boolean
  readonly draft: () => Draft<Name>
}

/** Reports that count only once they are adopted, such as the reports of one of several readings of the document. */
export type Draft<Name extends JudgeName> = {
  readonly reporter: ClauseReporter<Name>
  /** Violations so far, over all clauses. */
  readonly violations: () => number
  /** The number of clauses that are violated so far. */
  readonly violatedClauses: () => number
  /** Call at most once. */
  readonly adopt: () => void
}

/** Turns one reported pass of the clause into a violation. */
export type Reclassify<Name extends JudgeName> = ClauseReporter<Name>['fail']

export type ClauseTally = {
  readonly id: ClauseId
  readonly section: string
  readonly judged: number
  readonly violated: number
  readonly verdict: 'pass' | 'fail' | 'not-exercised' | 'not-promised'
  /** Why the clause was not judged; also if it passed, but a violation hid most of the responses that it is about. */
  readonly because: NotJudgedReason | null
  /** The true size of what violated the clause, in sentences. */
  readonly measured: string | null
}

/** not-exercised: the run never did it · not-judged: it did, but something prevented the judgement */
export type NotJudgedReason = Obstacle & { readonly kind: 'not-exercised' | 'not-judged' }

/** All violations of one clause seen by one judge, with one example for each of the first causes. */
export type Finding = {
  readonly clause: ClauseId
  readonly section: string
  readonly judge: JudgeName
  readonly count: number
  readonly message: string
  readonly examples: readonly CountedExample[]
}

/** The findings and tallies of several judges, as plain data that can be merged. */
export type FindingLogSnapshot = {
  readonly judged: ReadonlyMap<ClauseId, number>
  readonly findings: readonly FindingSnapshot[]
  readonly obstacles: ObstacleSnapshot
  readonly measured: MeasuredSnapshot
}

type FindingSnapshot = Pick<Finding, 'clause' | 'judge' | 'count'> & { readonly causes: CausesSnapshot }

/**
 * The findings and tallies of all judges. Its size does not grow with the observations: it has counts and a few
 * examples.
 */
export type FindingLog = {
  /** Reports so far about the content of responses, and not only about their headers. */
  readonly contentReports: () => number
  readonly reporterFor: <Name extends JudgeName>(judge: Name) => ClauseReporter<Name>
  readonly reclassifier: <Name extends JudgeName>(judge: Name) => Reclassify<Name>
  /** In the order of the clause table. */
  readonly tallies: () => readonly ClauseTally[]
  readonly findings: () => readonly Finding[]
  /** Whether an example shows the observation with this `id`. */
  readonly cites: (id: number) => boolean
  /** The same, or whether an example of a draft does. */
  readonly mayCite: (id: number) => boolean
  /** Violations so far, over all clauses. */
  readonly violations: () => number
  readonly violatedClauses: () => number
  readonly snapshot: () => FindingLogSnapshot
  /** Drops what one judge found about a clause, which counts as not judged then, unless another judge found something. */
  readonly withdraw: (clause: ClauseId, judge: JudgeName, obstacle: Obstacle) => void
  readonly merge: (snapshot: FindingLogSnapshot) => void
}

type MutableFinding = { readonly clause: ClauseId; readonly judge: JudgeName; count: number; readonly causes: Causes }

const contentJudges: readonly JudgeName[] = [
  'chat-request',
  'chat-response',
  'chat-stream',
  'chat-options',
  'rpc-response',
  'rpc-credits',
  'lists',
  'resources',
  'wallet-offers',
  'probe',
  'payments',
]

/**
 * `only`: the clauses that --only selects, or null for all. The others are neither judged nor listed. `cited`: how many
 * examples show each request.
 */
export function createFindingLog(
  notPromised: readonly ClauseId[] = [],
  only: readonly ClauseId[] | null = null,
  cited: Map<number, number> = new Map(),
): FindingLog {
  const drafted = new Map<number, number>()
  let violations = 0
  let contentReports = 0
  const listed = clauseIds.filter(
    id => (only === null || only.includes(id)) && !(isExtra(id) && notPromised.includes(id)),
  )
  const ignored: ReadonlySet<ClauseId> = new Set([...notPromised, ...clauseIds.filter(id => !listed.includes(id))])
  const judged = new Map(clauseIds.map(id => [id, { count: 0 }]))
  /** The clauses that are judged at all. A response causes about 25 reports, so each looks up only this map. */
  const counted: ReadonlyMap<ClauseId, { count: number }> = new Map([...judged].filter(([id]) => !ignored.has(id)))
  const findings = new Map<string, MutableFinding>()
  const obstacles = createObstacleLog()
  const measured = createMeasuredLog()

  const countCitations = (example: Example, by: 1 | -1) => {
    for (const id of shownIds(example)) {
      const count = (cited.get(id) ?? 0) + by
      if (count > 0) cited.set(id, count)
      else cited.delete(id)
    }
  }
  const tally = (clause: ClauseId, count: number) => {
    const sum = judged.get(clause)
    if (sum !== undefined) sum.count += count
  }
  const findingOf = (clause: ClauseId, judge: JudgeName, count: number): MutableFinding => {
    const key = `${clause}/${judge}`
    let finding = findings.get(key)
    if (finding === undefined) {
      const causes = createCauses(
        example => countCitations(example, 1),
        example => countCitations(example, -1),
      )
      finding = { clause, judge, count: 0, causes }
      findings.set(key, finding)
    }
    finding.count += count
    violations += count
    return finding
  }

  const reporterFor = <Name extends JudgeName>(judge: Name): ClauseReporter<Name> => {
    const ofContent = contentJudges.includes(judge) ? 1 : 0
    return {
      promises: clause => !ignored.has(clause),
      unjudged: (clause, obstacle) => {
        if (!ignored.has(clause)) obstacles.add(clause, obstacle)
      },
      measured: measured.add,
      pass: clause => {
        const sum = counted.get(clause)
        if (sum === undefined) return
        contentReports += ofContent
        sum.count++
      },
      fail: (clause, message, requestIds, decidedBy) => {
        if (ignored.has(clause)) return
        contentReports += ofContent
        tally(clause, 1)
        findingOf(clause, judge, 1).causes.add(message, requestIds, decidedBy)
      },
      draft: () => {
        const log = createFindingLog(notPromised, only, drafted)
        return {
          reporter: log.reporterFor(judge),
          violations: log.violations,
          violatedClauses: log.violatedClauses,
          adopt: () => merge(log.snapshot()),
        }
      },
    }
  }

  const unjudgedVerdict = (id: ClauseId) => (ignored.has(id) ? 'not-promised' : 'not-exercised')
  const isViolated = (id: ClauseId) => [...findings.values()].some(({ clause }) => clause === id)

  /** An obstacle that a violation caused comes first. A clause that is not promised has no violation to see. */
  function reasonOf(id: ClauseId, verdict: ClauseTally['verdict'], count: number): NotJudgedReason | null {
    const met = obstacles.of(id)
    const masked = met.find(({ clause, count: times }) => clause !== null && isViolated(clause) && times >= count)
    const [first] = met
    if (verdict === 'pass' && masked === undefined) return null
    if (first === undefined || verdict === 'fail' || verdict === 'not-promised') return null
    return { kind: 'not-judged', text: (masked ?? first).text, clause: masked?.clause ?? null }
  }

  /** The message of the first example, with what was measured. */
  function messageOf(clause: ClauseId, examples: readonly Example[]): string {
    const message = examples[0]?.message ?? ''
    const sizes = measured.of(clause)
    return sizes === null ? message : `${message}. ${sizes}`
  }

  function merge(other: FindingLogSnapshot) {
    for (const [clause, count] of other.judged) tally(clause, count)
    for (const { clause, judge, count, causes } of other.findings) findingOf(clause, judge, count).causes.merge(causes)
    for (const [clause, met] of other.obstacles) for (const each of met) obstacles.add(clause, each, each.count)
    measured.merge(other.measured)
  }

  return {
    contentReports: () => contentReports,
    reporterFor,
    reclassifier: judge => (clause, message, requestIds, decidedBy) => {
      if (ignored.has(clause)) return
      findingOf(clause, judge, 1).causes.add(message, requestIds, decidedBy)
    },
    cites: id => cited.has(id),
    mayCite: id => cited.has(id) || drafted.has(id),
    violations: () => violations,
    violatedClauses: () => new Set([...findings.values()].map(({ clause }) => clause)).size,
    tallies: () =>
      listed.map(id => {
        const violated = [...findings.values()].filter(f => f.clause === id).reduce((sum, f) => sum + f.count, 0)
        const count = judged.get(id)?.count ?? 0
        const verdict = violated > 0 ? 'fail' : count > 0 ? 'pass' : unjudgedVerdict(id)
        const because = reasonOf(id, verdict, count)
        const size = verdict === 'fail' ? measured.of(id) : null
        return { id, section: clauses[id].section, judged: count, violated, verdict, because, measured: size }
      }),
    findings: () =>
      [...findings.values()]
        .sort((a, b) => clauseIds.indexOf(a.clause) - clauseIds.indexOf(b.clause) || (a.judge < b.judge ? -1 : 1))
        .map(({ clause, judge, count, causes }) => {
          const examples = causes.examples()
          const { section } = clauses[clause]
          return { clause, section, judge, count, message: messageOf(clause, examples), examples }
        }),
    snapshot: () => ({
      judged: new Map([...judged].map(([clause, { count }]) => [clause, count])),
      findings: [...findings.values()].map(finding => ({ ...finding, causes: finding.causes.snapshot() })),
      obstacles: obstacles.snapshot(),
      measured: measured.snapshot(),
    }),
    withdraw: (clause, judge, obstacle) => {
      const key = `${clause}/${judge}`
      const count = findings.get(key)?.count ?? 0
      findings.delete(key)
      violations -= count
      const sum = judged.get(clause)
      if (sum !== undefined) sum.count = isViolated(clause) ? sum.count - count : 0
      if (!ignored.has(clause)) obstacles.add(clause, obstacle, Number.MAX_SAFE_INTEGER)
    },
    merge,
  }
}
