import { type Arrival, type ReplayStep, requestIdOf } from '../arrivals/arrivals.ts'
import { bearer, type Caller, credentials } from '../callers/callers.ts'
import type { SpareKeys } from '../callers/spare-keys.ts'
import type { AccountTier } from '../contract/contract.ts'
import { probeOf } from '../contract/probes.ts'
import { type Clock, sleepUntil } from '../lib/clock.ts'
import type { ChatAsked, DropReason, Observation, Sink } from '../observation/observation.ts'
import type { Call as CallPlan } from '../plan/plan.ts'
import { pairedCallerOf } from '../plan/shard.ts'
import { isEventStream } from '../transport/event-stream.ts'
import type { Transport } from '../transport/transport.ts'
import { buildCall } from './build-call.ts'
import type { Call, Office } from './call.ts'
import { createStreamReader, type StreamReader } from './chat-stream.ts'
import { answerOf, outcomeOf } from './read-answer.ts'

/** What it takes to turn an arrival into observations. */
export type Sender = {
  readonly office: Office
  readonly calls: Readonly<Record<string, CallPlan>>
  readonly callers: readonly Caller[]
  readonly spareKeys: SpareKeys
  readonly accountTier: AccountTier
  readonly clock: Clock
  readonly transport: Transport
  /** Ends what is under way; those requests are observed as cancelled. */
  readonly abort: AbortSignal
  /** Aborted when nothing more may be sent: the rest of a replay is then dropped. */
  readonly stop: AbortSignal
  readonly sink: Sink
}

/**
 * Sends the requests of an arrival and resolves when each has been observed; never rejects. Racing duplicates go out
 * together with the original; whatever follows is due when those before it have ended.
 */
export function sendArrival(arrival: Arrival, sender: Sender): Promise<void> {
  return arrival.steps.length > 1 ? sendSteps(arrival, sender) : sendStep(arrival, 0, arrival.dueMs, sender)
}

async function sendSteps(arrival: Arrival, sender: Sender): Promise<void> {
  const plan = planOf(arrival, sender)
  const racing = plan.kind === 'replay' && plan.concurrent ? 1 + plan.duplicates : 1
  await Promise.all(arrival.steps.slice(0, racing).map((_, index) => sendStep(arrival, index, arrival.dueMs, sender)))
  for (let index = racing; index < arrival.steps.length; index++) {
    if (plan.kind === 'replay' && plan.againAfterMs !== null && stepAt(arrival, index) === 'again')
      await sleepUntil(sender.clock, sender.clock.nowMs() + plan.againAfterMs, sender.stop)
    if (sender.stop.aborted) sender.sink(unsent(arrival, index, plan, 'interrupted', sender))
    else await sendStep(arrival, index, sender.clock.nowMs(), sender)
  }
}

/** The observations of an arrival that was never sent, one for each of its requests. */
export function dropArrival(arrival: Arrival, reason: DropReason, sender: Sender): void {
  const plan = planOf(arrival, sender)
  for (const index of arrival.steps.keys()) sender.sink(unsent(arrival, index, plan, reason, sender))
}

