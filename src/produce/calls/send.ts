import type { AccountTier, Contract } from '../../contract/contract.ts'
import { isOwnRefusal, probeOf } from '../../contract/probes.ts'
import { type Clock, sleepUntil } from '../../lib/clock.ts'
import type { Mask } from '../../lib/mask/mask.ts'
import type { ChatDescriptor, DropReason, Observation, Sink } from '../../observation/observation.ts'
import type { Call } from '../../plan/plan.ts'
import { pairedCallerOf } from '../../plan/shard.ts'
import { type Arrival, type ReplayStep, requestIdOf } from '../arrivals/arrivals.ts'
import type { SpecialKeys } from '../callers/api-keys.ts'
import { authorize, type Caller } from '../callers/caller.ts'
import { isEventStream } from '../transport/exchange.ts'
import type { Transport } from '../transport/transport.ts'
import { buildRequest } from './build-request.ts'
import type { BuiltRequest, RequestContext } from './call.ts'
import { maskExchange, outcomeOf, responseOf } from './read-response.ts'
import { createStreamReader, type StreamReader } from './stream-reader.ts'

/** What turns an arrival into observations. */
export type SendContext = RequestContext & {
  readonly calls: Readonly<Record<string, Call>>
  readonly callers: readonly Caller[]
  readonly specialKeys: SpecialKeys
  /** Hides all secrets of the run in what the target sends. */
  readonly mask: Mask
  readonly accountTier: AccountTier
  readonly clock: Clock
  readonly transport: Transport
  /** Cancels requests in flight; they are observed as cancelled. */
  readonly abort: AbortSignal
  /** Aborted when sending must stop; the rest of a replay is then dropped. */
  readonly stop: AbortSignal
  readonly sink: Sink
}

/**
 * Sends the requests of an arrival. Resolves when all of them are observed, with whether a request was sent; rejects only
 * if Turnpike has a bug. Concurrent duplicates are sent together with the original. Each later request is due when the
 * requests before it have ended. `onFree` is that of the transport, for an arrival of one request.
 */
export function sendArrival(arrival: Arrival, context: SendContext, onFree?: () => void): Promise<boolean> {
  try {
    return arrival.steps.length > 1 ? sendSteps(arrival, context) : sendStep(arrival, 0, arrival.dueMs, context, onFree)
  } catch (cause) {
    return Promise.reject(cause)
  }
}

async function sendSteps(arrival: Arrival, context: SendContext): Promise<boolean> {
  const plan = planOf(arrival, context)
  const concurrent = plan.kind === 'replay' && plan.concurrent ? 1 + plan.duplicates : 1
  await Promise.all(
    arrival.steps.slice(0, concurrent).map((_, index) => sendStep(arrival, index, arrival.dueMs, context)),
  )
  for (let index = concurrent; index < arrival.steps.length; index++) {
    if (plan.kind === 'replay' && plan.repeatAfterMs !== null && stepAt(arrival, index) === 'late-repeat')
      await sleepUntil(context.clock, context.clock.nowMs() + plan.repeatAfterMs, context.stop)
    if (context.stop.aborted) context.sink(dropped(arrival, index, plan, 'interrupted', context))
    else await sendStep(arrival, index, context.clock.nowMs(), context)
  }
  return true
}

/** Records an arrival that is not sent, with one observation for each of its requests. */
export function dropArrival(arrival: Arrival, reason: DropReason, context: SendContext): void {
  const plan = planOf(arrival, context)
  for (const index of arrival.steps.keys()) context.sink(dropped(arrival, index, plan, reason, context))
}

/**
 * The number of requests of an arrival that the target should refuse, and that therefore count towards the abuse block
 * of their caller. If the steps are not known yet (null), it is the maximum.
 */
export function expectedRefusals(
  call: Call | undefined,
  steps: readonly ReplayStep[] | null,
  contract: Contract,
): number {
  if (call?.kind === 'probe') return isOwnRefusal(call.probe, contract) ? 1 : 0
  if (call?.kind !== 'replay') return 0
  return steps === null ? Math.ceil(call.conflictRatio) : steps.filter(step => step === 'conflict').length
}

/** Room in each window for unexpected failures, besides the expected refusals. */
const failureMargin = 5

/** The maximum number of expected refusals of one caller in a window that does not trigger the abuse block. */
export const maxExpectedRefusals = ({ abuse }: Contract): number => Math.max(1, abuse.failures - failureMargin)

