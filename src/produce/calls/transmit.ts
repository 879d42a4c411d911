import type { AccountTier } from '../../contract/contract.ts'
import type { SignInForm } from '../../contract/wallets.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Mask } from '../../lib/mask/mask.ts'
import { maskOnce } from '../../lib/mask/once.ts'
import type { DropReason, Observation, ObservedResponse, Outcome, Sink } from '../../observation/observation.ts'
import type { TraceIds } from '../../observation/trace-id.ts'
import type { Call } from '../../plan/plan.ts'
import { type Arrival, requestIdOf } from '../arrivals/arrivals.ts'
import type { SpecialKeys } from '../callers/api-keys.ts'
import type { Caller } from '../callers/caller.ts'
import type { Payments } from '../callers/payments.ts'
import type { SignIns } from '../callers/sign-ins.ts'
import { signedSecrets } from '../callers/wallet-kinds.ts'
import { isEventStream } from '../transport/exchange.ts'
import type { StallWatch } from '../transport/stalls.ts'
import type { Exchange, Transport } from '../transport/transport.ts'
import type { BuiltRequest, RequestContext, TurnPosition } from './call.ts'
import { leaveAt, readingTime } from './hang-up.ts'
import { maskExchange, outcomeOf, responseOf } from './read-response.ts'

/** What turns an arrival into observations. */
export type SendContext = RequestContext & {
  readonly calls: Readonly<Record<string, Call>>
  readonly callers: readonly Caller[]
  readonly specialKeys: SpecialKeys
  readonly signIns: SignIns
  readonly payments: Payments
  /** Hides all secrets of the run in what the target sends. */
  readonly mask: Mask
  readonly accountTier: AccountTier
  readonly clock: Clock
  /** Missing: the event loop is not watched. */
  readonly stalls?: StallWatch | undefined
  readonly transport: Transport
  /** Cancels requests in flight; they are observed as cancelled. */
  readonly abort: AbortSignal
  /** The turn of a conversation that is sent. Missing: it is none. */
  readonly turn?: TurnPosition & { readonly firstId: number }
  /** The `seq` for this number of requests in a row. */
  readonly nextSeq: (requests: number) => number
  /** Aborted when sending must stop; the rest of a replay is then dropped. */
  readonly stop: AbortSignal
  /** Whether a request may be sent now; asked right before each one. */
  readonly maySend: () => boolean
  readonly sink: Sink
  /** null: requests carry no trace id. */
  readonly traceIds: TraceIds | null
}

/** What one request needs of it. */
export type TransmitContext = Pick<
  SendContext,
  'contract' | 'callers' | 'mask' | 'accountTier' | 'transport' | 'abort' | 'maySend' | 'sink' | 'stalls' | 'traceIds'
>

/** The caller of a request, the position of the key that it uses, and how its wallet signed in. */
export type Origin = { readonly caller: Caller; readonly key: number; readonly signIn?: SignInForm }

/** A request of an arrival: its position there, who sends it, and what. */
export type DueRequest = {
  readonly arrival: Arrival
  readonly index: number
  readonly dueMs: number
  readonly origin: Origin
  readonly built: BuiltRequest
}

/**
 * Sends one request, and observes it. Resolves with whether it was sent. `onEnd` gets what came back, before it is
 * observed. Not an async function, because this runs for every request.
 */
export function transmit(
  due: DueRequest,
  context: TransmitContext,
  onFree?: () => void,
  onEnd?: (exchange: Exchange) => void,
): Promise<boolean> {
  const { sink, traceIds } = context
  if (!context.maySend()) {
    sink(unsentRequest(due, 'interrupted', context))
    return notSent
  }
  const { arrival, index, origin, built } = due
  const { method, path, body, timeouts, maxBodyBytes, headers: ownHeaders } = built.request
  const id = requestIdOf(arrival, index, context.callers.length)
  const headers = traceIds === null ? ownHeaders : { ...ownHeaders, traceparent: traceIds.traceparent(id) }
  const isOnce = origin.caller.kind === 'wallet'
  const mask = isOnce ? maskOnce(context.mask, () => signedSecrets(headers)) : context.mask
  const reader = built.openReader?.(context.contract, mask, built.keepsDigest === true) ?? null
  const onStreamBytes = reader?.push ?? null
  const hasKey = built.keepsDigest
  const leave = built.leaves && leaveAt(built.leaves, reader)
  const readingMs = built.readRate && readingTime(built.readRate, reader)
  const sent = { method, path, headers, body, timeouts, maxBodyBytes, isOnce, hasKey, onStreamBytes, leave, readingMs }
  return context.transport(sent, context.abort, onFree).then(received => {
    onEnd?.(received)
    const exchange = maskExchange(received, mask)
    // A response that is not an event stream, such as an error, has an ordinary body.
    const stream = reader !== null && isEventStream(exchange) ? reader.end() : null
    const outcome = outcomeOf(exchange, stream)
    if (outcome.kind === 'dropped') {
      sink(unsentRequest(due, outcome.reason, context))
      return false
    }
    const response = responseOf(exchange, stream, { digest: built.keepsDigest === true, maxBytes: maxBodyBytes, mask })
    sink(observationOf(due, due.dueMs, outcome, exchange, response, context))
    return true
  })
}

export const notSent = Promise.resolve(false)

/** The observation of a request that was not sent. It was due when its arrival was. */
export const unsentRequest = (
  request: Omit<DueRequest, 'dueMs'>,
  reason: DropReason,
  context: TransmitContext,
): Observation => observationOf(request, request.arrival.dueMs, { kind: 'dropped', reason }, null, null, context)

/** `exchange`: null if the request was not sent. Each field is written out, because this runs for every request. */
function observationOf(
  { arrival, index, origin, built }: Omit<DueRequest, 'dueMs'>,
  dueMs: number,
  outcome: Outcome,
  exchange: Exchange | null,
  response: ObservedResponse | null,
  { callers, accountTier, stalls }: TransmitContext,
): Observation {
  const { caller, key, signIn } = origin
  return {
    id: requestIdOf(arrival, index, callers.length),
    seq: arrival.seq + index,
    stage: arrival.stage,
    trial: arrival.trial ?? undefined,
    call: arrival.call,
    caller: caller.name,
    chain: caller.kind === 'wallet' ? caller.chain : undefined,
    signIn: exchange === null ? undefined : signIn,
    key,
    accountTier,
    request: built.descriptor,
    dueMs,
    sentMs: exchange?.sentMs ?? null,
    retried: exchange?.retried || undefined,
    headersMs: exchange?.headersMs ?? null,
    endMs: exchange?.endMs ?? null,
    stalls: exchange === null ? undefined : stalls?.between(exchange.sentMs, exchange.endMs),
    outcome,
    response,
  }
}
