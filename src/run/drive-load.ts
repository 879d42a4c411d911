import { driveCapacity } from '../drivers/capacity.ts'
import { driveClosed } from '../drivers/closed.ts'
import type { Cab, InFlight } from '../drivers/driver.ts'
import { driveOpen } from '../drivers/open.ts'
import { driveSaturate } from '../drivers/saturate.ts'
import { driveSequence, type Turn } from '../drivers/sequence.ts'
import type { Plan, StagePlan } from '../plan/plan.ts'
import { callersOfShard, ownsCaller, type Shard, usersOfShard } from '../plan/shard.ts'
import type { Saturate, Transport } from '../transport/transport.ts'
import { busyConnections } from './busy-connections.ts'
import { type SearchDesk, searchOf } from './search-of.ts'

/** What every model of load works with. */
export type LoadDesk = SearchDesk & {
  readonly plan: Plan
  readonly share: Shard
  readonly cab: Cab
  /** The same over another transport. */
  readonly cabOver: (transport: Transport) => Cab
  readonly saturate: Saturate
  /** Aborted when what is under way is to end now. */
  readonly abandoned: AbortSignal
  readonly inFlight: InFlight
  readonly maxInFlight: number
  /** The next turn of a caller in a sequence; free of the bound on failures where the stage means to exceed it. */
  readonly turnOf: (stage: string, call: string, caller: number, isFree: boolean) => Turn
}

/** Has the driver of its model send what of the load of a stage falls to the own callers. `startMs` of the stage and `endMs` are on the clock of the run. */
export function driveLoad(stage: StagePlan, endMs: number, desk: LoadDesk): Promise<void> {
  const { plan, share, draw, inFlight, maxInFlight, turnOf } = desk
  const { load, beyondFailures } = stage
  const cab: Cab = beyondFailures ? { ...desk.cab, isHeldBack: () => false } : desk.cab
  switch (load.model) {
    case 'open':
      return driveOpen(cab, draw.open(stage), inFlight, maxInFlight)
    case 'closed': {
      const users = usersOfShard(load.users, stage, plan, share)
      return driveClosed(cab, draw.closed(stage), inFlight, { ...load, users, endMs })
    }
    case 'saturate': {
      const { cabOver, saturate, abandoned } = desk
      const connections = usersOfShard(load.connections, stage, plan, share)
      const maxCalls = usersOfShard(load.maxCalls, stage, plan, share)
      const { transport, keepBusy } = busyConnections(saturate)
      const busy = (fireNext: () => boolean) => keepBusy(fireNext, connections, abandoned)
      return driveSaturate(cabOver(transport), draw.closed(stage), inFlight, busy, { maxCalls, endMs })
    }
    case 'capacity':
      return driveCapacity(cab, searchOf(stage, load.coolDownMs, endMs, desk), inFlight, maxInFlight)
    case 'sequence': {
      const queues = callersOfShard(stage, ownsCaller(plan, share)).map(caller =>
        load.calls.map(call => turnOf(stage.name, call, caller, beyondFailures)),
      )
      return driveSequence(cab, queues, inFlight, { lanes: queues.length, endMs })
    }
  }
}
