import type { JudgeName } from '../contract/clause.ts'
import { type ClauseId, clauses } from '../contract/clauses.ts'
import { probeNames, probeOf } from '../contract/probes.ts'
import type { Call } from '../plan/plan.ts'

/** The calls whose responses can exercise a clause. */
export type CallFilter = {
  /** What such a call does, as in `no call of this run …`. */
  readonly wanted: string
  readonly matches: (call: Call) => boolean
  /** Whether refused requests exercise the clause too. */
  readonly fromRefusals?: boolean
}

const isRpc = (call: Call): boolean => call.kind === 'rpc' || call.kind === 'replay'
const rpcOf = (call: Call) => (call.kind === 'rpc' ? call : call.kind === 'replay' ? call.of : null)

const chat: CallFilter = { wanted: 'requests a completion (kind: chat)', matches: ({ kind }) => kind === 'chat' }
const unstreamed: CallFilter = {
  wanted: 'requests an unstreamed completion (kind: chat, stream: false)',
  matches: call => call.kind === 'chat' && !call.stream,
}
const streamed: CallFilter = {
  wanted: 'streams a completion (kind: chat)',
  matches: call => call.kind === 'chat' && call.stream,
}
const withOptions: CallFilter = {
  wanted: 'sends options to a completion (parameters or suffix)',
  matches: call => call.kind === 'chat' && call.options !== null,
}
const encoded: CallFilter = {
  wanted: 'accepts a compressed completion (accept-encoding)',
  matches: call => call.kind === 'chat' && call.options !== null && call.options.encoding !== null,
}
const rpc: CallFilter = { wanted: 'sends a JSON-RPC request (kind: rpc)', matches: isRpc }
const batch: CallFilter = {
  wanted: 'sends a JSON-RPC batch (kind: rpc-batch)',
  matches: call => (rpcOf(call)?.batchSize ?? null) !== null,
}
const failingItem: CallFilter = {
  wanted: 'sends a JSON-RPC request that fails on purpose (failure-ratio or failing-items)',
  matches: call => (rpcOf(call)?.failing ?? 0) > 0,
  fromRefusals: true,
}
const failingBatch: CallFilter = {
  wanted: 'sends a JSON-RPC batch with items that fail on purpose (failing-items)',
  matches: call => batch.matches(call) && failingItem.matches(call),
}
const replay: CallFilter = {
  wanted: 'repeats a JSON-RPC request (kind: replay)',
  matches: ({ kind }) => kind === 'replay',
}
const replayWith = (key: string, matches: (call: Call & { kind: 'replay' }) => boolean): CallFilter => ({
  wanted: `repeats a JSON-RPC request with ${key}`,
  matches: call => call.kind === 'replay' && matches(call),
})
const resource: CallFilter = {
  wanted: 'requests such a resource (kind: resource)',
  matches: ({ kind }) => kind === 'resource',
}
const listOf = (kind: Call['kind']): CallFilter => ({
  wanted: `has the kind ${kind}`,
  matches: call => call.kind === kind,
})

const payment: CallFilter = {
  wanted: 'pays for credit (kind: top-up, pay: true)',
  matches: call => call.kind === 'top-up' && call.pay,
  fromRefusals: true,
}

const byJudge: Readonly<Partial<Record<JudgeName, CallFilter>>> = {
  'chat-request': chat,
  'chat-response': unstreamed,
  'chat-stream': streamed,
  'chat-options': withOptions,
  'rpc-response': rpc,
  'rpc-credits': rpc,
  idempotency: replay,
  resources: resource,
  payments: payment,
}

