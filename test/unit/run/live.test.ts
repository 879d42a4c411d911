import { expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { createJudge } from '../../../src/judge/judge.ts'
import type { JudgeJob } from '../../../src/judge/judge-run.ts'
import { mergeGauges } from '../../../src/judge/metrics/gauges.ts'
import type { TracedRequest } from '../../../src/judge/traced-requests.ts'
import { makePlan } from '../../../src/plan/make-plan.ts'
import { manualClock } from '../../../src/prove/manual-clock.ts'
import { createLiveView } from '../../../src/run/live.ts'
import type { WorkerSnapshot } from '../../../src/run/messages.ts'
import { loadScenario } from '../../../src/scenario/load-scenario.ts'

const overrides = { seed: null, target: null, budgetUsd: null }
const plan = makePlan(loadScenario('scenarios/smoke.yaml', documentedContract), documentedContract, overrides)
const judge = createJudge(plan, documentedContract, { startedAtMs: 0 }).snapshot()

const job: JudgeJob = {
  plan,
  contract: documentedContract,
  head: { turnpike: 2, runId: 'r1', version: '0.0.0', target: 'http://127.0.0.1:1', startedAtMs: 0 },
}

const none = {
  ...{ gauges: mergeGauges([]), traced: { count: 0, last: [] }, details: null, eventLoopDelayMs: null },
  inFlightByCall: new Map<string, number>(),
}
const shown = (stage: string, inFlight: number): WorkerSnapshot => ({ judge, ...none, stage, inFlight })

/** A worker that returns these snapshots in order, and is then lost. */
const showing = (...snapshots: readonly WorkerSnapshot[]) => {
  const left = [...snapshots]
  return { snapshot: async () => left.shift() ?? null }
}

test('a lost worker keeps its last snapshot, without requests in flight', async () => {
  const workers = [showing(shown('a', 1), shown('b', 2)), showing(shown('a', 30))]
  const live = createLiveView(job, workers, manualClock())
  await live.poll()
  expect([live.stage(), live.inFlight()]).toEqual(['a', 31])
  await live.poll()
  expect([live.stage(), live.inFlight()]).toEqual(['b', 2])
})

test('a worker that was lost before its first snapshot is not included', async () => {
  const live = createLiveView(job, [showing(), showing(shown('a', 3))], manualClock())
  expect(live.stage()).toBe('(opening)')
  await live.poll()
  expect([live.stage(), live.inFlight()]).toEqual(['a', 3])
})

test('workers are polled once per second for any number of readers, which share one view', async () => {
  const clock = manualClock()
  const live = createLiveView(job, [showing(shown('a', 1), shown('b', 2))], clock)
  await Promise.all([live.refresh(), live.refresh()])
  const first = live.view()
  expect(live.stage()).toBe('a')
  await clock.advanceTo(999)
  await live.refresh()
  expect([live.stage(), live.view()]).toEqual(['a', first])
  await clock.advanceTo(1_000)
  await live.refresh()
  expect(live.stage()).toBe('b')
  expect(live.view()).not.toBe(first)
})

/** Only the id of a traced request matters here. */
const requestsOf = (ids: readonly number[]) => ids.map(id => ({ id }) as TracedRequest)
const tracing = (count: number, ids: readonly number[]): WorkerSnapshot => ({
  ...shown('a', 0),
  traced: { count, last: requestsOf(ids) },
})
const idsOf = (requests: readonly TracedRequest[]) => requests.map(({ id }) => id)

test('each request that a worker chose for traces is taken once, also if a snapshot shows it again', async () => {
  const workers = [showing(tracing(2, [1, 2]), tracing(3, [1, 2, 3]), tracing(3, [1, 2, 3])), showing(tracing(1, [9]))]
  const live = createLiveView(job, workers, manualClock())
  await live.poll()
  expect(idsOf(live.takeTraced())).toEqual([1, 2, 9])
  expect(live.takeTraced()).toEqual([])
  await live.poll()
  await live.poll()
  expect(idsOf(live.takeTraced())).toEqual([3])
  live.addTraced(requestsOf([2, 4]))
  expect(idsOf(live.takeTraced())).toEqual([4])
})

test('requests for traces that nobody takes do not pile up', async () => {
  const live = createLiveView(job, [], manualClock())
  live.addTraced(requestsOf(Array.from({ length: 5_000 }, (_, id) => id)))
  expect(live.takeTraced().length).toBeLessThan(5_000)
})

test('workers are listed with what is known of them, and a lost one as lost', async () => {
  const elsewhere = { ...showing(shown('a', 1)), name: () => 'host-b/7' }
  const live = createLiveView(job, [showing(shown('a', 1), shown('b', 2)), elsewhere, showing()], manualClock())
  await live.poll()
  await live.poll()
  expect(live.workers()).toEqual([
    { worker: 1, name: null, isLost: false, stage: 'b', inFlight: 2 },
    { worker: 2, name: 'host-b/7', isLost: true, stage: 'a', inFlight: 0 },
  ])
})

test('workers report details only while somebody watches, and then without delay', async () => {
  const asked: boolean[] = []
  const snapshot = async (withDetails: boolean) => {
    asked.push(withDetails)
    return shown('a', 1)
  }
  const live = createLiveView(job, [{ snapshot }], manualClock())
  await live.refresh()
  expect(live.report()).toBeNull()
  live.watch(true)
  await live.refresh()
  await live.refresh()
  live.watch(false)
  await live.poll()
  expect(asked).toEqual([false, true, false])
})
