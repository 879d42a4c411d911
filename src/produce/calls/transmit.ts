import type { AccountTier, Contract } from '../../contract/contract.ts'
import type { SignInForm } from '../../contract/wallets.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Mask } from '../../lib/mask/mask.ts'
import { maskOnce } from '../../lib/mask/once.ts'
import type { DropReason, Observation, Sink } from '../../observation/observation.ts'
import type { ChatDescriptor } from '../../observation/requests/chat.ts'
import type { TraceIds } from '../../observation/trace-id.ts'
import type { Call } from '../../plan/plan.ts'
import { type Arrival, type ArrivalStep, requestIdOf } from '../arrivals/arrivals.ts'
import type { SpecialKeys } from '../callers/api-keys.ts'
import type { Caller } from '../callers/caller.ts'
import type { Payments } from '../callers/payments.ts'
import type { SignIns } from '../callers/sign-ins.ts'
import { signedSecrets } from '../callers/signed-secrets.ts'
import { isEventStream } from '../transport/exchange.ts'
import type { StallWatch } from '../transport/stalls.ts'
import type { Exchange, Transport } from '../transport/transport.ts'
import type { BuiltRequest, RequestContext } from './call.ts'
import { maskExchange, outcomeOf, responseOf } from './read-response.ts'
import { createStreamReader, type StreamReader } from './stream-reader.ts'

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
  /** Missing: nothing watches the event loop. */
  readonly stalls?: StallWatch | undefined
  readonly transport: Transport
  /** Cancels requests in flight; they are observed as cancelled. */
  readonly abort: AbortSignal
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

export const stepAt = (arrival: Arrival, index: number): ArrivalStep => arrival.steps[index] ?? 'only'

/**
 * Sends one request, and observes it. Resolves with whether it was sent. `onEnd` gets what came back, before it is
 * observed. Not an async function, and each field is written out, because this runs for every request.
 */
export function transmit(
  { arrival, index, dueMs, origin, built }: DueRequest,
  context: TransmitContext,
  onFree?: () => void,
  onEnd?: (exchange: Exchange) => void,
): Promise<boolean> {
  const { sink } = context
  if (!context.maySend()) {
    sink(unsentRequest({ arrival, index, origin, built }, 'interrupted', context))
    return notSent
  }
  const { descriptor, request } = built
  const { method, path, body, timeouts, maxBodyBytes } = request
  const id = requestIdOf(arrival, index, context.callers.length)
  const { traceIds } = context
  const headers = traceIds === null ? request.headers : { ...request.headers, traceparent: traceIds.traceparent(id) }
  const isOnce = origin.caller.kind === 'wallet'
  const mask = isOnce ? maskOnce(context.mask, () => signedSecrets(headers)) : context.mask
  const reader = descriptor.kind === 'chat' && descriptor.stream ? readerOf(descriptor, context.contract, mask) : null
  const onStreamBytes = reader?.push ?? null
  const sent = { method, path, headers, body, timeouts, maxBodyBytes, isOnce, onStreamBytes }
  return context.transport(sent, context.abort, onFree).then(received => {
    onEnd?.(received)
    const exchange = maskExchange(received, mask)
    // A response that is not an event stream, such as an error, has an ordinary body.
    const stream = reader !== null && isEventStream(exchange) ? reader.end() : null
    const outcome = outcomeOf(exchange, stream)
    if (outcome.kind === 'dropped') {
      sink(unsentRequest({ arrival, index, origin, built }, outcome.reason, context))
      return false
    }
    sink({
      id,
      seq: arrival.seq + index,
      stage: arrival.stage,
      trial: arrival.trial ?? undefined,
      call: arrival.call,
      caller: origin.caller.name,
      chain: chainOf(origin.caller),
      signIn: origin.signIn,
      key: origin.key,
      accountTier: context.accountTier,
      request: descriptor,
      dueMs,
      sentMs: exchange.sentMs,
      retried: exchange.retried || undefined,
      headersMs: exchange.headersMs,
      endMs: exchange.endMs,
      stalls: context.stalls?.between(exchange.sentMs, exchange.endMs),
      outcome,
      response: responseOf(exchange, stream, {
        digest: descriptor.kind === 'rpc' && descriptor.replay !== null,
        maxBytes: maxBodyBytes,
        mask,
      }),
    })
    return true
  })
}

export const notSent = Promise.resolve(false)

/** The observation of a request that was not sent. */
export function unsentRequest(
  { arrival, index, origin, built }: Omit<DueRequest, 'dueMs'>,
  reason: DropReason,
  { callers, accountTier }: Pick<SendContext, 'callers' | 'accountTier'>,
): Observation {
  return {
    id: requestIdOf(arrival, index, callers.length),
    seq: arrival.seq + index,
    stage: arrival.stage,
    trial: arrival.trial ?? undefined,
    call: arrival.call,
    caller: origin.caller.name,
    chain: chainOf(origin.caller),
    key: origin.key,
    accountTier,
    request: built.descriptor,
    dueMs: arrival.dueMs,
    sentMs: null,
    headersMs: null,
    endMs: null,
    outcome: { kind: 'dropped', reason },
    response: null,
  }
}

const chainOf = (caller: Caller): string | undefined => (caller.kind === 'wallet' ? caller.chain : undefined)

function readerOf({ options }: ChatDescriptor, { chat }: Contract, mask: Mask): StreamReader {
  return createStreamReader({
    doneMarker: chat.stream.doneMarker,
    echoField: options === null ? null : chat.parametersField,
    mask,
  })
}
