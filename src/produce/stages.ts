import { sleepUntil } from '../lib/clock.ts'
import type { Plan, StagePlan } from '../plan/plan.ts'
import { callersOfShard, ownsCaller, type Shard, splitEvenly, usersOfShard } from '../plan/shard.ts'
import type { ArrivalSource } from './arrivals/arrivals.ts'
import type { SendContext } from './calls/transmit.ts'
import { driveCapacity, type Search, type SearchLead } from './drivers/capacity.ts'
import { driveClosed, driveSaturate } from './drivers/closed.ts'
import type { DriverContext } from './drivers/driver.ts'
import { driveOpen } from './drivers/open.ts'
import { driveSequence } from './drivers/sequence.ts'
import type { RunStop } from './drivers/stop.ts'
import type { Firing } from './firing.ts'
import { sequenceStep } from './sequence-steps.ts'
import type { PendingRequest, Saturate, Transport } from './transport/transport.ts'

/** What the stages of a plan are driven with. */
export type StageParts = {
  readonly plan: Plan
  readonly shard: Shard
  readonly arrivals: ArrivalSource
  readonly firing: Firing
  readonly sender: SendContext
  readonly stop: RunStop
  readonly saturate: Saturate
  readonly searchLead: SearchLead
}

/**
 * Resolves when the stage is over, although its last requests may still be in flight. A sequence is over when its last
 * step is done. Resolves with the milliseconds that it took beyond its duration. Adds its driver to `driving`.
 */
export async function driveStage(stage: StagePlan, driving: Promise<void>[], parts: StageParts): Promise<number> {
  const { plan, sender, stop } = parts
  const { clock } = sender
  const { load, startMs, durationMs } = stage
  const endMs = startMs + durationMs
  const over = sleepUntil(clock, endMs, stop.stopping)
  const maxEndMs = load.model === 'sequence' ? startMs + (load.atMostMs ?? durationMs) : endMs
  const driven = driveLoad(stage, maxEndMs, parts)
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
function driveLoad(stage: StagePlan, endMs: number, parts: StageParts): Promise<void> {
  const { plan, shard, arrivals, firing, sender, stop } = parts
  const { load, name, beyondFailures } = stage
  const paced = firing.driverOf(sender)
  const driver: DriverContext = beyondFailures ? { ...paced, mustWait: () => false } : paced
  const maxInFlight = splitEvenly(plan.bounds.maxInFlight, shard.worker, shard.workers)
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
      const { transport, feed } = feedConnections(parts.saturate, connections, stop.cancelled)
      const saturating = firing.driverOf({ ...sender, transport })
      return driveSaturate(saturating, arrivals.closed(stage), feed, { maxCalls, endMs })
    }
    case 'capacity':
      return driveCapacity(driver, searchFor(stage, load.coolDownMs, endMs, parts), maxInFlight)
    case 'sequence': {
      const queues = callersOfShard(stage, ownsCaller(plan, shard)).map(caller =>
        load.calls.map(call => sequenceStep({ stage: name, call, caller, isPaced: !beyondFailures }, sender, parts)),
      )
      return driveSequence(driver, queues, { lanes: queues.length, endMs })
    }
  }
}

/** The lead chooses the next trial, and the failure limiter how long it must wait. */
function searchFor(
  stage: StagePlan,
  coolDownMs: number,
  endMs: number,
  { arrivals, firing, sender, searchLead }: Pick<StageParts, 'arrivals' | 'firing' | 'sender' | 'searchLead'>,
): Search {
  const { name, firstCaller, beyondFailures } = stage
  const waitUntilMs = (caller: number, failures: number) =>
    beyondFailures ? null : firing.waitUntilMs(caller, failures, sender.clock.nowMs())
  return {
    stage: name,
    lead: searchLead,
    arrivals: ({ trial, earlier }, startMs) => arrivals.trial(stage, trial, startMs, earlier),
    waitUntilMs: failures =>
      latest(Array.from({ length: stage.callers }, (_, index) => waitUntilMs(firstCaller + index, failures))),
    wouldBlock: ({ caller }) => waitUntilMs(caller, 1) !== null,
    coolDownMs,
    endMs,
  }
}

const latest = (instants: readonly (number | null)[]): number | null =>
  instants.reduce((a, b) => (a === null || b === null ? (a ?? b) : Math.max(a, b)), null)

/**
 * Connects a driver that fires arrivals to connections that ask for their next request. The returned transport queues
 * each request of a fired arrival, and a free connection takes it from the queue. `feed` keeps the connections busy until
 * `fireNext` returns false. A dropped arrival adds no request.
 */
function feedConnections(
  saturate: Saturate,
  connections: number,
  cancelled: AbortSignal,
): { readonly transport: Transport; readonly feed: (fireNext: () => boolean) => Promise<void> } {
  const queued: PendingRequest[] = []
  return {
    transport: request => new Promise(onEnd => void queued.push({ request, onEnd })),
    feed: fireNext => {
      const next = (): PendingRequest | null => {
        while (queued.length === 0 && fireNext());
        return queued.shift() ?? null
      }
      return saturate(next, connections, cancelled)
    },
  }
}
