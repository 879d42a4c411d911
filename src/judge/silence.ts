import type { Clause } from '../contract/clause.ts'
import { type ClauseId, clauses } from '../contract/clauses.ts'
import { plural } from '../lib/format.ts'
import type { Call, Plan } from '../plan/plan.ts'
import { type CallFilter, callFilterOf, situations } from './call-filters.ts'
import type { ClauseTally, Silence } from './findings/findings.ts'
import type { Obstacle } from './findings/obstacles.ts'
import type { RunMetrics } from './metrics/request-stats.ts'

/**
 * Says of each clause that nothing judged why: the run never did it, or something prevented the judgement. What a judge
 * has reported counts first if it names a violation, then what such a violation hides anyway.
 */
export function explainSilence(
  tallies: readonly ClauseTally[],
  plan: Plan,
  metrics: Pick<RunMetrics, 'select'>,
): readonly ClauseTally[] {
  const violated = new Set(tallies.filter(({ verdict }) => verdict === 'fail').map(({ id }) => id))
  return tallies.map(tally =>
    tally.verdict === 'not-exercised' ? { ...tally, because: silenceOf(tally, violated, plan, metrics) } : tally,
  )
}

function silenceOf(
  { id, because }: ClauseTally,
  violated: ReadonlySet<ClauseId>,
  plan: Plan,
  metrics: Pick<RunMetrics, 'select'>,
): Silence {
  if (id === 'auth.keys-share-limits' && plan.callers.keysEach < 2) return notExercised(missingOf(id))
  const filter = callFilterOf(id)
  const calls = callsOf(filter, plan)
  if (calls.length === 0) return notExercised(`no call of this run ${filter?.wanted ?? 'is sent'}`)
  if (because?.clause != null) return because
  const mask = maskOf(id, violated)
  if (mask !== null) return { kind: 'not-judged', ...mask }
  return because ?? unsuccessful(filter, calls, metrics) ?? notExercised(missingOf(id))
}

const notExercised = (text: string): Silence => ({ kind: 'not-exercised', text, clause: null })

/** Calls of the plan that could exercise a clause. */
const callsOf = (filter: CallFilter | null, { calls }: Plan): readonly string[] =>
  Object.entries<Call>(calls)
    .filter(([, call]) => filter === null || filter.matches(call))
    .map(([name]) => name)

/** The calls were sent, and none of them was answered as it should. */
function unsuccessful(
  filter: CallFilter | null,
  calls: readonly string[],
  metrics: Pick<RunMetrics, 'select'>,
): Silence | null {
  const all = calls.map(call => metrics.select({ call, stage: null }))
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
  const { needs }: Clause = clauses[id]
  return needs === undefined ? (situations[id] ?? 'no response of this run put it to the test') : `it needs ${needs}`
}

/** What a response that violates a clause hides: the clauses that could have judged the same response. */
type Mask = readonly [text: string, hides: readonly ClauseId[]]

const completions = [
  'chat.usage',
  'chat.usage.sum',
  'chat.usage.cached',
  'chat.usage.details',
  'chat.max-completion-tokens',
  'chat.cost',
  'chat.cost.amount',
  'chat.cost.cached',
  'chat.choice.length',
  'parameters.price',
] as const satisfies readonly ClauseId[]
const streams = [
  'chat.stream.chunk',
  'chat.stream.index',
  'chat.stream.delta',
  'chat.stream.done',
  'chat.stream.finish',
  'chat.stream.usage',
  'parameters.results-in-stream',
] as const satisfies readonly ClauseId[]
const choices = [
  'chat.choice.finish-reason',
  'chat.choice.stop-reason',
  'chat.choice.tool-calls',
  'chat.message',
  'chat.message.members',
  'chat.logprobs',
  'chat.logprobs.asked',
  'chat.logprobs.top',
] as const satisfies readonly ClauseId[]
const money = [
  'billing.balance-before',
  'billing.conservation',
  'billing.currency',
  'rpc.refused.free',
  'rpc.replay.charge',
] as const
const credits = ['rpc.credits.amount', 'rpc.batch.error-price', 'rpc.cost.amount'] as const
const blocks = ['abuse.all-requests', 'abuse.duration', 'abuse.ends', 'abuse.message'] as const

