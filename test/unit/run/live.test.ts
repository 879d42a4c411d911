import { expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { createJudge } from '../../../src/judge/judge.ts'
import { mergeGauges } from '../../../src/judge/metrics/gauges.ts'
import { makePlan } from '../../../src/plan/make-plan.ts'
import { createLiveView } from '../../../src/run/live.ts'
import type { WorkerSnapshot } from '../../../src/run/messages.ts'

import { loadScenario } from '../../../src/scenario/load-scenario.ts'
import { manualClock } from '../../support/manual-clock.ts'

const overrides = { seed: null, target: null, budgetUsd: null }
const plan = makePlan(loadScenario('scenarios/smoke.yaml', documentedContract), documentedContract, overrides)
const judge = createJudge(plan, documentedContract, { startedAtMs: 0 }).snapshot()

const shown = (stage: string, inFlight: number): WorkerSnapshot => ({ judge, gauges: mergeGauges([]), stage, inFlight })

/** A worker that returns these snapshots in order, and is then lost. */
const showing = (...snapshots: readonly WorkerSnapshot[]) => {
  const left = [...snapshots]
  return { snapshot: async () => left.shift() ?? null }
}

test('a lost worker keeps its last snapshot, without requests in flight', async () => {
  const workers = [showing(shown('a', 1), shown('b', 2)), showing(shown('a', 30))]
  const live = createLiveView(plan, workers, manualClock())
  await live.poll()
  expect([live.stage(), live.inFlight()]).toEqual(['a', 31])
  await live.poll()
  expect([live.stage(), live.inFlight()]).toEqual(['b', 2])
})

test('a worker that was lost before its first snapshot is not included', async () => {
  const live = createLiveView(plan, [showing(), showing(shown('a', 3))], manualClock())
  expect(live.stage()).toBe('(opening)')
  await live.poll()
  expect([live.stage(), live.inFlight()]).toEqual(['a', 3])
})

test('workers are polled once per second for any number of readers, which share one view', async () => {
  const clock = manualClock()
  const live = createLiveView(plan, [showing(shown('a', 1), shown('b', 2))], clock)
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
