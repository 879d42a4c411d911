import { describe, expect, test } from 'vitest'
import { UsageError } from '../../../src/lib/usage-error.ts'
import { noFlags, perSecondOf, planOf } from './plan-of.ts'

const constant = (share: string, mix: string) =>
  `duration: 60s, shape: constant, rate: ${share} of tier, mix: { ${mix} }`
const tierOf = (mix: string, count = 1) =>
  Number((perSecondOf(planOf({ only: constant('100%', mix) }, { count })) * 60).toPrecision(12))

describe('100% of tier, in arrivals per minute of one caller', () => {
  test('of a chat call is the request limit of its model', () => {
    expect(tierOf('s: 1')).toBe(75)
    expect(tierOf('xs: 1')).toBe(500)
  })

  test('of long chat calls is the token limit of their model, which they reach first', () => {
    // 500,000 tokens per minute. A call has an estimated 1.05 * 50,000 + 50 prompt tokens and 10,000 completion tokens.
    expect(tierOf('long: 1')).toBeCloseTo(500_000 / 62_550, 9)
  })

  test('of RPC calls is the RPC limit, for batches too', () => {
    expect(tierOf('batch: 1, single: 3')).toBeCloseTo(100, 12)
  })

  test('of replays counts their repetitions, and those by other callers', () => {
    // 1 + 2 duplicates + 0.25 conflicts + 0.5 by another caller = 3.75 requests per arrival.
    expect(tierOf('replay: 1', 2)).toBeCloseTo((2 * 100) / 3.75, 9)
  })

  test('of a mix depends on the call that reaches its limit first', () => {
    // 3 of 8 arrivals are S-chats: 75 / (3/8) = 200. Five are batches: 100 / (5/8) = 160.
    expect(tierOf('s: 3, batch: 5')).toBe(160)
    // With 4 and 4: 75 / (1/2) = 150, 100 / (1/2) = 200.
    expect(tierOf('s: 4, batch: 4')).toBe(150)
  })

  test('ignores calls without a limit', () => {
    expect(tierOf('s: 1, models: 1')).toBe(150)
  })

  test('grows with the callers of the stage', () => {
    expect(tierOf('s: 1', 3)).toBe(225)
    expect(perSecondOf(planOf({ only: `callers: 2, ${constant('100%', 's: 1')}` }, { count: 3 })) * 60).toBe(150)
  })

  test('scales with the share, without rounding', () => {
    expect(perSecondOf(planOf({ only: constant('80%', 's: 1') }, { count: 1 }))).toBe(1)
    expect(perSecondOf(planOf({ only: constant('1%', 's: 1') }, { count: 1 }))).toBe(0.0125)
  })
})

