import { promisesAny } from '../contract/promises.ts'
import { isBreak } from '../observation/observation.ts'
import { balanceCheckOf, isSystemStage, type Plan, topUpCall } from '../plan/plan.ts'
import { ownsCaller, type Shard, splitEvenly } from '../plan/shard.ts'
import type { Arrival, ArrivalSource } from './arrivals/arrivals.ts'
import type { WalletCaller } from './callers/caller.ts'
import { expectedRefusals } from './calls/kinds.ts'
import type { SendContext } from './calls/transmit.ts'
import { driveSequence, type SequenceStep } from './drivers/sequence.ts'
import type { Firing } from './firing.ts'
import type { Transport } from './transport/transport.ts'

/** What steps are sent with. */
export type StepParts = { readonly arrivals: ArrivalSource; readonly firing: Firing }

/** `caller`: an index into the callers of the plan. `isPaced`: the step waits for the failure limiter. */
export type StepTerms = {
  readonly stage: string
  readonly call: string
  readonly caller: number
  readonly isPaced: boolean
}

export function sequenceStep(
  { stage, call, caller, isPaced }: StepTerms,
  from: SendContext,
  { arrivals, firing }: StepParts,
): SequenceStep {
  const failures = isPaced ? expectedRefusals(from.calls[call], null, from.contract) : 0
  return {
    make: dueMs => arrivals.single(stage, call, caller, dueMs),
    waitUntilMs: nowMs => firing.waitUntilMs(caller, failures, nowMs),
    send: async arrival => {
      // Another failure would change what the stage provokes.
      if (!isPaced && !isSystemStage(stage)) return await firing.fire(arrival, from).then(() => 'done')
      const { transport, isLost } = watchLoss(from.transport, arrival)
      await firing.fire(arrival, { ...from, transport })
      return isLost() ? 'lost' : 'done'
    },
  }
}

/**
 * The transport for one arrival, and whether a broken connection hid what the arrival was to show: the response to any of
 * its requests. A payment has shown its outcome when any of the requests after the offer got a response.
 */
function watchLoss(
  transport: Transport,
  { steps }: Arrival,
): { readonly transport: Transport; readonly isLost: () => boolean } {
  let broken = 0
  let responses = 0
  return {
    transport: async (request, signal, onFree) => {
      const exchange = await transport(request, signal, onFree)
      const { status, failure } = exchange
      if (status !== null) responses++
      else if (failure !== null && isBreak(failure.reason)) broken++
      return exchange
    },
    isLost: () => broken > 0 && !(steps.includes('payment') && responses > 1),
  }
}

/** What the calls before and after the load are sent with. */
export type SystemParts = StepParts & { readonly plan: Plan; readonly shard: Shard }

/** The number of parallel balance checks of all workers together, and the time limit for all checks. */
const balanceCheckLanes = 16
const balanceChecksMs = 120_000
/** How often a payment before the load is sent while its fate is unknown. */
const topUpAttempts = 3

/** Pays for credit before the load. A payment of unknown fate is sent again as it was. */
export async function topUpWallets(
  wallets: readonly WalletCaller[],
  from: SendContext,
  parts: SystemParts,
): Promise<void> {
  if (!Object.hasOwn(from.calls, topUpCall)) return
  const endMs = from.clock.nowMs() + balanceChecksMs
  let left = wallets
  for (let attempt = 0; attempt < topUpAttempts && left.length > 0; attempt++) {
    const calls = left.map(wallet => ({ caller: from.callers.indexOf(wallet), call: topUpCall }))
    await sendSystemCalls('(opening)', calls, endMs, from, parts)
    left = left.filter(from.payments.isUnknown)
  }
}

/** Checks the balance of each caller of the shard. */
export async function checkBalances(stage: string, from: SendContext, parts: SystemParts): Promise<void> {
  // The check is a request for the limits of the caller, whose response shows its balance.
  if (!promisesAny(from.contract, ['catalogue.rate-limits', 'billing.*'])) return
  const { plan, shard } = parts
  const ours = [...from.callers.keys()].filter(ownsCaller(plan, shard))
  const calls = ours.map(caller => ({ caller, call: balanceCheckOf(plan.callers, caller) }))
  await sendSystemCalls(stage, calls, from.clock.nowMs() + balanceChecksMs, from, parts)
}

async function sendSystemCalls(
  stage: string,
  calls: readonly Pick<StepTerms, 'caller' | 'call'>[],
  endMs: number,
  from: SendContext,
  parts: SystemParts,
): Promise<void> {
  const { firing, shard } = parts
  const queues = calls.map(({ caller, call }) => [sequenceStep({ stage, call, caller, isPaced: false }, from, parts)])
  const lanes = Math.max(1, splitEvenly(balanceCheckLanes, shard.worker, shard.workers))
  await driveSequence(firing.driverOf(from), queues, { lanes, endMs })
}
