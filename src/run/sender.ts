import type { Arrival } from '../arrivals/arrivals.ts'
import type { Share } from '../arrivals/share.ts'
import { countedFailureOf } from '../audits/abuse/failure.ts'
import { chargeOf } from '../audits/ledger/charge.ts'
import type { SpecialKeys } from '../callers/api-keys.ts'
import type { Caller } from '../callers/caller.ts'
import { dropArrival, expectedRefusals, type SendContext, sendArrival } from '../calls/send.ts'
import type { Contract } from '../contract/contract.ts'
import type { Cab } from '../drivers/driver.ts'
import type { Ending } from '../drivers/ending.ts'
import type { Governor } from '../drivers/governor.ts'
import type { Purse } from '../drivers/purse.ts'
import { watchReachability } from '../drivers/reachability.ts'
import type { Judgement } from '../judging/judgement.ts'
import type { Clock } from '../lib/clock.ts'
import type { RunHead } from '../observation/log.ts'
import type { Sink } from '../observation/observation.ts'
import type { Plan } from '../plan/plan.ts'
import type { Saturate, Transport } from '../transport/transport.ts'

/** What a run may spend, and how often its callers may fail. */
export type Restraint = { readonly purse: Purse; readonly governor: Governor }

/** What it takes to send, and who wants to know what came of it. */
export type Outfit = {
  readonly plan: Plan
  readonly contract: Contract
  readonly callers: readonly Caller[]
  readonly specialKeys: SpecialKeys
  readonly head: RunHead
  readonly clock: Clock
  readonly transport: Transport
  /** What keeps connections busy in stages that saturate the target. */
  readonly saturate: Saturate
  readonly ending: Ending
  readonly share: Share
  readonly judgement: Judgement
  /** Where observations go beside the judges. */
  readonly write: Sink
  /** Where a live view keeps what the judges do not. */
  readonly watch: Sink
}

/** Sends arrivals, with a sink that every observation goes through. */
export function makeSender(
  { plan, contract, callers, specialKeys, head, clock, transport, ending, judgement, write, watch }: Outfit,
  calls: Plan['calls'],
  { purse, governor }: Restraint,
): SendContext {
  const reachability = watchReachability(() => ending.halt('target-unreachable'))
  const isRecorded = (seq: number) =>
    plan.record === 'all' || (plan.record === 'findings' && judgement.docket.cites(seq))
  const sink: Sink = observation => {
    judgement.add(observation)
    if (isRecorded(observation.seq)) write(observation)
    reachability(observation)
    watch(observation)
    const { caller, endMs } = observation
    if (endMs !== null && countedFailureOf(observation, contract) !== null) governor.note(caller, endMs)
    purse.spend(observation.call, chargeOf(observation, contract)?.max ?? null)
  }
  const context = { contract, bounds: plan.bounds, seed: plan.seed, runId: head.runId }
  const { accountTier } = plan.callers
  const { abandoned: abort, halted: stop } = ending
  return { ...context, calls, callers, specialKeys, accountTier, clock, transport, abort, stop, sink }
}

/** What drivers work with: an arrival goes out as long as the purse holds the worst that it can cost. */
export function makeCab(sender: SendContext, ending: Ending, { purse, governor }: Restraint): Cab {
  const { clock, callers, calls, contract } = sender
  const nameOf = ({ caller }: Arrival) => callers[caller]?.name ?? ''
  const failuresOf = ({ call, steps }: Arrival) => expectedRefusals(calls[call], steps, contract)
  return {
    clock,
    signal: sender.stop,
    drop: (arrival, reason) => dropArrival(arrival, reason, sender),
    isHeldBack: arrival => governor.heldUntilMs(nameOf(arrival), failuresOf(arrival), clock.nowMs()) !== null,
    fire: async arrival => {
      if (!purse.reserve(arrival.call)) {
        ending.halt('budget-reached')
        return dropArrival(arrival, 'budget', sender)
      }
      const failures = failuresOf(arrival)
      governor.begin(nameOf(arrival), failures)
      await sendArrival(arrival, sender)
      governor.end(nameOf(arrival), failures)
      purse.release(arrival.call)
    },
  }
}
