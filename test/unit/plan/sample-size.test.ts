import { describe, expect, test } from 'vitest'
import { describePlan } from '../../../src/plan/describe-plan.ts'
import type { Recording } from '../../../src/plan/recorded-load.ts'
import { planOf } from './plan-of.ts'

const rowOf = (stage: string, call: string) => planOf({ only: stage }).forecast.calls.find(row => row.call === call)

describe('the samples of a call', () => {
  test('are the arrivals of every shape with a rate', () => {
    const stairs = 'duration: 40s, shape: stairs, from: 0/s, to: 3/s, steps: 4, mix: { s: 1 }'
    expect(rowOf(stairs, 's')).toMatchObject({ samples: 60, isAtMost: false, provablePercentile: 95 })
    const spike = 'duration: 40s, shape: spike, base: 1/s, peak: 3/s, at: 10s, for: 10s, mix: { s: 1, models: 1 }'
    expect(rowOf(spike, 's')).toMatchObject({ samples: 30, provablePercentile: 90 })
  })

  test('are the arrivals of a recording, by call', () => {
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

  test('exclude requests that must be refused', () => {
    const mix = 'mix: { unlisted: 1, replay: 1 }'
    const stage = `duration: 200s, shape: constant, rate: 1/s, ${mix}`
    expect(rowOf(stage, 'unlisted')).toMatchObject({ requests: 100, samples: 0, provablePercentile: null })
    // One conflict in four arrivals of 3.75 requests.
    expect(rowOf(stage, 'replay')).toMatchObject({ requests: 375, samples: 350, provablePercentile: 99 })
  })

  test('exclude requests above a limit', () => {
    // 100 of the 130 simultaneous requests of each of four callers.
    const burst = 'duration: 10s, shape: burst, size: 130% of tier, exceed-tier: true, mix: { single: 1 }'
    expect(rowOf(burst, 'single')).toMatchObject({ requests: 520, samples: 400 })
    // 500,000 tokens per minute are 7.99 of these calls. A spike to twice that rate for a minute admits half of them.
    const spike =
      'duration: 60s, shape: spike, base: 1/m, peak: 200% of tier, at: 0s, for: 60s, exceed-tier: true, mix: { long: 1 }'
    expect(rowOf(spike, 'long')).toMatchObject({ requests: 64, samples: 32 })
  })
})

describe('if responses set the pace', () => {
  const users = 'duration: 10s, shape: closed, users: 8, think: 100ms, mix: { models: 1 }'
  const thresholdsOn = (percentile: number) =>
    `thresholds: [{ expect: p(${percentile}) latency of models < 1s, why: A reason. }]`

  test('the provable percentile is an upper bound', () => {
    expect(rowOf(users, 'models')).toMatchObject({ samples: 800, isAtMost: true, provablePercentile: 99 })
    expect(describePlan(planOf({ users }))).toMatch(/users +models +800 +80 +at best p99\n/)
  })

  test('a threshold may lack proof, even with many possible samples', () => {
    expect(describePlan(planOf({ users }, { more: thresholdsOn(95) }))).toContain(
      'may not be proved: needs 59 samples, at most 800 expected, since responses set the pace',
    )
    expect(describePlan(planOf({ users }, { more: thresholdsOn(99.9) }))).toContain(
      'cannot be proved: needs 2995 samples',
    )
  })

  test('other stages can prove the threshold', () => {
    const steady = 'duration: 20s, shape: constant, rate: 5/s, mix: { models: 1 }'
    expect(describePlan(planOf({ users, steady }, { more: thresholdsOn(95) }))).not.toContain('proved')
  })
})
