import { isDeterministic } from '../contract/chat-options.ts'
import type { CallFilterName, Clause, JudgeName } from '../contract/clause.ts'
import { type ClauseId, clauses } from '../contract/clauses.ts'
import { probeNames, probeOf } from '../contract/probes.ts'
import { plural } from '../lib/format.ts'
import type { Call, Plan } from '../plan/plan.ts'
import type { ClauseTally, NotJudgedReason } from './findings/findings.ts'
import type { Obstacle } from './findings/obstacles.ts'
import type { RequestStats, RunMetrics } from './metrics/request-stats.ts'

/** The calls whose responses can exercise a clause. */
type CallFilter = {
  /** What such a call does, as in `no call of this run …`. */
  readonly wanted: string
  readonly matches: (call: Call) => boolean
  /** Whether refused requests exercise the clause too. */
  readonly fromRefusals?: boolean
}

type CallOf<Kind extends Call['kind']> = Call & { readonly kind: Kind }

const isOf = <Kind extends Call['kind']>(call: Call, kind: Kind): call is CallOf<Kind> => call.kind === kind

const calls = <Kind extends Call['kind']>(
  kind: Kind,
  wanted = `has the kind ${kind}`,
  matches: (call: CallOf<Kind>) => boolean = () => true,
): CallFilter => ({ wanted, matches: call => isOf(call, kind) && matches(call) })

/** Of a replay, or of a turn of a conversation. */
const replayOrTurnWith = (key: string, ratio: 'conflictRatio' | 'otherKeyRatio' | 'otherCallerRatio'): CallFilter => ({
  wanted: `repeats a request with ${key}`,
  matches: call => {
    const replays = isOf(call, 'conversation') ? call.replays : isOf(call, 'replay') ? call : undefined
    return replays !== undefined && replays[ratio] > 0
  },
})

/** The completions that a call requests; null: it requests none. */
const completionsOf = (call: Call): Pick<CallOf<'chat'>, 'stream' | 'options'> | null =>
  isOf(call, 'conversation') ? { stream: call.stream, options: null } : isOf(call, 'chat') ? call : null

const completions = (wanted: string, matches: (of: Pick<CallOf<'chat'>, 'stream' | 'options'>) => boolean) => ({
  wanted,
  matches: (call: Call) => {
    const of = completionsOf(call)
    return of !== null && matches(of)
  },
})

const rpcOf = (call: Call) =>
  isOf(call, 'replay') ? (call.of.kind === 'rpc' ? call.of : null) : isOf(call, 'rpc') ? call : null
const isBatch = (call: Call): boolean => (rpcOf(call)?.batchSize ?? null) !== null
const mayFail = (call: Call): boolean => (rpcOf(call)?.failing ?? 0) > 0

