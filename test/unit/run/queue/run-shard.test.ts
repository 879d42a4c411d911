import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { emptyResult } from '../../../../src/judge/judge-run.ts'
import { mergeGauges } from '../../../../src/judge/metrics/gauges.ts'
import { makePlan } from '../../../../src/plan/make-plan.ts'
import { createSharedBudget } from '../../../../src/produce/budget/shared-budget.ts'
import type { StopReason } from '../../../../src/produce/drivers/stop.ts'
import { manualClock } from '../../../../src/prove/manual-clock.ts'
import type { WorkerEvents, WorkerHandle, WorkerSnapshot } from '../../../../src/run/messages.ts'
import { createRedisClock } from '../../../../src/run/queue/redis-clock.ts'
import { runShard, type ShardSnapshot } from '../../../../src/run/queue/run-shard.ts'
import type { RunState, Signal } from '../../../../src/run/queue/run-state.ts'
import { seal } from '../../../../src/run/queue/seal.ts'
import { pack, type ShardSecrets, type SharedJob, sealContext, unpack } from '../../../../src/run/queue/shared-job.ts'
import { loadScenario } from '../../../../src/scenario/load-scenario.ts'

const contract = documentedContract
const overrides = { seed: null, target: null, budgetUsd: null }
const plan = makePlan(loadScenario('scenarios/smoke.yaml', contract), contract, overrides)
const info = { turnpike: 2, runId: 'run', version: '1', target: 'http://127.0.0.1/api/v1', startedAtMs: 0 } as const
const silenceMs = 10_000
const early = { failFast: false, untilDecided: false }
const terms = { ...early, shards: 1, zeroMs: 0, silenceMs, collect: false, warmUp: false, details: false }
const job: SharedJob = { info, plan, contract, ...terms }
const size = { version: '1', node: '22', cores: 2, memoryBytes: 8e9, rssBytes: 1e8, usedCores: 0.5 }
const health = { name: 'w', ...size }
const { snapshot: judge } = emptyResult({ plan, contract, head: info })
const secrets: ShardSecrets = {
  ...{ callers: [], specialKeys: { 'free-user': null, 'zero-balance': null }, secrets: [] },
  ...{ baseUrl: info.target, solanaNode: null },
}

const nothing = () => Promise.reject(new Error('a worker never does this'))

