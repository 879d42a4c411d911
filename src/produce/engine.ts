import type { Contract } from '../contract/contract.ts'
import { type Clock, sleepPreciselyUntil, sleepUntil } from '../lib/clock.ts'
import { pico } from '../lib/money.ts'
import type { RunInfo } from '../observation/log.ts'
import type { Observation, Sink } from '../observation/observation.ts'
import { maxPicoUsd } from '../plan/cost.ts'
import { balanceCheckCall, type Plan, type StagePlan, systemCalls, type Trial } from '../plan/plan.ts'
import { callersOfShard, ownsCaller, type Shard, splitEvenly, usersOfShard } from '../plan/shard.ts'
import { type Arrival, createArrivalSource } from './arrivals/arrivals.ts'
import type { SpecialKeys } from './callers/api-keys.ts'
import type { Caller } from './callers/caller.ts'
import { dropArrival, expectedRefusals, maxExpectedRefusals, type SendContext, sendArrival } from './calls/send.ts'
import { type Budget, createBudget, type SharedBudget } from './drivers/budget.ts'
import { driveCapacity, type Search } from './drivers/capacity.ts'
import { driveClosed } from './drivers/closed.ts'
import { createInFlight, type DriverContext } from './drivers/driver.ts'
import { createFailureLimiter } from './drivers/failure-limiter.ts'
import { driveOpen } from './drivers/open.ts'
import { driveSaturate } from './drivers/saturate.ts'
import { driveSequence, type SequenceStep } from './drivers/sequence.ts'
import { type RunStop, watchReachability } from './drivers/stop.ts'
import type { PendingRequest, Saturate, Transport } from './transport/transport.ts'

/** What an engine sends: plain data, and one sum in shared memory. The same job gives the same requests. */
export type EngineJob = {
  readonly info: RunInfo
  readonly plan: Plan
  readonly contract: Contract
  /** All callers of the plan, with their keys. Never written anywhere. */
  readonly callers: readonly Caller[]
  readonly specialKeys: SpecialKeys
  /** The callers that are this engine's. */
  readonly shard: Shard
  readonly budget: SharedBudget
}

/** All that an engine touches. */
export type EngineIo = {
  readonly clock: Clock
  readonly stop: RunStop
  readonly transport: Transport
  /** Feeds the connections of stages that saturate the target. */
  readonly saturate: Saturate
  readonly sink: Sink
  readonly feedback: Feedback
}

/** All that the producing half is told while it runs. The worker answers from the judge; a test of the engine answers from a table. */
export type Feedback = {
  /** The next trial of a search; null: it has come to its conclusion. Asked when nothing of it is in flight. */
  readonly nextTrial: (stage: string) => Trial | null
  /** Whether the outcome of the current trial is already certain. */
  readonly isDecided: (stage: string, trial: Trial) => boolean
  /** The most that a request can have been charged, in pico-USD; null: that is not known. Asked only if there is a budget. */
  readonly chargeOf: (observation: Observation) => bigint | null
  /** Whether a request counts as a failure of its caller. */
  readonly countsAsFailure: (observation: Observation) => boolean
}

/** Sends one shard of a plan, in three steps. */
export type Engine = {
  /** Arrivals in flight. */
  readonly inFlight: () => number
  /** The current stage, or what comes before and after the stages. */
  readonly stage: () => string
  /** Sends the opening balance check of each caller. */
  readonly open: () => Promise<void>
  /**
   * Sends the stages, the first of which begins at `loadStartMs`. Resolves when nothing is in flight any more, with when
   * the first one really began; null: it did not.
   */
  readonly drive: (loadStartMs: number) => Promise<number | null>
  /** Sends the closing balance checks, as soon as charges are in the balances. */
  readonly close: () => Promise<void>
}

/** Callers of all workers whose balances are checked side by side, and how long all of the checks may take. */
const balanceCheckLanes = 16
const balanceChecksMs = 120_000

