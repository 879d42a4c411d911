import type { Contract } from '../contract/contract.ts'
import { promisesAny } from '../contract/promises.ts'
import type { DropReason, Observation, Sink } from '../observation/observation.ts'
import { originOf } from '../observation/response.ts'
import { replaysOf } from '../plan/plan.ts'
import type { Arrival } from './arrivals/arrivals.ts'
import type { Spend } from './budget/account-spend.ts'
import { type Budget, type Reservation, reserveWhenGranted } from './budget/budget.ts'
import { expectedRefusals } from './calls/kinds.ts'
import { dropArrival, sendArrival } from './calls/send.ts'
import type { SendContext } from './calls/transmit.ts'
import { createInFlight, type DriverContext, type InFlight } from './drivers/driver.ts'
import { type RunStop, watchReachability, watchTarget } from './drivers/stop.ts'

/** The feedback to the engine while it runs. It comes from the judge, or in tests of the engine from a table. */
export type Feedback = {
  /** What a request has cost, in pico-USD; null: it was never sent. Called only if there is a budget. */
  readonly spendOf: (observation: Observation) => Spend | null
  /** Whether a request counts as a failure of its caller. */
  readonly countsAsFailure: (observation: Observation) => boolean
}

/** Sends arrivals, as far as the budget and the failure limit of their callers allow. */
export type Firing = {
  readonly fire: (arrival: Arrival, from: SendContext, onFree?: () => void) => Promise<boolean>
  /** What a driver needs to send with this context. */
  readonly driverOf: (from: SendContext) => DriverContext
  /** When a caller may fail `failures` times more; null: immediately. */
  readonly waitUntilMs: (caller: number, failures: number, nowMs: number) => number | null
  /** Takes the observations that belong to no reservation. */
  readonly observe: Sink
  readonly inFlight: InFlight
  /** The same by call. Calls that have sent nothing yet may be missing. */
  readonly inFlightByCall: ReadonlyMap<string, number>
}

export type FiringOptions = Pick<SendContext, 'calls' | 'callers' | 'contract' | 'clock' | 'sink'> & {
  readonly stop: RunStop
  readonly feedback: Feedback
  /** null: the plan has no budget. */
  readonly budget: Budget | null
}

export function createFiring(options: FiringOptions): Firing {
  const { calls, callers, contract, clock, stop, budget } = options
  const inFlight = createInFlight()
  const inFlightByCall = new Map<string, number>()
  const count = (call: string, by: number) => void inFlightByCall.set(call, (inFlightByCall.get(call) ?? 0) + by)
  const failureLimiter = createFailureLimiter({
    max: promisesAny(contract, ['abuse.*']) ? maxExpectedRefusals(contract) : Number.POSITIVE_INFINITY,
    windowMs: contract.abuse.windowMs,
  })
  const observe = createObserver(options, failureLimiter)
  const nameOf = (caller: number): string => callers[caller]?.name ?? ''
  const failuresOf = ({ call, steps }: Arrival): number => expectedRefusals(calls[call], steps, contract)
  const waitUntilMs: Firing['waitUntilMs'] = (caller, failures, nowMs) =>
    failureLimiter.waitUntilMs(nameOf(caller), failures, nowMs)

  /** With a budget or an expected failure, the next arrival must wait until the outcome of this one is observed. */
  const fire: Firing['fire'] = (arrival, from, onFree) => {
    const isFree = budget === null && failuresOf(arrival) === 0
    count(arrival.call, 1)
    const fired = isFree ? send(arrival, from, onFree) : fireCounted(arrival, from)
    const end = () => count(arrival.call, -1)
    fired.then(end, end)
    return fired
  }

  function send(arrival: Arrival, from: SendContext, onFree?: () => void): Promise<boolean> {
    // The later turns of a conversation are due long after others, and get numbers of their own.
    const { steps } = arrival
    arrival.seq = from.nextSeq(steps[0] === 'turn' ? 1 + replaysOf(steps, 0) : steps.length)
    return sendArrival(arrival, from, onFree)
  }

  function drop(arrival: Arrival, reason: DropReason, from: SendContext): void {
    arrival.seq = from.nextSeq(arrival.steps.length)
    dropArrival(arrival, reason, from)
  }

  /** Reserves the maximum cost of an arrival, and its expected failures. */
  async function fireCounted(arrival: Arrival, from: SendContext): Promise<boolean> {
    const caller = nameOf(arrival.caller)
    let reservation = budget?.reserve(arrival.call, caller) ?? null
    if (budget && !reservation) {
      const waiting = { clock, signal: stop.stopping }
      reservation = await reserveWhenGranted(budget, arrival.call, caller, waiting)
    }
    if (budget !== null && reservation === null) {
      stop.stop('budget-reached')
      drop(arrival, 'budget', from)
      return false
    }
    const failures = failuresOf(arrival)
    failureLimiter.begin(caller, failures)
    // The charges of an arrival use its reservation, so that no money counts twice.
    const sink = reservation === null ? from.sink : (each: Observation) => observe(each, reservation)
    const wasSent = await send(arrival, { ...from, sink })
    failureLimiter.end(caller, failures)
    if (reservation !== null) budget?.release(reservation, clock.nowMs())
    return wasSent
  }

  return {
    fire,
    waitUntilMs,
    inFlight,
    inFlightByCall,
    observe: observation => observe(observation, null),
    driverOf: from => ({
      clock,
      signal: from.stop,
      inFlight,
      drop: (arrival, reason) => drop(arrival, reason, from),
      mustWait: arrival => waitUntilMs(arrival.caller, failuresOf(arrival), clock.nowMs()) !== null,
      fire: (arrival, onFree) => fire(arrival, from, onFree),
    }),
  }
}

