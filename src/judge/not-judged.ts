import type { Clause } from '../contract/clause.ts'
import { type ClauseId, clauses } from '../contract/clauses.ts'
import { plural } from '../lib/format.ts'
import type { Call, Plan } from '../plan/plan.ts'
import { type CallFilter, callFilterOf } from './call-filters.ts'
import type { ClauseTally, NotJudgedReason } from './findings/findings.ts'
import type { Obstacle } from './findings/obstacles.ts'
import type { RequestStats, RunMetrics } from './metrics/request-stats.ts'

/**
 * Explains each clause that was not judged: the run never exercised it, or something prevented the judgement. A reason
 * that names a violation comes first, then a violation that hides the clause.
 */
export function explainNotJudged(
  tallies: readonly ClauseTally[],
  plan: Plan,
  metrics: Pick<RunMetrics, 'select'>,
): readonly ClauseTally[] {
  const violated = new Set(tallies.filter(({ verdict }) => verdict === 'fail').map(({ id }) => id))
  // Many clauses ask for the same calls.
  const known = new Map<string, RequestStats>()
  const statsOf = (call: string): RequestStats => {
    const stats = known.get(call) ?? metrics.select({ call, stage: null })
    known.set(call, stats)
    return stats
  }
  return tallies.map(tally =>
    tally.verdict === 'not-exercised' ? { ...tally, because: reasonOf(tally, violated, plan, statsOf) } : tally,
  )
}

function reasonOf(
  { id, because }: ClauseTally,
  violated: ReadonlySet<ClauseId>,
  plan: Plan,
  statsOf: (call: string) => RequestStats,
): NotJudgedReason {
  if (id === 'auth.keys-share-limits' && plan.callers.keysEach < 2) return notExercised(missingOf(id))
  const filter = callFilterOf(id)
  const calls = callsOf(filter, plan)
  if (calls.length === 0) return notExercised(`no call of this run ${filter?.wanted ?? 'is sent'}`)
  if (because?.clause != null) return because
  const hiding = hidingOf(id, violated)
  if (hiding !== null) return { kind: 'not-judged', ...hiding }
  return because ?? unsuccessful(filter, calls.map(statsOf)) ?? notExercised(missingOf(id))
}

const notExercised = (text: string): NotJudgedReason => ({ kind: 'not-exercised', text, clause: null })

/** Calls of the plan that could exercise a clause. */
const callsOf = (filter: CallFilter | null, { calls }: Plan): readonly string[] =>
  Object.entries<Call>(calls)
    .filter(([, call]) => filter === null || filter.matches(call))
    .map(([name]) => name)

/** The calls were sent, and none of them was answered as it should. */
function unsuccessful(filter: CallFilter | null, all: readonly RequestStats[]): NotJudgedReason | null {
  const sent = all.reduce((sum, stats) => sum + stats.sent, 0)
  if (sent === 0) return notExercised('no such request was sent')
  const statuses = new Map<string, number>()
  for (const { statuses: own, failed } of all) {
    for (const [status, count] of own) statuses.set(`got ${status}`, (statuses.get(`got ${status}`) ?? 0) + count)
    if (failed > 0) statuses.set('failed', (statuses.get('failed') ?? 0) + failed)
  }
  const isExpected = (ending: string) =>
    ending.startsWith('got 2') || (filter?.fromRefusals === true && ending !== 'failed')
  if ([...statuses.keys()].some(isExpected)) return null
  const endings = [...statuses].toSorted(([, a], [, b]) => b - a).slice(0, maxEndings)
  const text = endings.map(([ending, count]) => `${count} ${ending}`).join(', ')
  return { kind: 'not-judged', text: `none of ${plural(sent, 'such request')} succeeded: ${text}`, clause: null }
}

const maxEndings = 3

function missingOf(id: ClauseId): string {
  const { needs, unseen = 'no response of this run put it to the test' }: Clause = clauses[id]
  return needs === undefined ? unseen : `it needs ${needs}`
}

/** The violation that hides a clause, if there is one. */
function hidingOf(id: ClauseId, violated: ReadonlySet<ClauseId>): Obstacle | null {
  for (const clause of violated) {
    const { hides }: Clause = clauses[clause]
    const [text, hidden] = hides ?? []
    if (text !== undefined && hidden?.includes(id)) return { text, clause }
  }
  return null
}