/** Not an async function, and each field is written out, because this runs for every request. */
function sendStep(
  arrival: Arrival,
  index: number,
  dueMs: number,
  context: SendContext,
  onFree?: () => void,
): Promise<boolean> {
  const { mask, sink } = context
  const plan = planOf(arrival, context)
  const origin = originOf(arrival, stepAt(arrival, index), context)
  const credentials = credentialsFor(plan, origin, context)
  if (credentials === null) {
    sink(dropped(arrival, index, plan, 'no-credentials', context))
    return notSent
  }
  const { descriptor, request } = requestAt(arrival, index, plan, credentials, context)
  const reader = descriptor.kind === 'chat' && descriptor.stream ? readerOf(descriptor, context) : null
  const { method, path, headers, body, timeouts, maxBodyBytes } = request
  const onStreamBytes = reader?.push ?? null
  const sent = { method, path, headers, body, timeouts, maxBodyBytes, onStreamBytes }
  return context.transport(sent, context.abort, onFree).then(received => {
    const exchange = maskExchange(received, mask)
    // A response that is not an event stream, such as an error, has an ordinary body.
    const stream = reader !== null && isEventStream(exchange) ? reader.end() : null
    const outcome = outcomeOf(exchange, stream)
    if (outcome.kind === 'dropped') {
      sink(dropped(arrival, index, plan, outcome.reason, context))
      return false
    }
    sink({
      id: requestIdOf(arrival, index, context.callers.length),
      seq: arrival.seq + index,
      stage: arrival.stage,
      trial: arrival.trial ?? undefined,
      call: arrival.call,
      caller: origin.caller.name,
      key: origin.key,
      accountTier: context.accountTier,
      request: descriptor,
      dueMs,
      sentMs: exchange.sentMs,
      retried: exchange.retried || undefined,
      headersMs: exchange.headersMs,
      endMs: exchange.endMs,
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

const notSent = Promise.resolve(false)

function dropped(arrival: Arrival, index: number, plan: Call, reason: DropReason, context: SendContext): Observation {
  const { caller, key } = originOf(arrival, stepAt(arrival, index), context)
  return {
    id: requestIdOf(arrival, index, context.callers.length),
    seq: arrival.seq + index,
    stage: arrival.stage,
    trial: arrival.trial ?? undefined,
    call: arrival.call,
    caller: caller.name,
    key,
    accountTier: context.accountTier,
    request: requestAt(arrival, index, plan, {}, context).descriptor,
    dueMs: arrival.dueMs,
    sentMs: null,
    headersMs: null,
    endMs: null,
    outcome: { kind: 'dropped', reason },
    response: null,
  }
}

function planOf(arrival: Arrival, context: SendContext): Call {
  const plan = context.calls[arrival.call]
  if (plan === undefined) throw new RangeError(`no call named ${arrival.call}`)
  return plan
}

const stepAt = (arrival: Arrival, index: number): ReplayStep => arrival.steps[index] ?? 'only'

/** The caller of a request, and the position of the key that it uses. */
type Origin = { readonly caller: Caller; readonly key: number }

function originOf(arrival: Arrival, step: ReplayStep, { callers }: SendContext): Origin {
  // Step `foreign`: another caller sends the idempotency key of the group from its own account.
  const position = step === 'other-caller' ? pairedCallerOf(arrival.caller, callers.length) : arrival.caller
  const caller = callers[position]
  if (caller === undefined) throw new RangeError(`no caller at ${position}`)
  return { caller, key: (arrival.key + (step === 'other-key' ? 1 : 0)) % Math.max(1, caller.keys.length) }
}

type Headers = Readonly<Record<string, string>>

/** The credentials of the caller, or of the special account that a probe needs; null if that account has no key. */
function credentialsFor(plan: Call, { caller, key }: Origin, { specialKeys }: SendContext): Headers | null {
  const account = plan.kind === 'probe' ? probeOf(plan.probe).as : 'caller'
  if (account !== 'free-user' && account !== 'zero-balance') return authorize(caller, key)
  const special = specialKeys[account]
  return special === null ? null : authorize({ name: account, keys: [special] }, 0)
}

const requestAt = (arrival: Arrival, index: number, plan: Call, headers: Headers, context: SendContext): BuiltRequest =>
  buildRequest(plan, { firstId: arrival.id, step: stepAt(arrival, index) }, headers, context)

function readerOf({ options }: ChatDescriptor, { contract: { chat }, mask }: SendContext): StreamReader {
  return createStreamReader({
    doneMarker: chat.stream.doneMarker,
    echoField: options === null ? null : chat.parametersField,
    mask,
  })
}