/** Hands observations on, charges them, and stops the run if they show a reason. */
function createObserver(
  { sink, contract, stop, feedback, budget }: FiringOptions,
  { recordFailure }: FailureLimiter,
): (observation: Observation, reservation: Reservation | null) => void {
  const watchLostTarget = watchReachability(() => stop.stop('target-unreachable'))
  const watchWrongTarget = watchTarget(observation => originOf(observation, contract), stop.stop)
  return (observation, reservation) => {
    sink(observation)
    watchLostTarget(observation)
    watchWrongTarget(observation)
    const { caller, endMs } = observation
    if (endMs !== null && feedback.countsAsFailure(observation)) recordFailure(caller, endMs)
    if (budget === null || reservation === null) return
    const spend = feedback.spendOf(observation)
    if (spend !== null) budget.charge(reservation, caller, spend)
    if (budget.isExceeded()) stop.stop('budget-reached')
  }
}

/** Room in each window for unexpected failures, besides the expected refusals. */
const failureMargin = 5

/** The maximum number of expected refusals of one caller in a window that does not trigger the abuse block. */
const maxExpectedRefusals = ({ abuse }: Contract): number => Math.max(1, abuse.failures - failureMargin)

/** Limits the failures of each caller, so that deliberate failures do not trigger the abuse block of the target. */
export type FailureLimiter = {
  /** When the caller may fail `failures` times more; null: immediately. Call again at that time. */
  readonly waitUntilMs: (caller: string, failures: number, nowMs: number) => number | null
  /** Called before and after `failures` expected failures are in flight. */
  readonly begin: (caller: string, failures: number) => void
  readonly end: (caller: string, failures: number) => void
  /** Records the failure of a request, expected or not. */
  readonly recordFailure: (caller: string, atMs: number) => void
}

type Count = { inFlight: number; readonly failedMs: number[] }

/** Allows each caller at most `max` failures within `windowMs`. */
export function createFailureLimiter({
  max,
  windowMs,
}: {
  readonly max: number
  readonly windowMs: number
}): FailureLimiter {
  const counts = new Map<string, Count>()
  const countOf = (caller: string): Count => {
    const known = counts.get(caller)
    if (known !== undefined) return known
    const count = { inFlight: 0, failedMs: [] }
    counts.set(caller, count)
    return count
  }
  return {
    waitUntilMs: (caller, failures, nowMs) => {
      if (failures === 0) return null
      const { inFlight, failedMs } = countOf(caller)
      while ((failedMs[0] ?? nowMs) + windowMs <= nowMs) failedMs.shift()
      const excess = failedMs.length + inFlight + failures - max
      if (excess <= 0 || failedMs.length + inFlight === 0) return null
      // The requests in flight have no outcome yet. They count as if they had just failed.
      return (failedMs[excess - 1] ?? nowMs) + windowMs
    },
    begin: (caller, failures) => {
      if (failures > 0) countOf(caller).inFlight += failures
    },
    end: (caller, failures) => {
      if (failures > 0) countOf(caller).inFlight -= failures
    },
    recordFailure: (caller, atMs) => {
      const { failedMs } = countOf(caller)
      failedMs.push(atMs)
      // With `max` failures every call must wait, so older ones are not needed.
      if (failedMs.length > max) failedMs.shift()
    },
  }
}
