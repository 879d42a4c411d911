import { expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { createJudge, type JudgeSnapshot } from '../../../../src/judge/judge.ts'
import { emptyResult } from '../../../../src/judge/judge-run.ts'
import { mergeGauges } from '../../../../src/judge/metrics/gauges.ts'
import type { LiveRun, Output } from '../../../../src/outputs/output.ts'
import { makePlan } from '../../../../src/plan/make-plan.ts'
import { manualClock } from '../../../../src/prove/manual-clock.ts'
import { followRun } from '../../../../src/run/queue/follow.ts'
import type { RecordStore } from '../../../../src/run/queue/record-store.ts'
import type { ShardResult, ShardSnapshot } from '../../../../src/run/queue/run-shard.ts'
import type { RunState, ShardView, Signal } from '../../../../src/run/queue/run-state.ts'
import { pack, type SharedJob } from '../../../../src/run/queue/shared-job.ts'
import { loadScenario } from '../../../../src/scenario/load-scenario.ts'
import { virtualRun } from '../../../support/virtual-run.ts'

const contract = documentedContract
const overrides = { seed: null, target: null, budgetUsd: null }
const plan = makePlan(loadScenario('scenarios/smoke.yaml', contract), contract, overrides)
const info = { turnpike: 2, runId: 'run', version: '1', target: 'http://127.0.0.1/api/v1', startedAtMs: 0 } as const
const warm = { warmUp: false, failFast: false, untilDecided: false }
const job: SharedJob = {
  info,
  plan,
  contract,
  ...warm,
  shards: 3,
  zeroMs: 0,
  collect: false,
  silenceMs: 10_000,
  details: false,
}
const { snapshot } = emptyResult({ plan, contract, head: info })
const sizes = { version: '1', node: '22', cores: 2, memoryBytes: 8e9, rssBytes: 1e8 }
const healthOf = (name: string, usedCores = 0.5) => ({ name, ...sizes, usedCores })

const resultOf = (name: string): Buffer => {
  const machine = { name, clockAheadMs: 0, clockDriftMs: 0, clockErrorMs: 0 }
  const counts = { startedMs: 1, eventLoopDelayMs: null, notRecorded: 0, pushed: null }
  const end = { ended: 'complete' as const, durationMs: 5_000, loadStartMs: 0, ...counts }
  return pack('result', { snapshot, end, unwritten: null, machine, health: healthOf(name) } satisfies ShardResult)
}
const shownOf = (name: string, inFlight: number, judge = snapshot as JudgeSnapshot): Buffer =>
  pack('snapshot', {
    judge,
    gauges: mergeGauges([]),
    traced: { count: 0, last: [] },
    details: null,
    eventLoopDelayMs: null,
    inFlight,
    inFlightByCall: new Map([['read', inFlight]]),
    stage: 'a',
    health: healthOf(name),
  } satisfies ShardSnapshot)

const nothing = () => Promise.reject(new Error('a terminal never does this'))

/** A run of three shards in Redis, as the test sets it. `reads` counts what the terminal reads. */
function setUp(outputs: readonly Output[] = [], ofRun: SharedJob = job) {
  const clock = manualClock()
  const reads = { looks: 0, views: 0, results: [] as (readonly number[])[], stops: [] as string[] }
  const run = {
    signal: {
      startMs: 0,
      stop: null,
      isCancelled: false,
      finished: 0,
      working: 3,
      silenceMs: 10_000,
    } as Omit<Signal, 'nowMs'>,
    results: new Map<number, Buffer>(),
    views: [] as readonly ShardView[],
  }
  const state: RunState = {
    ...{ create: nothing, job: nothing, claim: nothing, give: nothing, sealedFor: nothing, arrive: nothing },
    ...{ start: nothing, confirm: nothing, decide: nothing, beat: nothing, finish: nothing, lease: nothing },
    ...{ giveBack: nothing, leased: nothing, cancel: async () => {}, claims: async () => [] },
    stop: async reason => void reads.stops.push(reason),
    look: async () => {
      reads.looks++
      return { ...run.signal, nowMs: clock.nowMs() }
    },
    views: async () => {
      reads.views++
      return run.views
    },
    results: async shards => {
      reads.results.push(shards)
      return shards.map(shard => run.results.get(shard) ?? null)
    },
  }
  const store = { take: nothing, put: nothing, progress: nothing, confirm: nothing, remove: nothing }
  const records: RecordStore = { ...store, look: nothing, keep: nothing }
  const never = new AbortController().signal
  const lines: string[] = []
  const log = (line: string) => void lines.push(line)
  const io = { clock, stop: never, quit: never, directory: null, outputs, log, unwritten: () => {} }
  const report = followRun({ state, records }, ofRun, null, io)
  return { clock, reads, run, report, lines }
}

test('a terminal without outputs reads each result once, and snapshots only at the end', async () => {
  const { clock, reads, run, report } = setUp()
  await clock.advanceTo(5_000)
  expect([reads.looks, reads.views, reads.results]).toEqual([11, 0, []])
  run.results.set(1, resultOf('b'))
  run.signal = { ...run.signal, finished: 1, working: 2 }
  await clock.advanceTo(7_000)
  run.results.set(0, resultOf('a'))
  run.results.set(2, resultOf('c'))
  run.signal = { ...run.signal, finished: 3, working: 0 }
  const { load } = await clock.run(report)
  expect(reads.results).toEqual([
    [0, 1, 2],
    [0, 2],
  ])
  expect(reads.views).toBe(1)
  expect(load.workers.map(({ lost, health }) => [lost, health?.name])).toEqual([
    [false, 'a'],
    [false, 'b'],
    [false, 'c'],
  ])
})

test('an output that looks often reads all snapshots together, at most once per second', async () => {
  let live = null as LiveRun | null
  const output: Output = {
    start: started => {
      live = started
    },
    finish: async () => {},
    close: async () => {},
  }
  const { clock, reads, run } = setUp([output])
  run.views = ['a', 'b', 'c'].map((worker, index) => ({
    state: 'working',
    worker,
    snapshot: shownOf(worker, index + 1),
  }))
  for (let ms = 100; ms <= 2_500; ms += 100) {
    await clock.advanceTo(ms)
    await Promise.all([live?.refresh(), live?.refresh()])
  }
  expect(reads.views).toBe(3)
  expect(live?.inFlight()).toBe(6)
  expect(live?.machines().map(({ name, state }) => [name, state])).toEqual([
    ['a', 'working'],
    ['b', 'working'],
    ['c', 'working'],
  ])

  run.views = run.views.map((view, index) => (index === 1 ? { ...view, state: 'lost' } : view))
  await clock.advanceTo(4_000)
  await live?.refresh()
  expect(live?.inFlight()).toBe(4)
  expect(live?.machines()[1]).toMatchObject({ name: 'b', state: 'lost', health: { usedCores: 0.5 } })
})

test('with --until decided, the terminal ends the run once all shards together have decided it', async () => {
  const scenario = `name: test
callers: { count: 6 }
calls: { read: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } } }
stages: [{ name: load, shape: constant, duration: 80s, rate: 5/s, mix: { read: 1 } }]
thresholds: [{ expect: failed <= 5%, why: a test }]
`
  const { observations, ...judged } = await virtualRun({ scenario })
  const shard = (index: number, sent: number) => {
    const judge = createJudge(judged.plan, judged.contract, judged.head)
    const own = observations.filter(({ caller, stage }) => stage === 'load' && Number(caller.slice(1)) % 3 === index)
    for (const observation of own.slice(0, sent)) judge.add(observation)
    return judge.snapshot()
  }
  const { clock, reads, run } = setUp([], { ...job, plan: judged.plan, contract: judged.contract, untilDecided: true })
  const show = (sent: number, inFlight: number) => {
    run.views = [0, 1, 2].map(index => {
      return { state: 'working', worker: `${index}`, snapshot: shownOf(`${index}`, inFlight, shard(index, sent)) }
    })
  }
  show(20, 0)
  await clock.advanceTo(2_600)
  show(130, 60)
  await clock.advanceTo(4_600)
  expect(reads.stops).toEqual([])
  show(130, 1)
  await clock.advanceTo(6_600)
  expect(new Set(reads.stops)).toEqual(new Set(['decided']))
})

test('a run that was stopped is over when no worker is left, and says which shards have no result', async () => {
  const { clock, run, report } = setUp()
  run.results.set(0, resultOf('a'))
  run.signal = { ...run.signal, stop: { reason: 'worker-lost', why: 'shard 2 was silent' }, finished: 1, working: 1 }
  await clock.advanceTo(3_000)
  run.signal = { ...run.signal, working: 0 }
  const { run: head, verdict, load } = await clock.run(report)
  expect(clock.nowMs()).toBeLessThan(4_000)
  expect([head.ended, verdict, load.workers.map(({ lost }) => lost)]).toEqual([
    'worker-lost',
    'inconclusive',
    [false, true, true],
  ])
})

test('a result that no worker wrote is no result, and the run ends at once', async () => {
  const { clock, run, report, lines } = setUp()
  for (const [shard, bytes] of [resultOf('a'), shownOf('b', 1), Buffer.from('{}')].entries())
    run.results.set(shard, bytes)
  run.views = [{ state: 'finished', worker: 'a', snapshot: Buffer.from('x') }]
  run.signal = { ...run.signal, finished: 3, working: 0 }
  const { verdict, load } = await clock.run(report)
  expect(clock.nowMs()).toBeLessThan(1_000)
  expect([verdict, load.workers.map(({ lost }) => lost)]).toEqual(['inconclusive', [false, true, true]])
  expect(lines).toEqual([
    'The result of shard 2 in Redis was not written by a worker.',
    'The result of shard 3 in Redis was not written by a worker.',
  ])
})
