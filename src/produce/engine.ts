import type { Contract } from '../contract/contract.ts'
import type { AddedSecrets } from '../contract/requests/additions.ts'
import { sleepPreciselyUntil, sleepUntil } from '../lib/clock.ts'
import { createMask, textsOfSecrets } from '../lib/mask/mask.ts'
import { pico } from '../lib/money.ts'
import type { RunInfo } from '../observation/log-lines.ts'
import type { Sink } from '../observation/observation.ts'
import { traceIdsOf } from '../observation/trace-id.ts'
import { reservedPicoUsd } from '../plan/cost.ts'
import { maxPaidPicoUsd, type Plan, systemCallsOf } from '../plan/plan.ts'
import { ownsCaller, type Shard } from '../plan/shard.ts'
import { signInsAhead } from '../plan/sign-ahead.ts'
import { createArrivalSource } from './arrivals/arrivals.ts'
import { type Budget, createBudget, type MaxCost } from './budget/budget.ts'
import { releasePayment, reservePayment, type SharedBudget } from './budget/shared-budget.ts'
import type { SpecialKeys } from './callers/api-keys.ts'
import type { Caller } from './callers/caller.ts'
import { createPayments, type Payments } from './callers/payments.ts'
import { createSignIns } from './callers/sign-ins.ts'
import type { Signer } from './callers/signer.ts'
import { walletSecrets } from './callers/wallet-keys.ts'
import type { SendContext } from './calls/transmit.ts'
import type { SearchLead } from './drivers/capacity.ts'
import type { RunStop } from './drivers/stop.ts'
import { createFiring, type Feedback } from './firing.ts'
import { checkBalances, topUpWallets } from './sequence-steps.ts'
import { driveStage, type StageParts } from './stages.ts'
import type { Saturate } from './transport/transport.ts'

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
  /** The secret headers that the profile adds to each request. */
  readonly addedSecrets?: AddedSecrets | undefined
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

/** Sends one shard of a plan, in three steps. */
export type Engine = {
  /** Arrivals in flight. */
  readonly inFlight: () => number
  readonly inFlightByCall: () => ReadonlyMap<string, number>
  /** The current stage; before and after the stages `(opening)` or `(closing)`. */
  readonly stage: () => string
  /** Tops up the wallets if the plan says so, and sends the opening balance check of each caller. */
  readonly open: () => Promise<void>
  /**
   * Sends the stages. The first one starts at `loadStartMs`. Resolves when no request is in flight, with the actual start
   * of the first stage; null: it never started.
   */
  readonly drive: (loadStartMs: number) => Promise<number | null>
  /** Sends the closing balance checks, after charges have settled. */
  readonly close: () => Promise<void>
}

/** Sends the stages of a plan in order, each with the driver of its load model. */
export function createEngine(job: EngineJob, io: EngineIo): Engine {
  const { plan, contract, callers, shard } = job
  const { clock, stop, signer, feedback, sink } = io
  const calls: Plan['calls'] = { ...plan.calls, ...systemCallsOf(plan) }
  const arrivals = createArrivalSource({ seed: plan.seed, calls, callers: plan.callers }, shard)
  const isOurs = ownsCaller(plan, shard)
  const wallets = callers.flatMap((each, index) => (each.kind === 'wallet' && isOurs(index) ? each : []))
  const signIns = createSignIns({ wallets, signer, clock, terms: contract.wallets.signIn, ahead: signInsAhead(plan) })
  const firing = createFiring({ calls, callers, contract, clock, sink, stop, feedback, budget: budgetOf(job, calls) })
  const sender: SendContext = {
    contract,
    bounds: plan.bounds,
    seed: plan.seed,
    addedSecrets: job.addedSecrets,
    runId: job.info.runId,
    calls,
    callers,
    specialKeys: job.specialKeys,
    signIns,
    payments: paymentsOf(job, signer),
    mask: createMask(secretsOf(job)),
    accountTier: plan.callers.accountTier,
    clock,
    stalls: io.stalls,
    transport: io.transport,
    abort: stop.cancelled,
    stop: stop.stopping,
    maySend: stop.maySend,
    nextSeq: createSequence(),
    sink: firing.observe,
    traceIds: job.info.traces ? traceIdsOf(job.info.runId) : null,
  }
  const parts = { plan, shard, arrivals, firing, sender, stop, saturate: io.saturate, searchLead: io.searchLead }
  let stageName = '(opening)'

  return {
    inFlight: firing.inFlight.count,
    inFlightByCall: () => new Map(firing.inFlightByCall),
    stage: () => stageName,
    open: async () => {
      await signIns.fill()
      await topUpWallets(wallets, sender, parts)
      await checkBalances('(opening)', sender, parts)
      await signIns.fill()
    },
    drive: async loadStartMs => {
      if (clock.nowMs() < loadStartMs) await sleepPreciselyUntil(clock, loadStartMs, stop.stopping)
      const startedMs = stop.stopping.aborted ? null : clock.nowMs()
      const stopSigning = signIns.keepFresh()
      const driving = await driveStages(loadStartMs, parts, name => {
        stageName = name
      })
      stageName = '(closing)'
      await drain(parts)
      await Promise.all(driving)
      stopSigning()
      return startedMs
    },
    close: async () => {
      await sleepUntil(clock, clock.nowMs() + contract.billing.settleMs, stop.quit)
      // Only `quit` ends these checks; a stop or a cancel of the load does not.
      await checkBalances('(closing)', { ...sender, stop: stop.quit, abort: stop.quit }, parts)
    },
  }
}

/** Resolves when the last stage is over, with the drivers of all stages. Their last requests may outlast their stages. */
async function driveStages(
  loadStartMs: number,
  parts: StageParts,
  onStage: (name: string) => void,
): Promise<readonly Promise<void>[]> {
  const { plan, stop } = parts
  const driving: Promise<void>[] = []
  /** How much later than planned the next stage starts, because sequences took longer. */
  let lateMs = 0
  for (const stage of plan.stages) {
    if (stop.stopping.aborted) break
    onStage(stage.name)
    lateMs += await driveStage({ ...stage, startMs: stage.startMs + loadStartMs + lateMs }, driving, parts)
  }
  return driving
}

/** Waits for requests in flight, and cancels them after `drainMs` of the plan. */
async function drain({ plan, firing, sender, stop }: StageParts): Promise<void> {
  const { clock } = sender
  const cancelDrain = clock.at(clock.nowMs() + plan.bounds.drainMs, stop.cancel)
  await firing.inFlight.idle()
  cancelDrain()
}

/** The payments of the wallets. They draw on what the run may pay. */
function paymentsOf({ plan, contract, budget }: EngineJob, signer: Signer): Payments {
  const maxPaid = maxPaidPicoUsd(plan)
  return createPayments({
    signer,
    terms: contract.wallets,
    reserve: amount => reservePayment(budget, amount, maxPaid),
    release: amount => releasePayment(budget, amount),
  })
}

/** All secrets of a job. */
const secretsOf = ({
  callers,
  specialKeys,
  secrets,
  addedSecrets = {},
}: Omit<EngineJob, 'shard' | 'budget'>): readonly string[] => [
  ...textsOfSecrets(Object.values(addedSecrets)),
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

/** Numbers the requests of a worker in the order of sending. */
function createSequence(): SendContext['nextSeq'] {
  let next = 0
  return requests => {
    const first = next
    next += requests
    return first
  }
}