/** The front of the producing half: the stages of a plan in order, each by the driver of its load model. */
export function createEngine(job: EngineJob, io: EngineIo): Engine {
  const { plan, contract, callers, shard } = job
  const { clock, stop, feedback } = io
  const calls: Plan['calls'] = { ...plan.calls, ...systemCalls }
  const arrivals = createArrivalSource({ seed: plan.seed, calls, callers: plan.callers }, shard)
  const maxInFlight = splitEvenly(plan.bounds.maxInFlight, shard.worker, shard.workers)
  const isOurs = ownsCaller(plan, shard)
  const inFlight = createInFlight()
  const budget = budgetOf(job, calls)
  const failureLimiter = createFailureLimiter({ max: maxExpectedRefusals(contract), windowMs: contract.abuse.windowMs })
  const reachability = watchReachability(() => stop.stop('target-unreachable'))
  const { bounds, seed, callers: callersPlan } = plan
  const sender: SendContext = {
    contract,
    bounds,
    seed,
    runId: job.info.runId,
    calls,
    callers,
    specialKeys: job.specialKeys,
    accountTier: callersPlan.accountTier,
    clock,
    transport: io.transport,
    abort: stop.cancelled,
    stop: stop.stopping,
    sink: observe,
  }
  const context = contextOf(sender)
  let stageName = '(opening)'

  return {
    inFlight: inFlight.count,
    stage: () => stageName,
    open: () => checkBalances('(opening)', context),
    drive,
    close: async () => {
      await sleepUntil(clock, clock.nowMs() + contract.billing.settleMs, stop.quit)
      // These are sent although the load is over, even where the rest of it had to be cancelled.
      await checkBalances('(closing)', contextOf({ ...sender, stop: stop.quit, abort: stop.quit }))
    },
  }

  async function drive(loadStartMs: number): Promise<number | null> {
    /** Stages whose last requests may outlast them. */
    const driving: Promise<void>[] = []
    if (clock.nowMs() < loadStartMs) await sleepPreciselyUntil(clock, loadStartMs, stop.stopping)
    const startedMs = stop.stopping.aborted ? null : clock.nowMs()
    for (const stage of plan.stages) {
      if (stop.stopping.aborted) break
      stageName = stage.name
      await driveStage({ ...stage, startMs: stage.startMs + loadStartMs }, driving)
    }
    stageName = '(closing)'
    await drain()
    await Promise.all(driving)
    return startedMs
  }

  /** Resolves when the stage is over, although its last requests may still be in flight. */
  async function driveStage(stage: StagePlan, driving: Promise<void>[]): Promise<void> {
    const endMs = stage.startMs + stage.durationMs
    const over = sleepUntil(clock, endMs, stop.stopping)
    const driven = driveLoad(stage, endMs)
    driving.push(driven)
    await Promise.race([driven, over])
    // A search ends when it has found what it looks for, and if it is the last stage so does the run.
    const isLastSearch = stage.load.model === 'capacity' && stage.name === plan.stages.at(-1)?.name
    if (!isLastSearch) await over
  }

  /** The driver of each load model sends this shard of the stage. `startMs` of the stage and `endMs` are on the clock of the run. */
  function driveLoad(stage: StagePlan, endMs: number): Promise<void> {
    const { load, name, beyondFailures } = stage
    const driver: DriverContext = beyondFailures ? { ...context, mustWait: () => false } : context
    switch (load.model) {
      case 'open':
        return driveOpen(driver, arrivals.open(stage), maxInFlight)
      case 'closed': {
        const users = usersOfShard(load.users, stage, plan, shard)
        return driveClosed(driver, arrivals.closed(stage), { users, thinkMs: load.thinkMs, endMs })
      }
      case 'saturate': {
        const connections = usersOfShard(load.connections, stage, plan, shard)
        const maxCalls = usersOfShard(load.maxCalls, stage, plan, shard)
        const { transport, feed } = feedConnections(io.saturate, connections, stop.cancelled)
        return driveSaturate(contextOf({ ...sender, transport }), arrivals.closed(stage), feed, { maxCalls, endMs })
      }
      case 'capacity':
        return driveCapacity(driver, searchFor(stage, load.coolDownMs, endMs), maxInFlight)
      case 'sequence': {
        const queues = callersOfShard(stage, isOurs).map(caller =>
          load.calls.map(call => sequenceStep(name, call, caller, beyondFailures)),
        )
        return driveSequence(driver, queues, { lanes: queues.length, endMs })
      }
    }
  }

  /** Waits for requests in flight, at most as long as the plan allows, and then cancels them. */
  async function drain(): Promise<void> {
    const cancelDrain = clock.at(clock.nowMs() + plan.bounds.drainMs, stop.cancel)
    await inFlight.idle()
    cancelDrain()
  }

  async function checkBalances(stage: string, within: DriverContext): Promise<void> {
    const ours = [...callers.keys()].filter(isOurs)
    const queues = ours.map(caller => [sequenceStep(stage, balanceCheckCall, caller, true)])
    const lanes = Math.max(1, splitEvenly(balanceCheckLanes, shard.worker, shard.workers))
    await driveSequence(within, queues, { lanes, endMs: clock.nowMs() + balanceChecksMs })
  }

  /** The judging half says what to try next, and the failure limiter how long that has to wait. */
  function searchFor(stage: StagePlan, coolDownMs: number, endMs: number): Search {
    const { name, firstCaller, beyondFailures } = stage
    const waitUntilMs = (caller: number, failures: number) =>
      beyondFailures ? null : callerMustWaitUntilMs(caller, failures, clock.nowMs())
    return {
      next: () => feedback.nextTrial(name),
      isDecided: trial => feedback.isDecided(name, trial),
      arrivals: (trial, startMs) => arrivals.trial(stage, trial, startMs),
      waitUntilMs: failures =>
        latest(Array.from({ length: stage.callers }, (_, index) => waitUntilMs(firstCaller + index, failures))),
      wouldBlock: ({ caller }) => waitUntilMs(caller, 1) !== null,
      coolDownMs,
      endMs,
    }
  }

  /** `isFree`: the step need not wait for the failure limiter. */
  function sequenceStep(stage: string, call: string, caller: number, isFree: boolean): SequenceStep {
    const failures = isFree ? 0 : expectedRefusals(calls[call], null, contract)
    return {
      make: dueMs => arrivals.single(stage, call, caller, dueMs),
      waitUntilMs: nowMs => callerMustWaitUntilMs(caller, failures, nowMs),
    }
  }

  /** What drivers work with: each arrival reserves its maximum cost before it is sent. */
  function contextOf(from: SendContext): DriverContext {
    return {
      clock,
      signal: from.stop,
      inFlight,
      drop: (arrival, reason) => dropArrival(arrival, reason, from),
      mustWait: arrival => callerMustWaitUntilMs(arrival.caller, failuresOf(arrival), clock.nowMs()) !== null,
      fire: arrival => fire(arrival, from),
    }
  }

  async function fire(arrival: Arrival, from: SendContext): Promise<void> {
    if (budget !== null && !budget.reserve(arrival.call)) {
      stop.stop('budget-reached')
      return dropArrival(arrival, 'budget', from)
    }
    const failures = failuresOf(arrival)
    const caller = nameOf(arrival.caller)
    failureLimiter.begin(caller, failures)
    await sendArrival(arrival, from)
    failureLimiter.end(caller, failures)
    budget?.release(arrival.call)
  }

  function observe(observation: Observation): void {
    io.sink(observation)
    reachability(observation)
    const { call, caller, endMs } = observation
    if (endMs !== null && feedback.countsAsFailure(observation)) failureLimiter.recordFailure(caller, endMs)
    budget?.charge(call, feedback.chargeOf(observation))
  }

  function callerMustWaitUntilMs(caller: number, failures: number, nowMs: number): number | null {
    return failureLimiter.waitUntilMs(nameOf(caller), failures, nowMs)
  }

  function nameOf(caller: number): string {
    return callers[caller]?.name ?? ''
  }

  function failuresOf({ call, steps }: Arrival): number {
    return expectedRefusals(calls[call], steps, contract)
  }
}

