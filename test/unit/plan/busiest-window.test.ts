import { describe, expect, test } from 'vitest'
import type { Plan } from '../../../src/plan/plan.ts'
import { planOf } from './plan-of.ts'

const limit = (plan: Plan, stage: string, scope: string) =>
  plan.forecast.limits.find(row => row.stage === stage && row.scope === scope)

describe('expected failures of a stage', () => {
  test('are those of its worst half minute, at any time', () => {
    const refused = 'mix: { unlisted: 1 }'
    const plan = planOf({
      even: `duration: 60s, shape: constant, rate: 24/m, ${refused}`,
      spike: `duration: 3m, shape: spike, base: 0/s, peak: 48/m, at: 80s, for: 20s, ${refused}`,
    })
    // 12 and 16 refusals of four callers.
    expect(plan.forecast.failures.map(({ stage, expected }) => [stage, expected])).toEqual([
      ['even', 3],
      ['spike', 4],
    ])
  })
})

describe('the busiest minute of one caller', () => {
  test('of a longer stage is a minute at its rate', () => {
    const plan = planOf({ a: 'duration: 5m, shape: constant, rate: 80% of tier, mix: { s: 1 }' })
    expect(limit(plan, 'a', 'chat:ref-small-24b')).toMatchObject({ perMinute: 60, limit: 75 })
  })

  test('of a shorter stage is all of it', () => {
    const plan = planOf({ a: 'duration: 20s, shape: poisson, rate: 80% of tier, mix: { s: 1 }' })
    expect(limit(plan, 'a', 'chat:ref-small-24b')?.perMinute).toBe(20)
  })

  test('of a rising ramp is its last minute', () => {
    const plan = planOf({ a: 'duration: 2m, shape: ramp, to: 4/s, mix: { s: 1 }' })
    // From 2/s to 4/s in the last minute, 180 arrivals of 4 callers.
    expect(limit(plan, 'a', 'chat:ref-small-24b')?.perMinute).toBe(45)
  })

  test('of stairs is their last level, of a spike the time around its peak', () => {
    const stairs = 'duration: 4m, shape: stairs, from: 1/s, to: 4/s, steps: 4, mix: { s: 1 }'
    expect(limit(planOf({ a: stairs }), 'a', 'chat:ref-small-24b')?.perMinute).toBe(60)
    const spike = 'duration: 5m, shape: spike, base: 1/s, peak: 4/s, at: 2m, for: 30s, mix: { s: 1 }'
    // 30 s of 4/s and 30 s of 1/s, of 4 callers.
    expect(limit(planOf({ a: spike }), 'a', 'chat:ref-small-24b')?.perMinute).toBe(37.5)
  })

  test('of bursts excludes the burst after exactly 60 s', () => {
    const plan = planOf({ a: 'duration: 5m, shape: burst, size: 20, every: 20s, mix: { s: 1 }' })
    expect(limit(plan, 'a', 'chat:ref-small-24b')?.perMinute).toBe(15)
  })

  test('counts estimated tokens of prompt and completion', () => {
    const plan = planOf({ a: 'duration: 10s, shape: constant, rate: 4/s, mix: { s: 1 }' })
    // Ten calls per caller, 260 + 120 tokens each.
    expect(limit(plan, 'a', 'chat:ref-small-24b tokens')).toMatchObject({ perMinute: 3_800, limit: 750_000 })
  })

  test('of the whole run spans stages', () => {
    const steady = 'duration: 50s, shape: constant, rate: 4/s, mix: { s: 1 }'
    const plan = planOf({ a: steady, b: 'duration: 5s, shape: pause', c: steady })
    expect(limit(plan, 'a', 'chat:ref-small-24b')?.perMinute).toBe(50)
    expect(limit(plan, '(run)', 'chat:ref-small-24b')?.perMinute).toBe(55)
  })

  test('of the whole run finds the peak between two ramps', () => {
    const plan = planOf(
      {
        up: 'duration: 60s, shape: ramp, to: 1/s, mix: { s: 1 }',
        down: 'duration: 30s, shape: ramp, from: 1/s, to: 0.001/s, mix: { s: 1 }',
      },
      { count: 1 },
    )
    // The rate at the end of the window equals that at its start: t/60 = 1 − t/30, t = 20.
    // Area: (60² − 20²)/120 + 20 − 20²/60 = 40.
    expect(limit(plan, '(run)', 'chat:ref-small-24b')?.perMinute).toBeCloseTo(40, 1)
  })

  test('of a sequence is all that one caller sends', () => {
    const plan = planOf({
      a: 'duration: 1s, shape: sequence, callers: 3, calls: [single, batch, replay, models]',
    })
    expect(limit(plan, 'a', 'rpc')).toMatchObject({ perMinute: 5.75, limit: 100 })
  })
})
