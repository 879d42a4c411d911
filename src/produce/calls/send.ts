import { sleepUntil } from '../../lib/clock.ts'
import type { DropReason } from '../../observation/observation.ts'
import { type ArrivalStep, traitsOf } from '../../plan/plan.ts'
import type { Arrival } from '../arrivals/arrivals.ts'
import { sendPayment } from './send-payment.ts'
import { sendSession } from './send-session.ts'
import { dropStep, originAt, planOf, sendSigned, sendStep, stepAt } from './send-step.ts'
import type { SendContext } from './transmit.ts'

/**
 * Sends the requests of an arrival. Resolves when all of them are observed, with whether a request was sent. Rejects only
 * if Turnpike has a bug. The transport calls `onFree`, for an arrival of one request.
 */
export function sendArrival(arrival: Arrival, context: SendContext, onFree?: () => void): Promise<boolean> {
  try {
    if (arrival.steps[0] === 'offer') return sendPayment(arrival, context)
    if (arrival.steps[0] === 'turn') return sendSession(arrival, context)
    if (arrival.steps.length === 1) return sendStep(arrival, 0, arrival.dueMs, context, onFree)
    return arrival.steps[1] === 'only' ? sendRace(arrival, context) : sendRepetitions(arrival, context)
  } catch (cause) {
    return Promise.reject(cause)
  }
}

/**
 * Sends a request and its replays or twins. Concurrent ones are sent together with the first. Each later request is due
 * when the requests before it have ended.
 */
async function sendRepetitions(arrival: Arrival, context: SendContext): Promise<boolean> {
  const { clock, stop } = context
  const plan = planOf(arrival, context)
  const { requestsAtOnce, waitMs } = traitsOf(plan)
  const later = arrival.steps.findIndex(step => delayed.includes(step))
  // A wallet sends fewer forms than the plan has: it has one key.
  const together = later < 0 ? requestsAtOnce : Math.min(requestsAtOnce, later)
  await Promise.all(
    arrival.steps.slice(0, together).map((_, index) => sendStep(arrival, index, arrival.dueMs, context)),
  )
  for (let index = together; index < arrival.steps.length; index++) {
    if (delayed.includes(stepAt(arrival, index))) await sleepUntil(clock, clock.nowMs() + waitMs, stop)
    if (stop.aborted) dropStep(arrival, index, 'interrupted', context)
    else await sendStep(arrival, index, clock.nowMs(), context)
  }
  return true
}

/** The steps that wait until the cache of a key, or the load around the first request, may have ended. */
const delayed: readonly ArrivalStep[] = ['late-repeat', 'alone']

/** Sends all requests at once with one sign-in, which may be used once. */
async function sendRace(arrival: Arrival, context: SendContext): Promise<boolean> {
  const { caller } = originAt(arrival, 'only', context)
  const signIn = caller.kind === 'wallet' ? await context.signIns.take(caller) : null
  if (signIn === null || context.abort.aborted) {
    dropArrival(arrival, signIn === null ? 'no-credentials' : 'interrupted', context)
    return false
  }
  await Promise.all(arrival.steps.map((_, index) => sendSigned(arrival, index, arrival.dueMs, signIn, context)))
  return true
}

/** Records an arrival that is not sent, with one observation for each of its requests. */
export function dropArrival(arrival: Arrival, reason: DropReason, context: SendContext): void {
  for (const index of arrival.steps.keys()) dropStep(arrival, index, reason, context)
}