/** null: the plan has no budget. */
function budgetOf({ plan, contract, budget }: EngineJob, calls: Plan['calls']): Budget | null {
  if (plan.budgetUsd === null) return null
  const maxCosts = new Map(Object.entries(calls).map(([name, call]) => [name, maxPicoUsd(call, contract) ?? 0n]))
  return createBudget(pico(plan.budgetUsd), maxCosts, budget)
}

/**
 * Feeds connections that ask for their next request with arrivals that are fired: while one is fired, its request is
 * caught on its way to the transport, and handed to the connection that asked.
 */
function feedConnections(
  saturate: Saturate,
  connections: number,
  cancelled: AbortSignal,
): {
  /** What arrivals are to be sent with. */
  readonly transport: Transport
  /** Fires arrivals while there are any; one that was dropped has no request. */
  readonly feed: (fireNext: () => boolean) => Promise<void>
} {
  const caught: PendingRequest[] = []
  return {
    transport: request => new Promise(onEnd => void caught.push({ request, onEnd })),
    feed: fireNext => {
      const next = (): PendingRequest | null => {
        while (caught.length === 0 && fireNext());
        return caught.shift() ?? null
      }
      return saturate(next, connections, cancelled)
    },
  }
}

const latest = (instants: readonly (number | null)[]): number | null =>
  instants.reduce((a, b) => (a === null || b === null ? (a ?? b) : Math.max(a, b)), null)
