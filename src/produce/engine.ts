import type { Contract } from '../contract/contract.ts'
import { promisesAny } from '../contract/promises.ts'
import { sleepPreciselyUntil, sleepUntil } from '../lib/clock.ts'
import { createMask } from '../lib/mask/mask.ts'
import { pico } from '../lib/money.ts'
import type { RunInfo } from '../observation/log-lines.ts'
import type { Observation, Sink } from '../observation/observation.ts'
import { originOf } from '../observation/response.ts'
import { traceIdsOf } from '../observation/trace-id.ts'
import { reservedPicoUsd } from '../plan/cost.ts'
import {
  balanceCheckOf,
  isSystemStage,
  maxPaidPicoUsd,
  type Plan,
  type StagePlan,
  systemCallsOf,
  topUpCall,
} from '../plan/plan.ts'
import { callersOfShard, ownsCaller, type Shard, splitEvenly, usersOfShard } from '../plan/shard.ts'
import { signInsAhead } from '../plan/sign-ahead.ts'
import { type Arrival, createArrivalSource } from './arrivals/arrivals.ts'
import type { SpecialKeys } from './callers/api-keys.ts'
import type { Caller, WalletCaller } from './callers/caller.ts'
import { createPayments } from './callers/payments.ts'
import { createSignIns } from './callers/sign-ins.ts'
import type { Signer } from './callers/signer.ts'
import { walletSecrets } from './callers/wallet-keys.ts'
import { expectedRefusals } from './calls/kinds.ts'
import { dropArrival, sendArrival } from './calls/send.ts'
import type { SendContext } from './calls/transmit.ts'
import type { Spend } from './drivers/account-spend.ts'
import {
  type Budget,
  createBudget,
  type MaxCost,
  type Reservation,
  releasePayment,
  reservePayment,
  reserveWhenGranted,
  type SharedBudget,
} from './drivers/budget.ts'
import { driveCapacity, type Search, type SearchLead } from './drivers/capacity.ts'
import { driveClosed } from './drivers/closed.ts'
import { createInFlight, type DriverContext } from './drivers/driver.ts'
import { createFailureLimiter } from './drivers/failure-limiter.ts'
import { driveOpen } from './drivers/open.ts'
import { driveSaturate } from './drivers/saturate.ts'
import { driveSequence, type SequenceStep } from './drivers/sequence.ts'
import { type RunStop, watchReachability, watchTarget } from './drivers/stop.ts'
import { feedConnections } from './transport/feed-connections.ts'
import type { Saturate } from './transport/transport.ts'
import { watchLoss } from './transport/watch-loss.ts'

/** The input of an engine: plain data, and one sum in shared memory. The same job gives the same requests. */
export type EngineJob = {
  readonly info: RunInfo
  readonly plan: Plan
  readonly contract: Contract
  /** All callers of the plan, with their keys. Never written anywhere. */
  readonly callers: readonly Caller[]
  readonly specialKeys: SpecialKeys
  /** Further secrets that a target could send back: keys that no caller uses, and credentials of receivers. */
  readonly secrets: readonly string[]
  /** The shard of the callers that this engine sends for. */
  readonly shard: Shard
  /** A Solana node for payments to a target that is not on this machine. */
  readonly solanaNode?: string | null | undefined
  readonly budget: SharedBudget
}

/** All effects of an engine. */
export type EngineIo = Pick<SendContext, 'clock' | 'stalls' | 'transport'> & {
  readonly stop: RunStop
  /** Feeds the connections of stages that saturate the target. */
  readonly saturate: Saturate
  /** Signs for the wallets among the callers. */
  readonly signer: Signer
  readonly sink: Sink
  readonly feedback: Feedback
  readonly searchLead: SearchLead
}

/** The feedback to the engine while it runs. It comes from the judge, or in tests of the engine from a table. */
export type Feedback = {
  /** What a request has cost, in pico-USD; null: it was never sent. Called only if there is a budget. */
  readonly spendOf: (observation: Observation) => Spend | null
  /** Whether a request counts as a failure of its caller. */
  readonly countsAsFailure: (observation: Observation) => boolean
}