/** Clauses that need more, or less, than their judge reads. */
const byClause: Readonly<Partial<Record<ClauseId, CallFilter | null>>> = {
  'header.model-id': chat,
  'header.model-id.asked': chat,
  'header.model-name': chat,
  'header.model-name.stable': chat,
  'header.request-timestamp': resource,
  'chat.compression': encoded,
  'chat.compression.body': encoded,
  'limit.tokens.headers': chat,
  'limit.tokens.limit': chat,
  'limit.tokens.remaining': chat,
  'limit.tokens.enforced': chat,
  'limit.tokens.reset': chat,
  'limit.resources': resource,
  'limit.rpc-429': { ...rpc, fromRefusals: true },
  'catalogue.models': listOf('models'),
  'catalogue.networks': listOf('networks'),
  // Turnpike itself requests this list.
  'catalogue.rate-limits': null,
  'logs.layout': listOf('rate-limit-logs'),
  'logs.shows-429': listOf('rate-limit-logs'),
  'logs.no-phantom': listOf('rate-limit-logs'),
  'wallet.inference': { ...chat, fromRefusals: true },
  'wallet.rpc': { ...rpc, fromRefusals: true },
  'wallet.top-up.offer': { ...listOf('top-up'), fromRefusals: true },
  'rpc.request-id.unique': rpc,
  'rpc.id': rpc,
  'rpc.batch.correlation': batch,
  'rpc.batch.full': batch,
  'rpc.item-failure.status': failingItem,
  'rpc.item-failure.alone': failingBatch,
  'rpc.batch.error-price': failingBatch,
  'rpc.response.error': failingItem,
  'rpc.replay.charge': replay,
  'rpc.replay.conflict': replayWith('another body (conflict-ratio)', ({ conflictRatio }) => conflictRatio > 0),
  'rpc.replay.per-user': replayWith('another caller (other-caller-ratio)', call => call.otherCallerRatio > 0),
  'rpc.replay.any-key': replayWith('another API key (other-key-ratio)', call => call.otherKeyRatio > 0),
  'rpc.replay.expiry.kept': replayWith('a delay (repeat-after)', ({ repeatAfterMs }) => repeatAfterMs !== null),
  'rpc.replay.expiry.ends': replayWith('a delay (repeat-after)', ({ repeatAfterMs }) => repeatAfterMs !== null),
}

/** null: any request may exercise the clause. */
export function callFilterOf(id: ClauseId): CallFilter | null {
  const own = byClause[id]
  if (own !== undefined) return own
  const filters = clauses[id].judges.map(judge => (judge === 'probe' ? probesOf(id) : (byJudge[judge] ?? null)))
  return filters.reduce<CallFilter | null>((sum, filter, index) => (index === 0 ? filter : either(sum, filter)), null)
}

/** Several judges of completions read all of them. */
function either(a: CallFilter | null, b: CallFilter | null): CallFilter | null {
  if (a === null || b === null) return null
  return {
    wanted: a === unstreamed && b === streamed ? chat.wanted : a.wanted,
    matches: call => a.matches(call) || b.matches(call),
    fromRefusals: a.fromRefusals === true || b.fromRefusals === true,
  }
}

const maxNamed = 4

function probesOf(id: ClauseId): CallFilter {
  const own = probeNames.filter(name => probeOf(name).clause === id)
  // The names in a message are checked for every batch with unsupported methods.
  const names = own.length > 0 ? own : probeNames.filter(name => probeOf(name).names.length > 0)
  const more = names.length > maxNamed ? ', …' : ''
  return {
    wanted: `sends ${names.length === 1 ? 'the probe' : 'one of the probes'} ${names.slice(0, maxNamed).join(', ')}${more}`,
    matches: call => call.kind === 'probe' && (names as readonly string[]).includes(call.probe),
    fromRefusals: true,
  }
}

const noHeader = 'no response had this header'
const noBlock = 'no caller was blocked'
const fewFailures = 'no caller failed often enough'

/** What no response of a run showed, if calls that could exercise the clause were answered. */
export const situations: Readonly<Partial<Record<ClauseId, string>>> = {
  'header.booleans': noHeader,
  'header.timestamp': noHeader,
  'header.host-name': noHeader,
  'header.model-router': noHeader,
  'header.control-instance': noHeader,
  'header.retry-count': noHeader,
  'header.deprecation.pair': noHeader,
  'header.deprecation.date': noHeader,
  'header.payment-required': noHeader,
  'error.400.object': 'no response had status 400',
  'error.401.object': 'no response had status 401',
  'error.415.object': 'no response had status 415',
  'error.429.object': 'no response had status 429',
  'error.object': 'no response was an error',
  'limit.requests.enforced': 'no caller reached its limit',
  'limit.requests.not-early': 'no limit rejected a request',
  'limit.type': 'no limit rejected a request',
  'limit.rpc-429': 'the RPC proxy rejected no request with 429',
  'abuse.block': fewFailures,
  'abuse.counts': fewFailures,
  'abuse.not-early': fewFailures,
  'abuse.all-requests': noBlock,
  'abuse.duration': noBlock,
  'abuse.message': noBlock,
  'abuse.ends': 'no caller sent a request after its block',
  'rpc.refused.free': 'the RPC proxy rejected no request as a whole',
  'chat.cost.cached': 'no prompt came from a cache',
}
