import { describe, expect, test } from 'vitest'
import type { Call, Load, Shape, StagePlan } from '../../../src/plan/plan.ts'
import {
  callersOfShard,
  maxShards,
  ownsCaller,
  pairedCallerOf,
  shardOf,
  splitEvenly,
  usersOfShard,
} from '../../../src/plan/shard.ts'
import { type Arrival, createArrivalSource } from '../../../src/produce/arrivals/arrivals.ts'
import { calls, planFor, rpc, stageOf, steady } from '../produce/arrivals/plans.ts'

const counts = [1, 2, 3, 4, 7]
const mix = [
  ['chat', 5],
  ['rpc', 3],
  ['race', 2],
] as const
const shapes: readonly Shape[] = [
  { kind: 'constant', perSecond: 8.3 },
  { kind: 'poisson', perSecond: 20 },
  { kind: 'ramp', fromPerSecond: 0, toPerSecond: 33 },
  { kind: 'burst', size: 13, everyMs: 700 },
  { kind: 'pause' },
]
const open = (shape: Shape): Load => ({ model: 'open', shape, mix })

const asOne = (arrivals: readonly Arrival[]) => arrivals.toSorted(byId)
const byId = (a: { readonly id: number }, b: { readonly id: number }) => a.id - b.id
const shardsOf = (workers: number) => Array.from({ length: workers }, (_, worker) => ({ worker, workers }))

describe('the workers of an open stage', () => {
  const cases = shapes.flatMap(shape => counts.map(workers => ({ shape, kind: shape.kind, workers })))

  test.each(cases)('together send exactly the schedule of one worker: $kind, $workers', ({ shape, workers }) => {
    const plan = planFor(14, 5)
    const stages = [
      stageOf(open(shape), { callers: 14 }),
      stageOf(open(shape), { name: 'some', callers: 5, firstCaller: 3, startMs: 10_000 }),
    ]
    const of = (source: ReturnType<typeof createArrivalSource>) => stages.flatMap(stage => [...source.open(stage)])
    const single = of(createArrivalSource(plan))
    const shards = shardsOf(workers).map(shard => of(createArrivalSource(plan, shard)))
    expect(asOne(shards.flat())).toEqual(asOne(single))
    for (const shard of shards) {
      expect(shard.map(({ id }) => id)).toEqual(
        single.filter(({ id }) => shard.some(each => each.id === id)).map(({ id }) => id),
      )
    }
  })
})

describe('the workers of a closed stage', () => {
  test('do not change what each caller sends', () => {
    const plan = planFor(6)
    const stage = stageOf({ model: 'closed', users: 6, thinkMs: 0, mix }, { callers: 6 })
    const first = (source: ReturnType<typeof createArrivalSource>, arrivals: number) => {
      const next = source.closed(stage)
      return Array.from({ length: arrivals }, () => next(0))
    }
    const single = first(createArrivalSource(plan), 60)
    const shards = shardsOf(3).flatMap(shard => first(createArrivalSource(plan, shard), 20))
    expect(asOne(shards)).toEqual(asOne(single))
  })

  const stage = (users: number, more: Partial<StagePlan> = {}) =>
    stageOf({ model: 'closed', users, thinkMs: 0, mix }, { callers: 12, ...more })

  test.each([1, 2, 5, 11, 12, 13, 100])('divide %d users without loss, and each user has a caller', users => {
    for (const workers of counts) {
      for (const more of [{}, { callers: 3, firstCaller: 4 }]) {
        const plan = planFor(12)
        const divided = shardsOf(workers).map(shard => ({
          users: usersOfShard(users, stage(users, more), plan, shard),
          callers: callersOfShard(stage(users, more), ownsCaller(plan, shard)).length,
        }))
        expect(divided.reduce((sum, each) => sum + each.users, 0)).toBe(users)
        expect(divided.filter(each => each.users > 0 && each.callers === 0)).toEqual([])
        if (users >= workers) expect(divided.filter(each => each.callers > 0 && each.users === 0)).toEqual([])
      }
    }
  })
})

describe('callers', () => {
  test('belong to one worker each, in even numbers', () => {
    const plan = { ...planFor(10), calls: { rpc } }
    for (const workers of counts) {
      const owners = plan.callers.names.map((_, caller) => shardOf(caller, plan, workers))
      const sizes = shardsOf(workers).map(({ worker }) => owners.filter(owner => owner === worker).length)
      expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1)
    }
  })

  test.each([2, 3, 4, 5, 9, 10])('of %d are paired with another caller of the same worker', count => {
    const plan = planFor(count)
    for (let workers = 1; workers <= maxShards({ ...plan, stages: [], bounds }).max; workers++) {
      const owners = new Set(plan.callers.names.map((_, caller) => shardOf(caller, plan, workers)))
      expect(owners.size).toBe(workers)
      for (const caller of plan.callers.names.keys()) {
        const paired = pairedCallerOf(caller, count)
        expect(paired).not.toBe(caller)
        expect(plan.callers.names[paired]).toBeDefined()
        expect(shardOf(paired, plan, workers)).toBe(shardOf(caller, plan, workers))
      }
    }
  })

  test('without a partner are paired with themselves', () => {
    expect(pairedCallerOf(0, 1)).toBe(0)
  })
})

const timeouts = { connectMs: 1, headersMs: 1, idleMs: 1, totalMs: 1 }
const bounds = {
  maxInFlight: 512,
  maxBodyBytes: 1,
  drainMs: 1,
  timeouts: { chat: timeouts, rpc: timeouts, control: timeouts },
}

describe('maxShards', () => {
  const maxOf = (named: Readonly<Record<string, Call>>, stages: readonly StagePlan[] = [], maxInFlight = 512) =>
    maxShards({ ...planFor(9), calls: named, stages, bounds: { ...bounds, maxInFlight } })

  test('is the number of callers', () => {
    expect(maxOf({ rpc }).max).toBe(9)
  })

  test('is half of that if callers use keys of each other', () => {
    expect(maxOf(calls).max).toBe(4)
  })

  test('is at most the number of closed users, and of requests in flight', () => {
    const few = stageOf({ model: 'closed', users: 2, thinkMs: 0, mix }, { name: 'few' })
    expect(maxOf({ rpc }, [stageOf(steady(1)), few])).toEqual({ max: 2, reason: '2 users in stage few' })
    expect(maxOf({ rpc }, [], 3).max).toBe(3)
  })
})

test('splitEvenly loses nothing, and its parts differ by at most one', () => {
  for (const total of [0, 1, 5, 512])
    for (const parts of counts) {
      const each = Array.from({ length: parts }, (_, index) => splitEvenly(total, index, parts))
      expect(each.reduce((sum, size) => sum + size, 0)).toBe(total)
      expect(Math.max(...each) - Math.min(...each)).toBeLessThanOrEqual(1)
    }
})
