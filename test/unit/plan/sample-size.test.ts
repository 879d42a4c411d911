import { describe, expect, test } from 'vitest'
import { describePlan } from '../../../src/plan/describe-plan.ts'
import type { Recording } from '../../../src/plan/recorded-load.ts'
import { planOf } from './plan-of.ts'

const rowOf = (stage: string, call: string) => planOf({ only: stage }).forecast.calls.find(row => row.call === call)

describe('what is timed', () => {
  test('are the arrivals of every shape with a rate, which is what can be proved', () => {
    const stairs = 'duration: 40s, shape: stairs, from: 0/s, to: 3/s, steps: 4, mix: { s: 1 }'
    expect(rowOf(stairs, 's')).toMatchObject({ samples: 60, isAtMost: false, provablePercentile: 95 })
    const spike = 'duration: 40s, shape: spike, base: 1/s, peak: 3/s, at: 10s, for: 10s, mix: { s: 1, models: 1 }'
    expect(rowOf(spike, 's')).toMatchObject({ samples: 30, provablePercentile: 90 })
  })

  test('are the arrivals of a recording, call by call', () => {
    const calls = [...Array<string>(59).fill('s'), ...Array<string>(4).fill('single')]
    const recording: Recording = {
      runId: 'r',
      durationMs: 63_000,
      count: calls.length,
      offsetMs: index => index * 1_000,
      call: index => calls[index] ?? '',
      caller: index => index % 4,
    }
    const plan = planOf({ a: 'shape: recorded, run: r' }, { recordings: new Map([['a', recording]]) })
    expect(plan.forecast.calls.map(({ call, provablePercentile }) => [call, provablePercentile])).toEqual([
      ['s', 95],
      ['single', null],
    ])
  })

  test('are no requests that are to be refused', () => {
    const mix = 'mix: { unlisted: 1, replay: 1 }'
    const stage = `duration: 200s, shape: constant, rate: 1/s, ${mix}`
    expect(rowOf(stage, 'unlisted')).toMatchObject({ requests: 100, samples: 0, provablePercentile: null })
    // One conflict in four arrivals of 3.75 requests.
    expect(rowOf(stage, 'replay')).toMatchObject({ requests: 375, samples: 350, provablePercentile: 99 })
  })

  test('are none beyond a limit', () => {
    // 100 of the 130 that each of four callers sends at once.
    const burst = 'duration: 10s, shape: burst, size: 130% of tier, exceed-tier: true, mix: { single: 1 }'
    expect(rowOf(burst, 'single')).toMatchObject({ requests: 520, samples: 400 })
    // 500,000 tokens a minute are 7.99 of these calls; a spike to twice of that for a minute leaves room for half of them.
    const spike =
      'duration: 60s, shape: spike, base: 1/m, peak: 200% of tier, at: 0s, for: 60s, exceed-tier: true, mix: { long: 1 }'
    expect(rowOf(spike, 'long')).toMatchObject({ requests: 64, samples: 32 })
  })
})

describe('where answers set the pace', () => {
  const users = 'duration: 10s, shape: closed, users: 8, think: 100ms, mix: { models: 1 }'
  const thresholdsOn = (percentile: number) =>
    `thresholds: [{ expect: p(${percentile}) latency of models < 1s, why: A reason. }]`

  test('what can be proved is only what could be at best', () => {
    expect(rowOf(users, 'models')).toMatchObject({ samples: 800, isAtMost: true, provablePercentile: 99 })
    expect(describePlan(planOf({ users }))).toMatch(/users +models +800 +80 +at best p99\n/)
  })

  test('a threshold may not be proved, whatever could be sent', () => {
    expect(describePlan(planOf({ users }, { more: thresholdsOn(95) }))).toContain(
      'may not be proved: it takes 59 samples, and 800 at most are expected, as answers set the pace',
    )
    expect(describePlan(planOf({ users }, { more: thresholdsOn(99.9) }))).toContain(
      'cannot be proved: it takes 2995 samples',
    )
  })

  test('a threshold can be proved where the other stages do', () => {
    const steady = 'duration: 20s, shape: constant, rate: 5/s, mix: { models: 1 }'
    expect(describePlan(planOf({ users, steady }, { more: thresholdsOn(95) }))).not.toContain('proved')
  })
})