const masks: Readonly<Partial<Record<ClauseId, Mask>>> = {
  'header.date': ['responses have no usable Date', ['header.date.instant', 'chat.created']],
  'header.cf-ray': ['responses have no CF-RAY', ['header.cf-ray.unique']],
  'header.version': ['responses have no version', ['header.version.format']],
  'header.model-id': ['responses name no model', ['header.model-id.asked', 'header.model-name.stable']],
  'header.model-name': ['responses have no name of the model', ['header.model-name.stable']],
  'header.balance.usd': ['responses show no usable balance', money],
  'header.balance.diem': ['responses show no usable balance', money],
  'header.pagination': [
    'pagination headers are unusable',
    ['header.pagination.page', 'header.pagination.total-pages', 'header.pagination.items'],
  ],
  'header.pagination.page': ['another page was returned', ['header.pagination.items']],
  'resource.offered': [
    'the resource is missing',
    [
      'header.pagination',
      'header.content-disposition',
      'header.request-timestamp',
      'embeddings.input',
      'limit.resources',
    ],
  ],
  'error.object': [
    'errors are unreadable',
    [
      ...([
        'error.400.object',
        'error.401.object',
        'error.402.object',
        'error.415.object',
        'error.429.object',
      ] as const),
      ...(['error.500.object', 'error.503.object', 'error.504.object', 'error.402.code'] as const),
    ],
  ],
  'limit.requests.headers': [
    'responses have no usable limit headers',
    ['limit.requests.limit', 'limit.requests.remaining', 'limit.requests.reset', 'limit.resources'],
  ],
  'limit.tokens.headers': [
    'responses have no usable token headers',
    ['limit.tokens.limit', 'limit.tokens.remaining', 'limit.tokens.reset', 'limit.tokens.enforced'],
  ],
  'limit.tokens.reset': ['token resets are unusable', ['limit.tokens.remaining', 'limit.tokens.enforced']],
  'catalogue.rate-limits': [
    'published limits are wrong',
    ['limit.requests.limit', 'limit.tokens.limit', 'limit.resources'],
  ],
  'logs.layout': ['the log is unreadable', ['logs.shows-429', 'logs.no-phantom']],
  'abuse.block': ['no block began when it should', blocks],
  'abuse.counts': ['failures are counted in another way', blocks],
  'abuse.not-early': ['blocks began too early', ['abuse.block', 'abuse.counts', ...blocks]],
  'chat.request': [
    'valid requests were refused',
    ['chat.object', 'chat.id', 'chat.model', 'chat.created', ...completions],
  ],
  'chat.object': [
    'completions are unreadable',
    ['chat.choice', 'chat.logprobs', 'chat.logprobs.asked', ...completions],
  ],
  'chat.compression.body': [
    'compressed bodies are unreadable',
    ['chat.object', 'chat.id', 'chat.model', ...completions],
  ],
  'chat.compression.stream': ['streams are compressed', ['chat.stream.content-type', ...streams, ...completions]],
  'chat.choice': ['completions have no readable choices', choices],
  'chat.usage': [
    'completions state no usable usage',
    [...completions, 'limit.tokens.remaining', 'limit.tokens.enforced'],
  ],
  'chat.usage.cached': ['cached tokens are unusable', ['chat.cost.amount', 'chat.cost.cached', 'parameters.price']],
  'chat.cost': [
    'completions state no usable cost',
    ['chat.cost.amount', 'chat.cost.cached', 'parameters.price', ...money],
  ],
  'chat.stream.content-type': ['streams are unreadable', [...streams, ...completions]],
  'chat.stream.usage': ['streams state no usage', completions],
  'parameters.accepted': [
    'options were refused',
    [
      'parameters.echo',
      'parameters.echo.sent',
      'parameters.echo.default',
      'parameters.thinking',
      'parameters.citations',
    ],
  ],
  'parameters.echo': [
    'the echo of the options is unreadable',
    ['parameters.echo.sent', 'parameters.echo.default', 'parameters.echo.citations', 'parameters.suffix'],
  ],
  'rpc.batch.correlation': [
    'responses cannot be matched with items',
    ['rpc.id', 'rpc.response', 'rpc.response.error', 'rpc.item-failure.alone', ...credits],
  ],
  'rpc.id': ['responses cannot be matched with items', ['rpc.item-failure.alone', ...credits]],
  'rpc.response': ['JSON-RPC responses are malformed', ['rpc.response.error', ...credits]],
  'rpc.item-failure.status': [
    'a failing item fails the whole request',
    ['rpc.item-failure.alone', 'rpc.batch.error-price', 'rpc.response.error'],
  ],
  'rpc.credits.header': ['responses state no credits', credits],
  'rpc.cost.header': ['responses state no cost', ['rpc.cost.amount', ...money]],
  'rpc.request-id': ['responses have no X-Request-ID', ['rpc.request-id.unique']],
  'rpc.replay.header': [
    'replays are not marked as such',
    ['rpc.replay.body', 'rpc.replay.any-key', 'rpc.replay.expiry.kept', 'rpc.replay.expiry.ends', 'rpc.replay.charge'],
  ],
}

/** The violation that hides a clause, if there is one. */
function maskOf(id: ClauseId, violated: ReadonlySet<ClauseId>): Obstacle | null {
  for (const clause of violated) {
    const [text, hides] = masks[clause] ?? []
    if (text !== undefined && hides?.includes(id)) return { text, clause }
  }
  return null
}