async function sendStep(arrival: Arrival, index: number, dueMs: number, sender: Sender): Promise<void> {
  const plan = planOf(arrival, sender)
  const prepared = prepare(arrival, index, plan, sender)
  if (prepared === null) return sender.sink(unsent(arrival, index, plan, 'no-credentials', sender))
  const { call, from } = prepared
  const reader = call.asked.kind === 'chat' && call.asked.stream ? readerOf(call.asked, sender.office) : null
  const { method, path, headers, body, timeouts, maxBodyBytes } = call.request
  const onStreamBytes = reader?.push ?? null
  // Both records are written out: a spread would copy them member by member, for every request.
  const exchange = await sender.transport(
    { method, path, headers, body, timeouts, maxBodyBytes, onStreamBytes },
    sender.abort,
  )
  // Anything else that was answered to a streamed request (an error, say) has a body like any other.
  const stream = reader !== null && isEventStream(exchange) ? reader.end() : null
  const result = stream && {
    reading: stream.reading,
    failure: stream.failure && { kind: 'failed' as const, ...stream.failure },
  }
  sender.sink({
    seq: requestIdOf(arrival, index, sender.callers.length),
    place: arrival.place + index,
    stage: arrival.stage,
    trial: arrival.trial ?? undefined,
    call: arrival.call,
    caller: from.caller.name,
    key: from.key,
    accountTier: sender.accountTier,
    asked: call.asked,
    dueMs,
    sentMs: exchange.sentMs,
    headersMs: exchange.headersMs,
    endMs: exchange.endMs,
    outcome: outcomeOf(exchange, result),
    answer: answerOf(exchange, result, {
      digest: call.asked.kind === 'rpc' && call.asked.replay !== null,
      maxBytes: maxBodyBytes,
    }),
  })
}

function readerOf({ options }: ChatAsked, { contract: { chat } }: Office): StreamReader {
  return createStreamReader({
    doneMarker: chat.stream.doneMarker,
    echoField: options === null ? null : chat.parametersField,
  })
}

function unsent(arrival: Arrival, index: number, plan: CallPlan, reason: DropReason, sender: Sender): Observation {
  const { caller, key } = senderOf(arrival, stepAt(arrival, index), sender)
  return {
    seq: requestIdOf(arrival, index, sender.callers.length),
    place: arrival.place + index,
    stage: arrival.stage,
    trial: arrival.trial ?? undefined,
    call: arrival.call,
    caller: caller.name,
    key,
    accountTier: sender.accountTier,
    asked: callOf(arrival, index, plan, {}, sender).asked,
    dueMs: arrival.dueMs,
    sentMs: null,
    headersMs: null,
    endMs: null,
    outcome: { kind: 'dropped', reason },
    answer: null,
  }
}

function planOf(arrival: Arrival, sender: Sender): CallPlan {
  const plan = sender.calls[arrival.call]
  if (plan === undefined) throw new RangeError(`no call named ${arrival.call}`)
  return plan
}

type From = { readonly caller: Caller; readonly key: number }

/** Null where nobody has given the credentials that the call is to be sent with. */
function prepare(
  arrival: Arrival,
  index: number,
  plan: CallPlan,
  sender: Sender,
): { readonly call: Call; readonly from: From } | null {
  const from = senderOf(arrival, stepAt(arrival, index), sender)
  const headers = credentialsFor(plan, from, sender)
  return headers && { call: callOf(arrival, index, plan, headers, sender), from }
}

const callOf = (arrival: Arrival, index: number, plan: CallPlan, headers: Headers, { office }: Sender): Call =>
  buildCall(plan, { headSeq: arrival.seq, step: stepAt(arrival, index) }, headers, office)

function senderOf(arrival: Arrival, step: ReplayStep, { callers }: Sender): From {
  // A foreign request tries the key of the group from the account next door.
  const position = step === 'foreign' ? pairedCallerOf(arrival.caller, callers.length) : arrival.caller
  const caller = callers[position]
  if (caller === undefined) throw new RangeError(`no caller at ${position}`)
  return { caller, key: (arrival.key + (step === 'other-key' ? 1 : 0)) % caller.keys.length }
}

type Headers = Readonly<Record<string, string>>

/** Of the caller, but for probes that want somebody whom no caller is. */
function credentialsFor(plan: CallPlan, { caller, key }: From, { spareKeys }: Sender): Headers | null {
  const as = plan.kind === 'probe' ? probeOf(plan.probe).as : 'caller'
  if (as !== 'unpaying' && as !== 'empty') return credentials(caller, key)
  const spare = spareKeys[as]
  return spare === null ? null : bearer(spare)
}

const stepAt = (arrival: Arrival, index: number): ReplayStep => arrival.steps[index] ?? 'only'
