import { needsWallet } from '../../contract/probe.ts'
import { isBadSignIn } from '../../contract/wallets.ts'
import { is2xx } from '../../lib/numbers.ts'
import type { DropReason } from '../../observation/observation.ts'
import { type ArrivalStep, type Call, traitsOf } from '../../plan/plan.ts'
import { pairedCallerOf } from '../../plan/shard.ts'
import type { Arrival } from '../arrivals/arrivals.ts'
import { authorize, type Headers } from '../callers/caller.ts'
import type { SignedIn } from '../callers/sign-ins.ts'
import { noHeaders } from '../transport/headers.ts'
import type { BuiltRequest } from './call.ts'
import { buildRequest, isUnsigned } from './kinds.ts'
import { notSent, type Origin, type SendContext, transmit, unsentRequest } from './transmit.ts'

/**
 * Sends one request of an arrival as its caller. Resolves when it is observed, with whether it was sent. Not an async
 * function, because this runs for every request.
 */
export function sendStep(
  arrival: Arrival,
  index: number,
  dueMs: number,
  context: SendContext,
  onFree?: () => void,
): Promise<boolean> {
  const plan = planOf(arrival, context)
  const origin = originAt(arrival, stepAt(arrival, index), context)
  const signIn = signInFor(plan, origin, context)
  if (signIn instanceof Promise) return sendWhenSigned(arrival, index, dueMs, signIn, context)
  if (signIn !== null) return sendSigned(arrival, index, dueMs, signIn, context, onFree)
  const headers = headersFor(plan, origin, context)
  if (headers === null) {
    dropStep(arrival, index, 'no-credentials', context)
    return notSent
  }
  const built = requestAt(arrival, index, plan, headers, origin, context)
  return transmit({ arrival, index, dueMs, origin, built }, context, onFree)
}

/** Sends a request as soon as its sign-in is signed. The wait is lateness. */
async function sendWhenSigned(
  arrival: Arrival,
  index: number,
  dueMs: number,
  signing: Promise<SignedIn>,
  context: SendContext,
): Promise<boolean> {
  const signIn = await signing
  if (context.abort.aborted) {
    dropStep(arrival, index, 'interrupted', context)
    return false
  }
  return await sendSigned(arrival, index, dueMs, signIn, context)
}

/** Sends a request of a wallet. A probe may later repeat a sign-in that was accepted. */
export function sendSigned(
  arrival: Arrival,
  index: number,
  dueMs: number,
  signIn: SignedIn,
  context: SendContext,
  onFree?: () => void,
): Promise<boolean> {
  const plan = planOf(arrival, context)
  const { caller, key } = originAt(arrival, stepAt(arrival, index), context)
  const origin = { caller, key, signIn: signIn.form }
  const built = requestAt(arrival, index, plan, signIn.headers, origin, context)
  return transmit({ arrival, index, dueMs, origin, built }, context, onFree, ({ status }) => {
    const isAccepted = is2xx(status) && arrival.steps.length === 1 && !isBadSignIn(traitsOf(plan).sender)
    if (isAccepted && caller.kind === 'wallet') context.signIns.accepted(caller, signIn)
  })
}

/** Observes that a request of an arrival was not sent. */
export function dropStep(arrival: Arrival, index: number, reason: DropReason, context: SendContext): void {
  const origin = originAt(arrival, stepAt(arrival, index), context)
  const built = requestAt(arrival, index, planOf(arrival, context), noHeaders, origin, context)
  context.sink(unsentRequest({ arrival, index, origin, built }, reason, context))
}

export const stepAt = (arrival: Arrival, index: number): ArrivalStep => arrival.steps[index] ?? 'only'

export function planOf(arrival: Arrival, context: SendContext): Call {
  const plan = context.calls[arrival.call]
  if (plan === undefined) throw new RangeError(`no call named ${arrival.call}`)
  return plan
}

/** In the step `other-caller`, another caller sends the idempotency key of the group from its own account. */
export function originAt(arrival: Arrival, step: ArrivalStep, { callers }: SendContext): Origin {
  const position = step === 'other-caller' ? pairedCallerOf(arrival.caller, callers.length) : arrival.caller
  const caller = callers[position]
  if (caller === undefined) throw new RangeError(`no caller at ${position}`)
  const keys = caller.kind === 'key' ? caller.keys.length : 1
  return { caller, key: (arrival.key + (step === 'other-key' ? 1 : 0)) % Math.max(1, keys) }
}

/** The sign-in of a wallet; null if the request has none. A promise: it is not signed yet. */
function signInFor(plan: Call, { caller }: Origin, { signIns }: SendContext): SignedIn | Promise<SignedIn> | null {
  if (caller.kind !== 'wallet' || isUnsigned(plan)) return null
  const sender = traitsOf(plan).sender
  if (isBadSignIn(sender)) return signIns.takeBad(caller, sender)
  return sender === 'caller' || sender === 'wallet' ? signIns.take(caller) : null
}

/** The headers of a request without a sign-in: of the caller, or of the special account that a probe needs; null: none. */
function headersFor(plan: Call, { caller, key }: Origin, { specialKeys, contract }: SendContext): Headers | null {
  const sender = traitsOf(plan).sender
  if (sender === 'free-user' || sender === 'zero-balance') {
    const special = specialKeys[sender]
    return special === null ? null : authorize({ kind: 'key', name: sender, keys: [special] }, 0, contract)
  }
  if (needsWallet(sender)) return null
  return caller.kind === 'wallet' ? noHeaders : authorize(caller, key, contract)
}

export function requestAt(
  arrival: Arrival,
  index: number,
  plan: Call,
  headers: Headers,
  { caller }: Origin,
  context: SendContext,
): BuiltRequest {
  const wallet = caller.kind === 'wallet' ? caller : undefined
  const { turn } = context
  const { prompt } = arrival
  const firstId = turn?.firstId ?? arrival.id
  return buildRequest(plan, { firstId, step: stepAt(arrival, index), turn, prompt, wallet }, headers, context)
}