const filters: Readonly<Record<Exclude<CallFilterName, 'any'>, CallFilter>> = {
  chat: completions('requests a completion (kind: chat)', () => true),
  'compressed-chat': completions(
    'accepts a compressed completion (accept-encoding)',
    ({ options }) => options !== null && options.encoding !== null,
  ),
  'json-answer': {
    wanted: 'offers tools or asks for JSON (tools or response_format in body, or tools of a conversation)',
    matches: call =>
      isOf(call, 'conversation')
        ? call.tools !== undefined
        : isOf(call, 'chat') &&
          ['tools', 'response_format'].some(name => Object.hasOwn(call.options?.body ?? {}, name)),
  },
  conversation: calls('conversation', 'has turns (kind: conversation)'),
  rpc: { wanted: 'sends a JSON-RPC request (kind: rpc)', matches: call => rpcOf(call) !== null },
  batch: { wanted: 'sends a JSON-RPC batch (kind: rpc-batch)', matches: isBatch },
  'failing-item': {
    wanted: 'sends a JSON-RPC request that fails on purpose (failure-ratio or failing-items)',
    matches: mayFail,
    fromRefusals: true,
  },
  'failing-batch': {
    wanted: 'sends a JSON-RPC batch with items that fail on purpose (failing-items)',
    matches: call => isBatch(call) && mayFail(call),
  },
  replay: {
    wanted: 'repeats a request (kind: replay, or replays of a conversation)',
    matches: call => isOf(call, 'replay') || (isOf(call, 'conversation') && call.replays !== undefined),
  },
  'replay-conflict': replayOrTurnWith('another body (conflict-ratio)', 'conflictRatio'),
  'replay-of-other-caller': replayOrTurnWith('another caller (other-caller-ratio)', 'otherCallerRatio'),
  'replay-with-other-key': replayOrTurnWith('another API key (other-key-ratio)', 'otherKeyRatio'),
  'replay-later': calls(
    'replay',
    'repeats a request with a delay (repeat-after)',
    ({ repeatAfterMs }) => repeatAfterMs !== null,
  ),
  twin: calls('twin', 'sends a request in several forms (kind: twin)'),
  'twin-of-chat': calls('twin', 'sends a completion in several forms (kind: twin)', ({ of }) => of.kind === 'chat'),
  'twin-of-rpc': calls('twin', 'sends an RPC call in several forms (kind: twin)', ({ of }) => of.kind === 'rpc'),
  'deterministic-twin': calls(
    'twin',
    'sends a completion with temperature 0 and a seed in several forms (kind: twin)',
    ({ of }) => of.kind === 'chat' && isDeterministic(of.options),
  ),
  'shorter-twin': calls(
    'twin',
    'sends a deterministic completion again with half of its tokens (form shorter)',
    ({ as }) => as.includes('shorter'),
  ),
  'sampled-twin': calls(
    'twin',
    'sends a sampled completion in several forms (kind: twin)',
    ({ of, mayDiffer }) => of.kind === 'chat' && !isDeterministic(of.options) && !mayDiffer.includes('answer'),
  ),
  resource: calls('resource', 'requests such a resource (kind: resource)'),
  models: calls('models'),
  networks: calls('networks'),
  'rate-limit-logs': calls('rate-limit-logs'),
  'top-up': calls('top-up'),
  'hang-up': {
    wanted: 'leaves a completion early (hang-up)',
    matches: call => isOf(call, 'chat') && call.hangUp !== undefined,
  },
  'slow-reader': {
    wanted: 'reads a stream slowly (read-rate)',
    matches: call => isOf(call, 'chat') && call.readRate !== undefined,
  },
}

const unstreamed = completions('requests an unstreamed completion (kind: chat, stream: false)', ({ stream }) => !stream)
const streamed = completions('streams a completion (kind: chat)', ({ stream }) => stream)

const byJudge: Readonly<Partial<Record<JudgeName, CallFilter>>> = {
  'chat-request': filters.chat,
  'chat-response': unstreamed,
  'chat-stream': streamed,
  'chat-options': completions(
    'sends options to a completion (parameters or suffix)',
    ({ options }) => options !== null,
  ),
  'rpc-response': filters.rpc,
  'rpc-credits': filters.rpc,
  idempotency: filters.replay,
  resources: filters.resource,
  payments: { ...calls('top-up', 'pays for credit (kind: top-up, pay: true)', ({ pay }) => pay), fromRefusals: true },
}

/** null: any request may exercise the clause. */
export function callFilterOf(id: ClauseId): CallFilter | null {
  const { exercisedBy, evenIfRefused = false, judges }: Clause = clauses[id]
  if (exercisedBy === 'any') return null
  if (exercisedBy !== undefined) {
    const filter = filters[exercisedBy]
    return evenIfRefused ? { ...filter, fromRefusals: true } : filter
  }
  const ofJudges = judges.map(judge => (judge === 'probe' ? probesOf(id) : (byJudge[judge] ?? null)))
  return ofJudges.reduce<CallFilter | null>((sum, filter, index) => (index === 0 ? filter : either(sum, filter)), null)
}

/** Several judges of completions read all of them. */
function either(a: CallFilter | null, b: CallFilter | null): CallFilter | null {
  if (a === null || b === null) return null
  return {
    wanted: a === unstreamed && b === streamed ? filters.chat.wanted : a.wanted,
    matches: call => a.matches(call) || b.matches(call),
    fromRefusals: a.fromRefusals === true || b.fromRefusals === true,
  }
}

const maxNamed = 4

function probesOf(id: ClauseId): CallFilter {
  const own = probeNames.filter(name => probeOf(name).clause === id)
  // The names in a message are checked for every batch with unsupported methods.
  const names = own.length > 0 ? own : probeNames.filter(name => probeOf(name).names.length > 0)
  const list = `${names.slice(0, maxNamed).join(', ')}${names.length > maxNamed ? ', …' : ''}`
  const wanted = `sends ${names.length === 1 ? 'the probe' : 'one of the probes'} ${list}`
  const isNamed = ({ probe }: CallOf<'probe'>) => (names as readonly string[]).includes(probe)
  return { ...calls('probe', wanted, isNamed), fromRefusals: true }
}

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