describe('the plan', () => {
  test('is the same, byte for byte, from the same inputs', () => {
    const plan = () => JSON.stringify(planOf({ a: constant('80%', 's: 1, batch: 2'), b: 'duration: 1s, shape: pause' }))
    expect(plan()).toBe(plan())
  })

  test('survives JSON unchanged', () => {
    const plan = planOf({ a: constant('80%', 's: 1') }, { more: 'slo: { s: { ttft: 400ms } }\nbudget: { usd: 1 }' })
    expect(JSON.parse(JSON.stringify(plan))).toEqual(plan)
  })

  test('starts each stage at the end of the previous one', () => {
    const plan = planOf({
      a: 'duration: 1.5s, shape: pause',
      b: 'duration: 2s, shape: pause',
      c: 'duration: 10ms, shape: pause',
    })
    expect(plan.stages.map(({ startMs }) => startMs)).toEqual([0, 1_500, 3_500])
    expect(plan.forecast.durationMs).toBe(3_510)
  })

  test('names the callers in the order of their keys', () => {
    expect(planOf({ a: 'duration: 1s, shape: pause' }, { count: 3 }).callers.names).toEqual(['c0', 'c1', 'c2'])
  })

  test('turns every shape into a load without units', () => {
    const plan = planOf({
      ramp: 'duration: 1s, shape: ramp, from: 30/m, to: 100% of tier, mix: { s: 1 }',
      poisson: 'duration: 1s, shape: poisson, rate: 2/s, mix: { s: 1 }',
      once: 'duration: 9s, shape: burst, size: 130% of tier, exceed-tier: true, callers: 2, mix: { long: 1 }',
      often: 'duration: 9s, shape: burst, size: 3, every: 2s, mix: { single: 1 }',
      stairs: 'duration: 9s, shape: stairs, from: 20% of tier, to: 100% of tier, steps: 5, ramp: 1s, mix: { s: 1 }',
      jumps: 'duration: 9s, shape: stairs, from: 0/s, to: 1/s, steps: 2, mix: { s: 1 }',
      spike: 'duration: 9s, shape: spike, base: 40% of tier, peak: 5/s, at: 2s, for: 3s, ramp-down: 4s, mix: { s: 1 }',
      pause: 'duration: 1s, shape: pause',
      users: 'duration: 1s, shape: closed, users: 8, think: 100ms, mix: { s: 1 }',
      list: 'duration: 1s, shape: sequence, calls: [models, s]',
    })
    const s = [['s', 1]]
    expect(plan.stages.map(({ load }) => load)).toEqual([
      { model: 'open', shape: { kind: 'ramp', fromPerSecond: 0.5, toPerSecond: 5 }, mix: s },
      { model: 'open', shape: { kind: 'poisson', perSecond: 2 }, mix: s },
      // 130 % of 7.99 is 10.39 per caller, rounded up to 11 so that it exceeds the limit.
      { model: 'open', shape: { kind: 'burst', size: 22, everyMs: 9_000 }, mix: [['long', 1]] },
      { model: 'open', shape: { kind: 'burst', size: 3, everyMs: 2_000 }, mix: [['single', 1]] },
      { model: 'open', shape: { kind: 'stairs', fromPerSecond: 1, toPerSecond: 5, steps: 5, rampMs: 1_000 }, mix: s },
      { model: 'open', shape: { kind: 'stairs', fromPerSecond: 0, toPerSecond: 1, steps: 2, rampMs: 0 }, mix: s },
      {
        model: 'open',
        shape: {
          ...{ kind: 'spike', basePerSecond: 2, peakPerSecond: 5 },
          ...{ atMs: 2_000, forMs: 3_000, rampUpMs: 0, rampDownMs: 4_000 },
        },
        mix: s,
      },
      { model: 'open', shape: { kind: 'pause' }, mix: [] },
      { model: 'closed', users: 8, thinkMs: 100, mix: s },
      { model: 'sequence', calls: ['models', 's'], atMostMs: expect.any(Number) },
    ])
  })

  test('rounds bursts to whole arrivals per caller, within the tier if the share is', () => {
    const sizeOf = (share: string, callers: number) => {
      const stage = `duration: 1s, shape: burst, size: ${share} of tier, exceed-tier: true, mix: { s: 1 }`
      const load = planOf({ only: stage }, { count: callers }).stages[0]?.load
      return load?.model === 'open' && load.shape.kind === 'burst' ? load.shape.size : null
    }
    expect(sizeOf('130%', 2)).toBe(2 * 98)
    expect(sizeOf('90%', 3)).toBe(3 * 67)
    expect(sizeOf('100%', 1)).toBe(75)
    expect(sizeOf('20%', 1)).toBe(15)
  })

  test('fills in defaults', () => {
    const plan = planOf({ a: 'duration: 1s, shape: pause' })
    expect(plan).toMatchObject({ schema: 1, seed: 1, target: null, budgetUsd: null, question: null, record: 'all' })
    expect(plan.callers).toMatchObject({ accountTier: 'default', shared: false, keysFile: null })
    expect(plan.bounds).toEqual({
      maxInFlight: 512,
      maxBodyBytes: 4_194_304,
      drainMs: 30_000,
      timeouts: {
        chat: { connectMs: 10_000, headersMs: 120_000, idleMs: 60_000, totalMs: 600_000 },
        rpc: { connectMs: 10_000, headersMs: 35_000, idleMs: 35_000, totalMs: 35_000 },
        control: { connectMs: 10_000, headersMs: 30_000, idleMs: 30_000, totalMs: 30_000 },
      },
    })
  })

  test('keeps the values of the scenario, even a single timeout', () => {
    const bounds = 'bounds: { max-in-flight: 8, max-body: 64KiB, drain: 0s, timeouts: { rpc: { total: 5s } } }'
    const plan = planOf({ a: 'duration: 1s, shape: pause' }, { more: `seed: 7\nrecord: none\n${bounds}` })
    expect(plan).toMatchObject({ seed: 7, record: 'none' })
    expect(plan.bounds).toMatchObject({ maxInFlight: 8, maxBodyBytes: 65_536, drainMs: 0 })
    expect(plan.bounds.timeouts.rpc).toEqual({ connectMs: 10_000, headersMs: 35_000, idleMs: 35_000, totalMs: 5_000 })
  })
})

describe('flags', () => {
  const stages = { a: 'duration: 1s, shape: pause' }
  const more = 'seed: 7\ntarget: http://one/v1\nbudget: { usd: 1 }'

  test('override the scenario', () => {
    const plan = planOf(stages, { more, flags: { seed: 0, target: 'http://two/v1/', budgetUsd: '$0.50' } })
    expect(plan).toMatchObject({ seed: 0, target: 'http://two/v1', budgetUsd: '0.5' })
  })

  test('that are not given leave the scenario unchanged', () => {
    expect(planOf(stages, { more })).toMatchObject({ seed: 7, target: 'http://one/v1', budgetUsd: '1' })
  })

  test.each([
    [{ ...noFlags, seed: -1 }, '--seed: got -1, expected a whole number from 0'],
    [{ ...noFlags, seed: Number.NaN }, '--seed: got NaN, expected a whole number from 0'],
    [
      { ...noFlags, target: 'localhost:80' },
      '--target: got "localhost:80", expected an http or https address such as http://127.0.0.1:8402/api/v1',
    ],
    [
      { ...noFlags, budgetUsd: '-1' },
      '--budget-usd: got "-1", expected an amount of dollars above 0 and of at most 1000000, such as 0.25',
    ],
    [
      { ...noFlags, budgetUsd: '0' },
      '--budget-usd: got "0", expected an amount of dollars above 0 and of at most 1000000, such as 0.25',
    ],
  ])('with a mistake throw: %j', (flags, message) => {
    expect(() => planOf(stages, { flags })).toThrow(UsageError)
    expect(() => planOf(stages, { flags })).toThrow(message)
  })
})

describe('a saturate stage', () => {
  const stages = { flood: 'duration: 1s, shape: saturate, connections: 8, max-calls: 300, mix: { models: 1 }' }
  const at = (target: string) => () => planOf(stages, { flags: { ...noFlags, target } })

  test('refuses an https target, since it does not verify certificates', () => {
    expect(at('https://api.example.com/v1')).toThrow(
      new UsageError({
        where: 'target of stage flood',
        got: 'https://api.example.com/v1',
        expected: 'an http: target, since a saturate stage does not verify certificates',
      }),
    )
    expect(at('http://127.0.0.1:8402/api/v1')).not.toThrow()
  })
})
