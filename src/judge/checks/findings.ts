import type { JudgeName } from '../../contract/clause.ts'
import { type ClauseId, type ClausesOf, clauseIds, clauses } from '../../contract/clauses.ts'
import { createMeasuredLog, type Measured, type MeasuredSnapshot } from './measured.ts'
import { createObstacleLog, type Obstacle, type ObstacleSnapshot } from './obstacles.ts'

/** Reports the results of one judge, about its own clauses only. */
export type ClauseReporter<Name extends JudgeName> = {
  /** Counts the clause as judged and passed. */
  readonly pass: (clause: ClausesOf<Name>) => void
  /** Counts the clause as judged and failed. The message states what was found and what was expected. */
  readonly fail: (clause: ClausesOf<Name>, message: string, requestIds: readonly number[]) => void
  /** Notes that the clause was put to the test and could not be judged. It is no judgement. */
  readonly unjudged: (clause: ClausesOf<Name>, obstacle: Obstacle) => void
  /** Adds what was measured of a violation. It is shown if the clause was violated. */
  readonly measured: (clause: ClausesOf<Name>, measured: Measured) => void
  /** Whether the target promises the clause. Other clauses are never judged: `pass` and `fail` ignore them. */
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
  /** Why nothing judged the clause; also of a clause that passed, if a violation hid most of what it is about. */
  readonly because: Silence | null
  /** The true size of what violated the clause, in sentences. */
  readonly measured: string | null
}

/** not-exercised: the run never did it · not-judged: it did, but something prevented the judgement */
export type Silence = Obstacle & { readonly kind: 'not-exercised' | 'not-judged' }

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
  readonly obstacles: ObstacleSnapshot
  readonly measured: MeasuredSnapshot
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

export function createFindingLog(notPromised: readonly ClauseId[] = []): FindingLog {
  /** How many examples cite each request. */
  const cited = new Map<number, number>()
  let violations = 0
  let contentReports = 0
  const unpromised: ReadonlySet<ClauseId> = new Set(notPromised)
  const judged = new Map(clauseIds.map(id => [id, { count: 0 }]))
  const findings = new Map<string, FindingSnapshot>()
  const obstacles = createObstacleLog()
  const measured = createMeasuredLog()

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
      promises: clause => !unpromised.has(clause),
      unjudged: (clause, obstacle) => {
        if (!unpromised.has(clause)) obstacles.add(clause, obstacle)
      },
      measured: measured.add,
      pass: clause => {
        if (unpromised.has(clause)) return
        contentReports += ofContent
        tally(clause, 1)
      },
      fail: (clause, message, requestIds) => {
        if (unpromised.has(clause)) return
        contentReports += ofContent
        tally(clause, 1)
        addFinding({ clause, judge, count: 1, examples: [truncateExample({ message, requestIds })] })
      },
    }
  }

  const silence = (id: ClauseId) => (unpromised.has(id) ? 'not-promised' : 'not-exercised')
  const isViolated = (id: ClauseId) => [...findings.values()].some(({ clause }) => clause === id)

  /** An obstacle that a violation caused comes first. A clause that is not promised has no violation to see. */
  function silenceOf(id: ClauseId, verdict: ClauseTally['verdict'], count: number): Silence | null {
    const met = obstacles.of(id)
    const masked = met.find(({ clause, count: times }) => clause !== null && isViolated(clause) && times >= count)
    const [first] = met
    if (verdict === 'pass' && masked === undefined) return null
    if (first === undefined || verdict === 'fail' || verdict === 'not-promised') return null
    return { kind: 'not-judged', text: (masked ?? first).text, clause: masked?.clause ?? null }
  }

  /** The first example, with what was measured. */
  function messageOf({ clause, examples }: FindingSnapshot): string {
    const message = examples[0]?.message ?? ''
    const sizes = measured.of(clause)
    return sizes === null ? message : `${message}. ${sizes}`
  }

  return {
    contentReports: () => contentReports,
    reporterFor,
    reclassifier: judge => (clause, message, requestIds) => {
      if (unpromised.has(clause)) return
      addFinding({ clause, judge, count: 1, examples: [truncateExample({ message, requestIds })] })
    },
    cites: id => cited.has(id),
    violations: () => violations,
    tallies: () =>
      clauseIds.map(id => {
        const violated = [...findings.values()].filter(f => f.clause === id).reduce((sum, f) => sum + f.count, 0)
        const count = judged.get(id)?.count ?? 0
        const verdict = violated > 0 ? 'fail' : count > 0 ? 'pass' : silence(id)
        const because = silenceOf(id, verdict, count)
        const said = verdict === 'fail' ? measured.of(id) : null
        return { id, section: clauses[id].section, judged: count, violated, verdict, because, measured: said }
      }),
    findings: () =>
      [...findings.values()]
        .sort((a, b) => clauseIds.indexOf(a.clause) - clauseIds.indexOf(b.clause) || (a.judge < b.judge ? -1 : 1))
        .map(f => ({ ...f, section: clauses[f.clause].section, message: messageOf(f) })),
    snapshot: () => ({
      judged: new Map([...judged].map(([clause, { count }]) => [clause, count])),
      findings: [...findings.values()],
      obstacles: obstacles.snapshot(),
      measured: measured.snapshot(),
    }),
    merge: other => {
      for (const [clause, count] of other.judged) tally(clause, count)
      for (const finding of other.findings) addFinding(finding)
      for (const [clause, met] of other.obstacles) for (const each of met) obstacles.add(clause, each, each.count)
      measured.merge(other.measured)
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
