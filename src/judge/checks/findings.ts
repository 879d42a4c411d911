import type { JudgeName } from '../../contract/clause.ts'
import { type ClauseId, type ClausesOf, clauseIds, clauses } from '../../contract/clauses.ts'

/** Reports the results of one judge, about its own clauses only. */
export type ClauseReporter<Name extends JudgeName> = {
  /** Counts the clause as judged and passed. */
  readonly pass: (clause: ClausesOf<Name>) => void
  /** Counts the clause as judged and failed. The message states what was found and what was expected. */
  readonly fail: (clause: ClausesOf<Name>, message: string, requestIds: readonly number[]) => void
  /** Whether the target promises the clause, and --only selects it. Others are never judged: `pass` and `fail` ignore them. */
  readonly promises: (clause: ClausesOf<Name>) => boolean
}

/** Turns one reported pass of the clause into a violation. */
export type Reclassify<Name extends JudgeName> = ClauseReporter<Name>['fail']

export type ClauseTally = {
  readonly id: ClauseId
  readonly section: string
  readonly judged: number
  readonly violated: number
  readonly verdict: 'pass' | 'fail' | 'not-exercised' | 'not-promised'
}

/** All violations of one clause seen by one judge, with the first few as examples. */
export type Finding = {
  readonly clause: ClauseId
  readonly section: string
  readonly judge: JudgeName
  readonly count: number
  readonly message: string
  readonly examples: readonly Example[]
}

/** The findings and tallies of several judges, as plain data that can be merged. */
export type FindingLogSnapshot = {
  readonly judged: ReadonlyMap<ClauseId, number>
  readonly findings: readonly FindingSnapshot[]
}

type FindingSnapshot = Pick<Finding, 'clause' | 'judge' | 'count' | 'examples'>

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
  /** Whether an example cites the observation with this `id`. */
  readonly cites: (id: number) => boolean
  /** Violations so far, over all clauses. */
  readonly violations: () => number
  readonly snapshot: () => FindingLogSnapshot
  readonly merge: (snapshot: FindingLogSnapshot) => void
}

const contentJudges: readonly JudgeName[] = [
  'chat-request',
  'chat-response',
  'chat-stream',
  'chat-options',
  'rpc-response',
  'rpc-credits',
  'lists',
  'resources',
  'probe',
]

/** `only`: the clauses that --only selects, or null for all. The others are neither judged nor listed. */
export function createFindingLog(
  notPromised: readonly ClauseId[] = [],
  only: readonly ClauseId[] | null = null,
): FindingLog {
  /** How many examples cite each request. */
  const cited = new Map<number, number>()
  let violations = 0
  let contentReports = 0
  const listed = clauseIds.filter(id => only === null || only.includes(id))
  const ignored: ReadonlySet<ClauseId> = new Set([...notPromised, ...clauseIds.filter(id => !listed.includes(id))])
  const judged = new Map(clauseIds.map(id => [id, { count: 0 }]))
  const findings = new Map<string, FindingSnapshot>()

  const countCitations = ({ requestIds }: Example, by: 1 | -1) => {
    for (const id of requestIds) {
      const count = (cited.get(id) ?? 0) + by
      if (count > 0) cited.set(id, count)
      else cited.delete(id)
    }
  }
  const tally = (clause: ClauseId, count: number) => {
    const sum = judged.get(clause)
    if (sum !== undefined) sum.count += count
  }
  const addFinding = ({ clause, judge, count, examples }: FindingSnapshot) => {
    const key = `${clause}/${judge}`
    const known = findings.get(key) ?? { clause, judge, count: 0, examples: [] }
    const first = earliestExamples([...known.examples, ...examples])
    for (const example of first) countCitations(example, 1)
    for (const example of known.examples) countCitations(example, -1)
    findings.set(key, { ...known, count: known.count + count, examples: first })
    violations += count
  }

  const reporterFor = <Name extends JudgeName>(judge: Name): ClauseReporter<Name> => {
    const ofContent = contentJudges.includes(judge) ? 1 : 0
    return {
      promises: clause => !ignored.has(clause),
      pass: clause => {
        if (ignored.has(clause)) return
        contentReports += ofContent
        tally(clause, 1)
      },
      fail: (clause, message, requestIds) => {
        if (ignored.has(clause)) return
        contentReports += ofContent
        tally(clause, 1)
        addFinding({ clause, judge, count: 1, examples: [truncateExample({ message, requestIds })] })
      },
    }
  }

  const silence = (id: ClauseId) => (ignored.has(id) ? 'not-promised' : 'not-exercised')

  return {
    contentReports: () => contentReports,
    reporterFor,
    reclassifier: judge => (clause, message, requestIds) => {
      if (ignored.has(clause)) return
      addFinding({ clause, judge, count: 1, examples: [truncateExample({ message, requestIds })] })
    },
    cites: id => cited.has(id),
    violations: () => violations,
    tallies: () =>
      listed.map(id => {
        const violated = [...findings.values()].filter(f => f.clause === id).reduce((sum, f) => sum + f.count, 0)
        const count = judged.get(id)?.count ?? 0
        const verdict = violated > 0 ? 'fail' : count > 0 ? 'pass' : silence(id)
        return { id, section: clauses[id].section, judged: count, violated, verdict }
      }),
    findings: () =>
      [...findings.values()]
        .sort((a, b) => clauseIds.indexOf(a.clause) - clauseIds.indexOf(b.clause) || (a.judge < b.judge ? -1 : 1))
        .map(f => ({ ...f, section: clauses[f.clause].section, message: f.examples[0]?.message ?? '' })),
    snapshot: () => ({
      judged: new Map([...judged].map(([clause, { count }]) => [clause, count])),
      findings: [...findings.values()],
    }),
    merge: other => {
      for (const [clause, count] of other.judged) tally(clause, count)
      for (const finding of other.findings) addFinding(finding)
    },
  }
}

/** One example of a finding: the message, and the requests that show it. */
export type Example = { readonly message: string; readonly requestIds: readonly number[] }

export const maxExamples = 5
/** The target influences the length of messages and request lists, so both are limited. */
const maxMessageLength = 600
const maxIds = 24

/** Shortens an example to a fixed maximum size. */
export const truncateExample = ({ message, requestIds }: Example): Example => ({
  message: message.length > maxMessageLength ? `${message.slice(0, maxMessageLength)}...` : message,
  requestIds: requestIds.slice(0, maxIds),
})

/**
 * The earliest examples, ordered by the last request that each cites. So the result depends neither on the order in
 * which workers found them, nor on the number of workers.
 */
export const earliestExamples = (examples: readonly Example[]): readonly Example[] =>
  examples.length < 2 ? examples : examples.toSorted(byLastRequest).slice(0, maxExamples)

function byLastRequest(a: Example, b: Example): number {
  const last = (a.requestIds.at(-1) ?? -1) - (b.requestIds.at(-1) ?? -1)
  if (last !== 0) return last
  const [ofA, ofB] = [a, b].map(({ requestIds, message }) => `${requestIds.join()} ${message}`)
  return ofA === ofB ? 0 : (ofA ?? '') < (ofB ?? '') ? -1 : 1
}