/** A run of one shard, whose load takes `loadMs`. */
function setUp(loadMs: number) {
  const clock = manualClock()
  /** What Redis and the thread of the load do; a test changes it. */
  const now = { isRedisThere: true, isThreadBusy: false, signal: { startMs: null, stop: null } as Partial<Signal> }
  const seen = { inFlight: [] as (number | null)[], stops: [] as string[], told: [] as string[], snapshots: 0 }
  let publicKey = ''
  const answer = async <Value>(value: Value): Promise<Value> => {
    // A round trip takes time, in which other things happen.
    await new Promise<void>(resolve => void clock.at(clock.nowMs() + 1, resolve))
    if (!now.isRedisThere) throw new Error('Redis is away')
    return value
  }
  const signal = (): Signal => ({
    ...{ startMs: null, stop: null, isCancelled: false, finished: 0, working: 1, silenceMs, nowMs: clock.nowMs() },
    ...now.signal,
  })
  const stop = (reason: StopReason, why: string) => {
    seen.stops.push(`${reason}: ${why}`)
    now.signal = { ...now.signal, stop: { reason, why } }
  }
  const state: RunState = {
    ...{ create: nothing, job: nothing, give: nothing, claims: nothing, views: nothing, results: nothing },
    ...{ look: nothing, lease: nothing, giveBack: nothing, leased: nothing },
    claim: async (_shard, _worker, key) => {
      publicKey = key
      return await answer(null)
    },
    sealedFor: () => answer(seal(pack('keys', secrets), publicKey, sealContext('run', 0))),
    arrive: (_shard, _worker, opening) => answer([opening]),
    start: async leadMs => {
      now.signal = { ...now.signal, startMs: clock.nowMs() + leadMs }
      await answer(null)
    },
    confirm: async () => await answer(undefined),
    decide: () => answer(true),
    stop: async (reason, why) => {
      await answer(null)
      stop(reason, why)
    },
    cancel: async () => stop('interrupted', 'interrupted'),
    beat: async (_shard, _worker, snapshot) => {
      seen.inFlight.push(snapshot === null ? null : unpack<ShardSnapshot>('snapshot', snapshot).inFlight)
      return await answer(signal())
    },
    finish: () => answer(true),
  }
  let shown = 0
  // A thread that is cancelled and stays busy counts as lost in the end.
  let giveUp = () => {}
  const lost = new Promise<null>(resolve => {
    giveUp = () => resolve(null)
  })
  const pause = (ms: number) => new Promise<void>(resolve => void clock.at(clock.nowMs() + ms, resolve))
  let endLoad = () => {}
  const startWorker = (_job: unknown, _events: WorkerEvents): WorkerHandle => ({
    open: async () => ({ sent: 1, answered: 1, unauthorized: 0 }),
    drive: () => Promise.race([pause(loadMs), new Promise<void>(resolve => (endLoad = resolve))]),
    close: async () => null,
    finish: async end => {
      const counts = { startedMs: 1, eventLoopDelayMs: null, notRecorded: 0, loadStartMs: 0 }
      return { snapshot: judge, end: { ...end, ...counts }, unwritten: null }
    },
    snapshot: () => {
      seen.snapshots++
      if (now.isThreadBusy) return lost
      const none = { gauges: mergeGauges([]), traced: { count: 0, last: [] }, details: null, eventLoopDelayMs: null }
      return Promise.resolve<WorkerSnapshot>({
        judge,
        ...none,
        inFlight: shown++,
        inFlightByCall: new Map(),
        stage: 'a',
      })
    },
    stop: reason => {
      seen.told.push(reason)
      endLoad()
    },
    cancel: () => {
      seen.told.push('cancel')
      endLoad()
      giveUp()
    },
    search: () => {},
    terminate: async () => {},
  })
  const time = async (): Promise<[number, number]> => [0, clock.nowMs() * 1_000]
  const ended = runShard(
    { runId: 'run', shard: 0, worker: 'w', job },
    {
      ...{
        state,
        clock,
        bootMs: clock.nowMs,
        startWorker,
        logFile: null,
        log: () => {},
        quit: new AbortController().signal,
      },
      redisClock: createRedisClock({ time } as never, clock),
      lease: { budget: createSharedBudget(), begin: async () => {}, end: async () => {} },
      linkSearches: async () => ({ report: () => {}, end: () => {} }),
      startMeter: () => () => health,
    },
  )
  return { clock, now, seen, ended }
}

describe('a shard', () => {
  test('sends a new snapshot with each beat, and leaves its result', async () => {
    const { clock, seen, ended } = setUp(5_000)
    expect(await clock.run(ended)).toBeNull()
    const during = seen.inFlight.filter(inFlight => inFlight !== null)
    expect(during.length).toBeGreaterThan(10)
    expect(during).toEqual(during.map((_, index) => index))
    expect(seen.told).toEqual([])
  })

  test('is alive while its load is busy', async () => {
    const { clock, now, seen, ended } = setUp(25_000)
    await clock.advanceTo(4_000)
    now.isThreadBusy = true
    const before = seen.inFlight.length
    await clock.advanceTo(20_000)
    expect(seen.inFlight.length - before).toBeGreaterThan(25)
    expect(seen.told).toEqual([])
    now.isThreadBusy = false
    expect(await clock.run(ended)).toBeNull()
  })

  test('ends the run if its load does not answer for half a minute', async () => {
    const { clock, now, seen, ended } = setUp(600_000)
    await clock.advanceTo(4_000)
    now.isThreadBusy = true
    await clock.advanceTo(36_000)
    expect(seen.stops).toContain('worker-lost: shard 1 ended it')
    expect(seen.told).toContain('cancel')
    await clock.run(ended)
  })

  test('stops its load before others take it for lost, if it cannot reach Redis', async () => {
    const { clock, now, seen, ended } = setUp(600_000)
    await clock.advanceTo(4_000)
    now.isRedisThere = false
    await clock.advanceTo(4_000 + silenceMs / 2 - 1_000)
    expect(seen.told).toEqual([])
    await clock.advanceTo(4_000 + silenceMs / 2 + 200)
    expect(seen.told).toContain('worker-lost')
    await expect(clock.run(ended)).rejects.toThrow('Redis is away')
  })
})
