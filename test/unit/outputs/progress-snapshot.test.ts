import { describe, expect, test } from 'vitest'
import { createRecentRate, progressAt } from '../../../src/outputs/progress-snapshot.ts'
import type { Load } from '../../../src/plan/plan.ts'
import { aStage } from '../judge/metrics/fixtures.ts'
import { aSearch } from '../report/capacity-results.ts'
import { plan, readingAt, searching, snapshotAt } from './progress-views.ts'

describe('progress: a snapshot', () => {
  test('has the position in the stage and the run, what is due, what came back, and the budget', () => {
    expect(snapshotAt('ramp', 5000)).toMatchObject({
      scenario: 'fixture',
      // The mean of the last five seconds, while the rate rises from 0/s to 10/s.
      stage: {
        name: 'ramp',
        planned: { position: 1, of: 3, elapsedMs: 5000, durationMs: 10_000, offeredPerSecond: expect.closeTo(5, 9) },
      },
      elapsedMs: 5000,
      totalMs: 60_000,
      isAtMost: true,
      inFlight: 3,
      sent: 62,
      failed: 1,
      dropped: 1,
      statuses: { '200': 60, '429': 1 },
      latencyMs: { p50: 100, p95: 100, p99: null },
      ttftMs: { p50: 20, p95: 20, p99: null },
      achievedPerSecond: 12.2,
      claimedUsd: '0.0077',
      budgetUsd: '0.05',
    })
  })
  test('times the current stage, and outside of the stages the run', () => {
    expect(snapshotAt('users', 12_000).latencyMs).toEqual({ p50: null, p95: null, p99: null })
    expect(snapshotAt('(closing)', 99_000).latencyMs.p50).toBe(100)
  })
  test('counts the requests of an arrival that sends several', () => {
    const replay = { kind: 'replay', of: plan.calls.rpc, duplicates: 2, otherKeyRatio: 0, conflictRatio: 0 }
    const rest = { otherCallerRatio: 0, repeatAfterMs: null, concurrent: false }
    const load: Load = { model: 'open', shape: { kind: 'constant', perSecond: 4 }, mix: [['again', 1]] }
    const repeating = { ...plan, calls: { again: { ...replay, ...rest } }, stages: [aStage('steady', 9000, { load })] }
    const { stage } = progressAt(repeating as typeof plan, readingAt('steady'), 8000)
    expect(stage.planned?.offeredPerSecond).toBeCloseTo(12, 9)
  })
  test('has no offered rate if responses set the pace', () => {
    expect(snapshotAt('users', 10_000).stage.planned).toMatchObject({ position: 2, offeredPerSecond: null })
  })
  test('has in a search the current trial, the highest held rate, and the lowest missed one', () => {
    const { stage, search, finishedTrials } = snapshotAt('search', 41_000, { capacity: [searching] })
    expect(stage.planned?.offeredPerSecond).toBe(80)
    expect(search).toEqual({
      trial: { position: 5, purpose: 'confirm', offeredPerSecond: 80, doneRatio: 319 / 788 },
      heldPerSecond: 80,
      missedPerSecond: 160,
    })
    expect(finishedTrials).toEqual([
      'raise 40/s held',
      'raise 80/s held',
      'raise 160/s missed: chat ttft 17 of 115',
      'narrow 120/s undecided: Turnpike was too late',
    ])
    expect(snapshotAt('(closing)', 60_000, { capacity: [aSearch()] }).finishedTrials.at(-1)).toBe(
      'confirm 78.7/s confirmed',
    )
  })
  test('has no rate in a search before its first response', () => {
    const { stage, search } = snapshotAt('search', 40_000, { capacity: [aSearch({ trials: [] })] })
    expect([stage.planned?.offeredPerSecond, search?.trial]).toEqual([null, null])
  })
  test('is outside the stages during balance checks', () => {
    expect(snapshotAt('(closing)', 99_000)).toMatchObject({ stage: { planned: null }, elapsedMs: 60_000 })
  })
})

test('the achieved rate is that of the last five seconds, and starts again in each stage', () => {
  const recent = createRecentRate()
  expect(recent.perSecond()).toBeNull()
  // 10/s for ten seconds, then 2/s.
  for (let second = 0; second <= 10; second++) recent.add(second * 1000, 'steady', second * 10)
  expect(recent.perSecond()).toBe(10)
  for (let second = 11; second <= 15; second++) recent.add(second * 1000, 'steady', 100 + (second - 10) * 2)
  expect(recent.perSecond()).toBe(2)
  recent.add(16_000, 'spike', 3)
  expect(recent.perSecond()).toBeNull()
  recent.add(16_500, 'spike', 23)
  expect(recent.perSecond()).toBe(40)
})
