import type { Contract } from '../../contract/contract.ts'
import { needsWallet, type Sender } from '../../contract/probe.ts'
import { ownRefusals, probeOf } from '../../contract/probes.ts'
import { isBadSignIn } from '../../contract/wallets.ts'
import { sleepUntil } from '../../lib/clock.ts'
import { is2xx } from '../../lib/numbers.ts'
import type { DropReason } from '../../observation/observation.ts'
import type { Call } from '../../plan/plan.ts'
import { pairedCallerOf } from '../../plan/shard.ts'
import type { Arrival, ArrivalStep } from '../arrivals/arrivals.ts'
import { authorize, type Headers } from '../callers/caller.ts'
import type { SignedIn } from '../callers/sign-ins.ts'
import { buildRequest } from './build-request.ts'
import type { BuiltRequest } from './call.ts'
import { offerIn, payOffer } from './pay-offer.ts'
import { notSent, type Origin, type SendContext, stepAt, transmit, unsentRequest } from './transmit.ts'

/**
 * Sends the requests of an arrival. Resolves when all of them are observed, with whether a request was sent; rejects only
 * if Turnpike has a bug. Concurrent duplicates are sent together with the original. Each later request is due when the
 * requests before it have ended. `onFree` is that of the transport, for an arrival of one request.
 */