/** Sends one shard of a plan, in three steps. */
export type Engine = {
  /** Arrivals in flight. */
  readonly inFlight: () => number
  /** The current stage; before and after the stages `(opening)` or `(closing)`. */
  readonly stage: () => string
  /** Tops up the wallets if the plan says so, and sends the opening balance check of each caller. */
  readonly open: () => Promise<void>
  /**
   * Sends the stages. The first one starts at `loadStartMs`. Resolves when nothing is in flight, with the actual start
   * of the first stage; null: it never started.
   */
  readonly drive: (loadStartMs: number) => Promise<number | null>
  /** Sends the closing balance checks, after charges have settled. */
  readonly close: () => Promise<void>
}

/** The number of parallel balance checks of all workers together, and the time limit for all checks. */
const balanceCheckLanes = 16
const balanceChecksMs = 120_000
/** How often a payment before the load is sent if nobody knows what became of it. */
const topUpAttempts = 3

/** Sends the stages of a plan in order, each with the driver of its load model. */
export function createEngine(job: EngineJob, io: EngineIo): Engine {
  const { plan, contract, callers, shard } = job
  const { clock, stop, feedback, signer } = io
  const calls: Plan['calls'] = { ...plan.calls, ...systemCallsOf(plan) }
  const arrivals = createArrivalSource({ seed: plan.seed, calls, callers: plan.callers }, shard)
  const maxInFlight = splitEvenly(plan.bounds.maxInFlight, shard.worker, shard.workers)
  const isOurs = ownsCaller(plan, shard)
  const inFlight = createInFlight()
  const budget = budgetOf(job, calls)
  const failureLimiter = createFailureLimiter({
    max: promisesAny(contract, ['abuse.*']) ? maxExpectedRefusals(contract) : Number.POSITIVE_INFINITY,
    windowMs: contract.abuse.windowMs,
  })
  const reachability = watchReachability(() => stop.stop('target-unreachable'))
  const watch = watchTarget(observation => originOf(observation, contract), stop.stop)
  const { bounds, seed, callers: callersPlan } = plan
  const wallets = callers.flatMap((each, index) => (each.kind === 'wallet' && isOurs(index) ? each : []))
  const signIns = createSignIns({ wallets, signer, clock, terms: contract.wallets.signIn, ahead: signInsAhead(plan) })
  const maxPaid = maxPaidPicoUsd(plan)
  const payments = createPayments({
    signer,
    terms: contract.wallets,
    reserve: amount => reservePayment(job.budget, amount, maxPaid),
    release: amount => releasePayment(job.budget, amount),
  })
  const sender: SendContext = {
    contract,
    bounds,
    seed,
    runId: job.info.runId,
    calls,
    callers,
    specialKeys: job.specialKeys,
    signIns,
    payments,
    mask: createMask(secretsOf(job)),
    accountTier: callersPlan.accountTier,
    clock,
    stalls: io.stalls,
    transport: io.transport,
    abort: stop.cancelled,
    stop: stop.stopping,
    maySend: stop.maySend,
    sink: observation => observe(observation, null),
    traceIds: job.info.traces ? traceIdsOf(job.info.runId) : null,
  }
  const context = contextOf(sender)
  let stageName = '(opening)'

  return {
    inFlight: inFlight.count,
    stage: () => stageName,
    open: async () => {
      await signIns.fill()
      await topUpWallets()
      await checkBalances('(opening)', sender)
      await signIns.fill()
    },
    drive,
    close: async () => {
      await sleepUntil(clock, clock.nowMs() + contract.billing.settleMs, stop.quit)
      // Only `quit` ends these checks; a stop or a cancel of the load does not.
      await checkBalances('(closing)', { ...sender, stop: stop.quit, abort: stop.quit })
    },
  }

  async function drive(loadStartMs: number): Promise<number | null> {
    /** The drivers of all stages so far; their last requests may outlast their stages. */
    const driving: Promise<void>[] = []
    if (clock.nowMs() < loadStartMs) await sleepPreciselyUntil(clock, loadStartMs, stop.stopping)
    const startedMs = stop.stopping.aborted ? null : clock.nowMs()
    const stopSigning = signIns.keepFresh()
    /** How much later than planned the next stage starts, because sequences took longer. */
    let lateMs = 0
    for (const stage of plan.stages) {
      if (stop.stopping.aborted) break
      stageName = stage.name
      lateMs += await driveStage({ ...stage, startMs: stage.startMs + loadStartMs + lateMs }, driving)
    }
    stageName = '(closing)'
    await drain()
    await Promise.all(driving)
    stopSigning()
    return startedMs
  }

  /**
   * Resolves when the stage is over, although its last requests may still be in flight. A sequence is over when its last
   * step is done. Resolves with the milliseconds that it took beyond its duration.
   */
  async function driveStage(stage: StagePlan, driving: Promise<void>[]): Promise<number> {
    const { load, startMs, durationMs } = stage
    const endMs = startMs + durationMs
    const over = sleepUntil(clock, endMs, stop.stopping)
    const maxEndMs = load.model === 'sequence' ? startMs + (load.atMostMs ?? durationMs) : endMs
    const driven = driveLoad(stage, maxEndMs)
    driving.push(driven)
    const first = await Promise.race([driven.then(() => 'driven'), over])
    // A search may be over before its stage is. If it is the last stage, the run ends then.
    const isLastSearch = load.model === 'capacity' && stage.name === plan.stages.at(-1)?.name
    if (!isLastSearch) await over
    if (load.model !== 'sequence' || first === 'driven') return 0
    await Promise.race([driven, sleepUntil(clock, maxEndMs, stop.stopping)])
    return Math.max(0, clock.nowMs() - endMs)
  }

  /** Runs the driver of the load model. `startMs` of the stage and `endMs` are on the clock of the run. */
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
          load.calls.map(call => sequenceStep(name, call, caller, sender, beyondFailures)),
        )
        return driveSequence(driver, queues, { lanes: queues.length, endMs })
      }
    }
  }

  /** Waits for requests in flight, and cancels them after `drainMs` of the plan. */
  async function drain(): Promise<void> {
    const cancelDrain = clock.at(clock.nowMs() + plan.bounds.drainMs, stop.cancel)
    await inFlight.idle()
    cancelDrain()
  }

  /** Pays for credit before the load. A payment of unknown fate is sent again as it was. */
  async function topUpWallets(): Promise<void> {
    if (!Object.hasOwn(calls, topUpCall)) return
    const lanes = Math.max(1, splitEvenly(balanceCheckLanes, shard.worker, shard.workers))
    const endMs = clock.nowMs() + balanceChecksMs
    let left: readonly WalletCaller[] = wallets
    for (let attempt = 0; attempt < topUpAttempts && left.length > 0; attempt++) {
      const queues = left.map(wallet => [sequenceStep('(opening)', topUpCall, callers.indexOf(wallet), sender)])
      await driveSequence(context, queues, { lanes, endMs })
      left = left.filter(payments.isUnknown)
    }
  }

  async function checkBalances(stage: string, from: SendContext): Promise<void> {
    // The check is a request for the limits of the caller, whose response shows its balance.
    if (!promisesAny(contract, ['catalogue.rate-limits', 'billing.*'])) return
    const ours = [...callers.keys()].filter(isOurs)
    const queues = ours.map(caller => [sequenceStep(stage, balanceCheckOf(callersPlan, caller), caller, from)])
    const lanes = Math.max(1, splitEvenly(balanceCheckLanes, shard.worker, shard.workers))
    await driveSequence(contextOf(from), queues, { lanes, endMs: clock.nowMs() + balanceChecksMs })
  }

  /** The lead chooses the next trial, and the failure limiter how long it must wait. */
  function searchFor(stage: StagePlan, coolDownMs: number, endMs: number): Search {
    const { name, firstCaller, beyondFailures } = stage
    const waitUntilMs = (caller: number, failures: number) =>
      beyondFailures ? null : callerMustWaitUntilMs(caller, failures, clock.nowMs())
    return {
      stage: name,
      lead: io.searchLead,
      arrivals: ({ trial, earlier }, startMs) => arrivals.trial(stage, trial, startMs, earlier),
      waitUntilMs: failures =>
        latest(Array.from({ length: stage.callers }, (_, index) => waitUntilMs(firstCaller + index, failures))),
      wouldBlock: ({ caller }) => waitUntilMs(caller, 1) !== null,
      coolDownMs,
      endMs,
    }
  }

  /** `isFree`: the step ignores the failure limiter. */
  function sequenceStep(stage: string, call: string, caller: number, from: SendContext, isFree = true): SequenceStep {
    const failures = isFree ? 0 : expectedRefusals(calls[call], null, contract)
    return {
      make: dueMs => arrivals.single(stage, call, caller, dueMs),
      waitUntilMs: nowMs => callerMustWaitUntilMs(caller, failures, nowMs),
      send: async arrival => {
        // Another failure would change what the stage provokes.
        if (isFree && !isSystemStage(stage)) return await fire(arrival, from).then(() => 'done')
        const { transport, isLost } = watchLoss(from.transport, calls[call])
        await fire(arrival, { ...from, transport })
        return isLost() ? 'lost' : 'done'
      },
    }
  }

  function contextOf(from: SendContext): DriverContext {
    return {
      clock,
      signal: from.stop,
      inFlight,
      drop: (arrival, reason) => dropArrival(arrival, reason, from),
      mustWait: arrival => callerMustWaitUntilMs(arrival.caller, failuresOf(arrival), clock.nowMs()) !== null,
      fire: (arrival, onFree) => fire(arrival, from, onFree),
    }
  }

  /** With a budget or an expected failure, the next arrival must wait until the outcome of this one is observed. */
  function fire(arrival: Arrival, from: SendContext, onFree?: () => void): Promise<boolean> {
    const isFree = budget === null && failuresOf(arrival) === 0
    return isFree ? sendArrival(arrival, from, onFree) : fireCounted(arrival, from)
  }

  /** Reserves the maximum cost of an arrival, and its expected failures. */
  async function fireCounted(arrival: Arrival, from: SendContext): Promise<boolean> {
    const caller = nameOf(arrival.caller)
    let reservation = budget?.reserve(arrival.call, caller) ?? null
    if (budget && !reservation) reservation = await reserveWhenGranted(budget, arrival.call, caller, context)
    if (budget !== null && reservation === null) {
      stop.stop('budget-reached')
      dropArrival(arrival, 'budget', from)
      return false
    }
    const failures = failuresOf(arrival)
    failureLimiter.begin(caller, failures)
    // The charges of an arrival use its reservation, so that no money counts twice.
    const sink = reservation === null ? from.sink : (each: Observation) => observe(each, reservation)
    const wasSent = await sendArrival(arrival, { ...from, sink })
    failureLimiter.end(caller, failures)
    if (reservation !== null) budget?.release(reservation, clock.nowMs())
    return wasSent
  }

  function observe(observation: Observation, reservation: Reservation | null): void {
    io.sink(observation)
    reachability(observation)
    watch(observation)
    const { caller, endMs } = observation
    if (endMs !== null && feedback.countsAsFailure(observation)) failureLimiter.recordFailure(caller, endMs)
    if (budget === null || reservation === null) return
    const spend = feedback.spendOf(observation)
    if (spend !== null) budget.charge(reservation, caller, spend)
    if (budget.isExceeded()) stop.stop('budget-reached')
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

/** Room in each window for unexpected failures, besides the expected refusals. */
const failureMargin = 5

/** The maximum number of expected refusals of one caller in a window that does not trigger the abuse block. */
const maxExpectedRefusals = ({ abuse }: Contract): number => Math.max(1, abuse.failures - failureMargin)

/** All secrets of a job. */
export const secretsOf = ({
  callers,
  specialKeys,
  secrets,
}: Omit<EngineJob, 'shard' | 'budget'>): readonly string[] => [
  ...callers.flatMap(caller => (caller.kind === 'key' ? caller.keys : walletSecrets(caller))),
  ...Object.values(specialKeys).filter(key => key !== null),
  ...secrets,
]

/** null: the plan has no budget. */
function budgetOf({ plan, contract, budget }: EngineJob, calls: Plan['calls']): Budget | null {
  if (plan.budgetUsd === null) return null
  const maxCosts = new Map<string, MaxCost>()
  for (const [name, call] of Object.entries(calls)) maxCosts.set(name, reservedPicoUsd(call, contract))
  const { settleMs, balanceResolutionUsd } = contract.billing
  // Two balances are shown, each rounded to its last digit.
  const resolution = 2n * pico(balanceResolutionUsd)
  return createBudget({ limit: pico(plan.budgetUsd), maxCosts, settleMs, resolution }, budget)
}

const latest = (instants: readonly (number | null)[]): number | null =>
  instants.reduce((a, b) => (a === null || b === null ? (a ?? b) : Math.max(a, b)), null)
