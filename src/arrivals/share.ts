import type { Plan, StagePlan } from '../plan/plan.ts'

/** The part of a run that one worker carries out: number `worker`, from 0, of `workers`. */
export type Share = { readonly worker: number; readonly workers: number }

export const wholeRun: Share = { worker: 0, workers: 1 }

/** What the division of a run hangs on. */
export type Divided = Pick<Plan, 'calls' | 'callers' | 'stages' | 'bounds'>

/**
 * The account that a foreign request of this caller comes from. Callers are neighbours in pairs, whoever has none in
 * front of or behind it is the neighbour of the one before; so pairs can be kept together.
 */
export function neighbourOf(caller: number, callers: number): number {
  const paired = caller ^ 1
  return paired < callers ? paired : Math.max(0, caller - 1)
}

/** Which worker a caller belongs to: each is of one, and one after the other has its turn. */
export function workerOf(caller: number, { calls, callers }: Pick<Plan, 'calls' | 'callers'>, workers: number): number {
  if (!areForeign(calls)) return caller % workers
  const lastPair = Math.max(0, Math.floor(callers.names.length / 2) - 1)
  return Math.min(caller >> 1, lastPair) % workers
}

export const isOwn =
  (plan: Pick<Plan, 'calls' | 'callers'>, { worker, workers }: Share): ((caller: number) => boolean) =>
  caller =>
    workerOf(caller, plan, workers) === worker

/** The callers of a stage who belong to a worker. */
export function ownCallers(
  { firstCaller, callers }: Pick<StagePlan, 'firstCaller' | 'callers'>,
  isOwn: (caller: number) => boolean,
): readonly number[] {
  return Array.from({ length: callers }, (_, index) => firstCaller + index).filter(isOwn)
}

/**
 * How many of the users of a closed stage a worker has: as many as its callers are due, or, where there are fewer users
 * than callers, its part among the workers who have a caller in the stage.
 */
export function ownUsers(users: number, stage: StagePlan, plan: Pick<Plan, 'calls' | 'callers'>, share: Share): number {
  const { firstCaller, callers } = stage
  const workers = Array.from({ length: callers }, (_, index) => workerOf(firstCaller + index, plan, share.workers))
  const seats = users < callers ? [...new Set(workers)].toSorted((a, b) => a - b) : workers
  return seats.reduce((sum, worker, seat) => sum + (worker === share.worker ? part(users, seat, seats.length) : 0), 0)
}

/** What falls to part `index` where `total` is divided into `parts` without loss; the first have what is left over. */
export const part = (total: number, index: number, parts: number): number =>
  Math.floor(total / parts) + (index < total % parts ? 1 : 0)

/** How many workers a plan can be divided among, and what it is that there are no more of. */
export function mostWorkers(plan: Divided): { readonly most: number; readonly because: string } {
  const { calls, callers, stages, bounds } = plan
  const count = callers.names.length
  const limits = [
    areForeign(calls) && count > 1
      ? {
          most: Math.floor(count / 2),
          because: `${count} callers, who try the idempotency keys of each other in pairs`,
        }
      : { most: count, because: `${count} callers, each of whom belongs to one worker` },
    { most: bounds.maxInFlight, because: `a most of ${bounds.maxInFlight} requests in flight` },
    ...stages.flatMap(stage => mostOfStage(stage)),
  ]
  return limits.reduce((least, limit) => (limit.most < least.most ? limit : least))
}

function mostOfStage({ name, load }: StagePlan): readonly { readonly most: number; readonly because: string }[] {
  switch (load.model) {
    case 'closed':
      return [{ most: load.users, because: `${load.users} users in the stage ${name}` }]
    case 'saturate':
      return [{ most: load.connections, because: `${load.connections} connections in the stage ${name}` }]
    case 'capacity':
      // What it tries next hangs on all answers to what it tried before.
      return [{ most: 1, because: `a search for the capacity of its target, in the stage ${name}` }]
    default:
      return []
  }
}

const areForeign = (calls: Plan['calls']): boolean =>
  Object.values(calls).some(call => call.kind === 'replay' && call.foreign > 0)
