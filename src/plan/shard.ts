import { type Plan, type StagePlan, traitsOf } from './plan.ts'

/** The part of a run that one worker executes: shard `worker`, from 0, of `workers`. */
export type Shard = { readonly worker: number; readonly workers: number }

export const singleShard: Shard = { worker: 0, workers: 1 }

/** The parts of a plan that decide how it can be sharded. */
type ShardingInput = Pick<Plan, 'calls' | 'callers' | 'stages' | 'bounds'>

/**
 * The other caller that repeats a replay of `caller`. Callers form pairs, so that a shard can keep both of them. The last
 * one of an odd number is paired with the one before it.
 */
export function pairedCallerOf(caller: number, callers: number): number {
  const paired = caller ^ 1
  return paired < callers ? paired : Math.max(0, caller - 1)
}

/** Which shard a caller belongs to: exactly one, in turn; pairs stay together if calls need them. */
export function shardOf(caller: number, { calls, callers }: Pick<Plan, 'calls' | 'callers'>, workers: number): number {
  if (!usesOtherCallers(calls)) return caller % workers
  const lastPair = Math.max(0, Math.floor(callers.names.length / 2) - 1)
  return Math.min(caller >> 1, lastPair) % workers
}

export const ownsCaller =
  (plan: Pick<Plan, 'calls' | 'callers'>, { worker, workers }: Shard): ((caller: number) => boolean) =>
  caller =>
    shardOf(caller, plan, workers) === worker

/** The callers of a stage who belong to a worker. */
export function callersOfShard(
  { firstCaller, callers }: Pick<StagePlan, 'firstCaller' | 'callers'>,
  isOwn: (caller: number) => boolean,
): readonly number[] {
  return Array.from({ length: callers }, (_, index) => firstCaller + index).filter(isOwn)
}

/**
 * How many users of a closed stage belong to a shard: the users of its callers. With fewer users than callers, an even
 * part among the shards that have a caller in the stage.
 */
export function usersOfShard(
  users: number,
  stage: StagePlan,
  plan: Pick<Plan, 'calls' | 'callers'>,
  shard: Shard,
): number {
  const { firstCaller, callers } = stage
  const workers = Array.from({ length: callers }, (_, index) => shardOf(firstCaller + index, plan, shard.workers))
  const seats = users < callers ? [...new Set(workers)].toSorted((a, b) => a - b) : workers
  return seats.reduce(
    (sum, worker, seat) => sum + (worker === shard.worker ? splitEvenly(users, seat, seats.length) : 0),
    0,
  )
}

/** Part `index` of `total` divided into `parts`. The parts add up to `total`; the first ones take the remainder. */
export const splitEvenly = (total: number, index: number, parts: number): number =>
  Math.floor(total / parts) + (index < total % parts ? 1 : 0)

/** The largest number of workers for a plan, and what limits it. */
export function maxShards(plan: ShardingInput): { readonly max: number; readonly reason: string } {
  const { calls, callers, stages, bounds } = plan
  const count = callers.names.length
  const limits = [
    usesOtherCallers(calls) && count > 1
      ? {
          max: Math.floor(count / 2),
          reason: `${count} callers, who use each other's idempotency keys in pairs`,
        }
      : { max: count, reason: `${count} callers, and each belongs to one worker` },
    { max: bounds.maxInFlight, reason: `at most ${bounds.maxInFlight} requests in flight` },
    ...stages.flatMap(stage => shardLimits(stage)),
  ]
  return limits.reduce((lowest, limit) => (limit.max < lowest.max ? limit : lowest))
}

function shardLimits({ name, load }: StagePlan): readonly { readonly max: number; readonly reason: string }[] {
  switch (load.model) {
    case 'closed':
      return [{ max: load.users, reason: `${load.users} users in stage ${name}` }]
    case 'saturate':
      return [{ max: load.connections, reason: `${load.connections} connections in stage ${name}` }]
    default:
      return []
  }
}

const usesOtherCallers = (calls: Plan['calls']): boolean =>
  Object.values(calls).some(call => traitsOf(call).usesOtherCallers)