export function sendArrival(arrival: Arrival, context: SendContext, onFree?: () => void): Promise<boolean> {
  try {
    if (arrival.steps[0] === 'offer') return sendPayment(arrival, context)
    if (arrival.steps.length === 1) return sendStep(arrival, 0, arrival.dueMs, context, onFree)
    return arrival.steps[1] === 'only' ? sendRace(arrival, context) : sendSteps(arrival, context)
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

/** Sends all requests at once with one sign-in, which may be used once. */
async function sendRace(arrival: Arrival, context: SendContext): Promise<boolean> {
  const { caller } = originOf(arrival, 'only', context)
  const signIn = caller.kind === 'wallet' ? await context.signIns.take(caller) : null
  if (signIn === null || context.abort.aborted) {
    dropArrival(arrival, signIn === null ? 'no-credentials' : 'interrupted', context)
    return false
  }
  await Promise.all(arrival.steps.map((_, index) => sendSigned(arrival, index, arrival.dueMs, signIn, context)))
  return true
}

/** Asks how to pay, and pays. Nothing is signed if there is no fitting offer. */
async function sendPayment(arrival: Arrival, context: SendContext): Promise<boolean> {
  const plan = planOf(arrival, context)
  const origin = originOf(arrival, 'offer', context)
  if (plan.kind !== 'top-up') throw new RangeError(`${arrival.call} is no top-up`)
  const requests = arrival.steps.map((_, index) => {
    return { arrival, index, origin, built: requestAt(arrival, index, plan, noHeaders, origin, context) }
  })
  const [asking, ...paying] = requests
  if (asking === undefined) throw new RangeError(`${arrival.call} has no steps`)
  const { offerStatus } = context.contract.wallets.topUp
  let offer: unknown
  const wasSent = await transmit({ ...asking, dueMs: arrival.dueMs }, context, undefined, exchange => {
    if (exchange.status === null) return
    const isOffer = exchange.failure === null && exchange.status === offerStatus
    offer = isOffer ? (offerIn(exchange, context.contract.wallets) ?? null) : null
  })
  const { usd, invalid, concurrent } = plan
  await payOffer(paying, { offer, terms: { usd, invalid }, concurrent }, context)
  return wasSent
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
  steps: readonly ArrivalStep[] | null,
  contract: Contract,
): number {
  if (call?.kind === 'probe') return ownRefusals(call.probe, contract)
  if (call?.kind !== 'replay') return 0
  return steps === null ? Math.ceil(call.conflictRatio) : steps.filter(step => step === 'conflict').length
}

/** Room in each window for unexpected failures, besides the expected refusals. */
const failureMargin = 5

/** The maximum number of expected refusals of one caller in a window that does not trigger the abuse block. */
export const maxExpectedRefusals = ({ abuse }: Contract): number => Math.max(1, abuse.failures - failureMargin)

/** Not an async function, because this runs for every request. */
function sendStep(
  arrival: Arrival,
  index: number,
  dueMs: number,
  context: SendContext,
  onFree?: () => void,
): Promise<boolean> {
  const plan = planOf(arrival, context)
  const origin = originOf(arrival, stepAt(arrival, index), context)
  const signIn = signInFor(plan, origin, context)
  if (signIn instanceof Promise) return sendWhenSigned(arrival, index, dueMs, signIn, context)
  if (signIn !== null) return sendSigned(arrival, index, dueMs, signIn, context, onFree)
  const headers = headersFor(plan, origin, context)
  if (headers === null) {
    context.sink(dropped(arrival, index, plan, 'no-credentials', context))
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
    context.sink(dropped(arrival, index, planOf(arrival, context), 'interrupted', context))
    return false
  }
  return await sendSigned(arrival, index, dueMs, signIn, context)
}

/** Sends a request of a wallet. A sign-in that was accepted may be repeated later, to see it refused. */
function sendSigned(
  arrival: Arrival,
  index: number,
  dueMs: number,
  signIn: SignedIn,
  context: SendContext,
  onFree?: () => void,
): Promise<boolean> {
  const plan = planOf(arrival, context)
  const { caller, key } = originOf(arrival, stepAt(arrival, index), context)
  const origin = { caller, key, signIn: signIn.form }
  const built = requestAt(arrival, index, plan, signIn.headers, origin, context)
  return transmit({ arrival, index, dueMs, origin, built }, context, onFree, ({ status }) => {
    const isAccepted = is2xx(status) && arrival.steps.length === 1 && !isBadSignIn(senderOf(plan))
    if (isAccepted && caller.kind === 'wallet') context.signIns.accepted(caller, signIn)
  })
}

function dropped(arrival: Arrival, index: number, plan: Call, reason: DropReason, context: SendContext) {
  const origin = originOf(arrival, stepAt(arrival, index), context)
  const built = requestAt(arrival, index, plan, noHeaders, origin, context)
  return unsentRequest({ arrival, index, origin, built }, reason, context)
}

const noHeaders: Headers = {}

function planOf(arrival: Arrival, context: SendContext): Call {
  const plan = context.calls[arrival.call]
  if (plan === undefined) throw new RangeError(`no call named ${arrival.call}`)
  return plan
}

function originOf(arrival: Arrival, step: ArrivalStep, { callers }: SendContext): Origin {
  // Step `foreign`: another caller sends the idempotency key of the group from its own account.
  const position = step === 'other-caller' ? pairedCallerOf(arrival.caller, callers.length) : arrival.caller
  const caller = callers[position]
  if (caller === undefined) throw new RangeError(`no caller at ${position}`)
  const keys = caller.kind === 'key' ? caller.keys.length : 1
  return { caller, key: (arrival.key + (step === 'other-key' ? 1 : 0)) % Math.max(1, keys) }
}

/** The sign-in of a wallet; null: the request has none, or there is none. A promise: it is not signed yet. */
function signInFor(plan: Call, { caller }: Origin, { signIns }: SendContext): SignedIn | Promise<SignedIn> | null {
  if (caller.kind !== 'wallet' || isOpenToAll(plan)) return null
  const sender = senderOf(plan)
  if (isBadSignIn(sender)) return signIns.takeBad(caller, sender)
  return sender === 'caller' || sender === 'wallet' ? signIns.take(caller) : null
}

/** The headers of a request without a sign-in: of the caller, or of the special account that a probe needs; null: none. */
function headersFor(plan: Call, { caller, key }: Origin, { specialKeys }: SendContext): Headers | null {
  const sender = senderOf(plan)
  if (sender === 'free-user' || sender === 'zero-balance') {
    const special = specialKeys[sender]
    return special === null ? null : authorize({ kind: 'key', name: sender, keys: [special] }, 0)
  }
  if (needsWallet(sender)) return null
  if (caller.kind === 'wallet') return noHeaders
  return plan.kind === 'wallet-balance' ? null : authorize(caller, key)
}

const senderOf = (plan: Call): Sender => (plan.kind === 'probe' ? probeOf(plan.probe).as : 'caller')

/** Whether a call needs no credentials, so that no sign-in is used up. */
const isOpenToAll = ({ kind }: Call): boolean => kind === 'models' || kind === 'networks' || kind === 'top-up'

function requestAt(
  arrival: Arrival,
  index: number,
  plan: Call,
  headers: Headers,
  { caller }: Origin,
  context: SendContext,
): BuiltRequest {
  const wallet = caller.kind === 'wallet' ? caller : undefined
  return buildRequest(plan, { firstId: arrival.id, step: stepAt(arrival, index), wallet }, headers, context)
}
