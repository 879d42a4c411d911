import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { UsageError } from '../../../src/lib/usage-error.ts'
import { describePlan } from '../../../src/plan/describe-plan.ts'
import type { Plan } from '../../../src/plan/plan.ts'
import { arrivalsBetween } from '../../../src/plan/rate-curve.ts'
import { packArrivals, unpackArrivals } from '../../../src/plan/recorded-load.ts'
import { noFlags, planOf } from './plan-of.ts'

const mix = 'mix: { xs: 1, single: 3 }'
const shapes: Readonly<Record<string, string>> = {
  constant: `duration: 60s, shape: constant, rate: 4/s, ${mix}`,
  poisson: `duration: 60s, shape: poisson, rate: 4/s, ${mix}`,
  ramp: `duration: 60s, shape: ramp, from: 1/s, to: 4/s, ${mix}`,
  stairs: `duration: 60s, shape: stairs, from: 1/s, to: 4/s, steps: 3, ${mix}`,
  spike: `duration: 60s, shape: spike, base: 1/s, peak: 4/s, at: 10s, for: 5s, ${mix}`,
  burst: `duration: 60s, shape: burst, size: 8, every: 10s, ${mix}`,
}

const only = (names: readonly string[], stages: Readonly<Record<string, string>>, more = ''): Plan =>
  planOf(stages, { flags: { ...noFlags, only: names }, more })

const requestsOf = ({ forecast }: Plan, call: string) =>
  forecast.calls.filter(row => row.call === call).reduce((sum, { requests }) => sum + requests, 0)

describe('a call keeps its own rate', () => {
  test.each(Object.entries(shapes))('in a %s stage', (_, stage) => {
    const [whole, part] = [planOf({ a: stage }), only(['single'], { a: stage })]
    expect(requestsOf(part, 'single')).toBe(requestsOf(whole, 'single'))
    expect(requestsOf(part, 'single')).toBe(part.forecast.requests)
    expect(Object.keys(part.calls)).toEqual(['single'])
  })

  test('in a closed, a saturated and a searching stage', () => {
    const part = only(['single'], {
      closed: `duration: 10s, shape: closed, users: 8, ${mix}`,
      full: 'duration: 10s, shape: saturate, connections: 8, max-calls: 400, mix: { xs: 1, models: 3 }',
      search: `duration: 60s, shape: capacity, from: 1/s, to: 6/s, good-ratio: 99%, ${mix}`,
    })
    expect(part.stages.map(({ name, startMs }) => [name, startMs])).toEqual([
      ['closed', 0],
      ['search', 10_000],
    ])
    expect(part.stages[0]?.load).toMatchObject({ users: 6, mix: [['single', 3]] })
    expect(part.stages[1]?.load).toMatchObject({
      search: { fromPerSecond: 0.75, toPerSecond: 4.5, mix: { single: 1 } },
    })
    const models = only(['models'], {
      full: 'duration: 10s, shape: saturate, connections: 8, max-calls: 400, mix: { xs: 1, models: 3 }',
    })
    expect(models.stages[0]?.load).toMatchObject({ connections: 6, maxCalls: 300 })
  })

  test('in a recorded stage: the same arrivals of the same callers, at the same times', () => {
    const arrivals = [0, 1, 1, 0, 1].map((call, index) => ({ offsetMs: index * 100, call, caller: index % 4 }))
    const recording = {
      runId: 'r',
      durationMs: 1_000,
      count: 5,
      offsetMs: (index: number) => index * 100,
      call: (index: number) => (arrivals[index]?.call === 0 ? 'xs' : 'single'),
      caller: (index: number) => index % 4,
    }
    const part = planOf(
      { again: 'shape: recorded, run: runs/r' },
      { flags: { ...noFlags, only: ['single'] }, recordings: new Map([['again', recording]]) },
    )
    const load = part.stages[0]?.load
    const packed = load?.model === 'open' && load.shape.kind === 'recorded' ? load.shape.packed : ''
    expect([...unpackArrivals({ packed })]).toEqual([
      { offsetMs: 100, call: 0, caller: 1 },
      { offsetMs: 200, call: 0, caller: 2 },
      { offsetMs: 400, call: 0, caller: 0 },
    ])
    expect(packArrivals(unpackArrivals({ packed }))).toBe(packed)
  })

  test('in a sequence, in its order', () => {
    const part = only(['single', 'unlisted'], {
      list: 'duration: 10s, shape: sequence, calls: [xs, 2 x single, models, unlisted, single]',
    })
    expect(part.stages[0]?.load).toMatchObject({ calls: ['single', 'single', 'unlisted', 'single'] })
  })

  test('and pauses stay only between two stages that send', () => {
    const pause = 'duration: 5s, shape: pause'
    const other = 'duration: 10s, shape: constant, rate: 1/s, mix: { xs: 1 }'
    const own = 'duration: 10s, shape: constant, rate: 1/s, mix: { single: 1 }'
    const part = only(['single'], { a: other, p1: pause, b: own, p2: pause, c: other, d: own, p3: pause })
    expect(part.stages.map(({ name, startMs }) => [name, startMs])).toEqual([
      ['b', 0],
      ['p2', 10_000],
      ['d', 15_000],
    ])
    expect(arrivalsBetween(part.stages[2] as Plan['stages'][number], 0, 10_000)).toBe(10)
  })
})

describe('thresholds', () => {
  const stages = {
    a: `duration: 60s, shape: constant, rate: 4/s, ${mix}`,
    b: 'duration: 60s, shape: constant, rate: 1/s, mix: { xs: 1 }',
    c: 'duration: 60s, shape: constant, rate: 1/s, mix: { single: 1 }',
  }
  const kept = [
    'violations == 0',
    'failed < 1%',
    'dropped <= 3',
    'p(95) latency of single in a < 1s',
    'good of single > 3/s',
    'p(95) latency in c < 1s',
    'sent in c >= 50',
  ]
  const leftOut = [
    'p(95) latency of xs < 1s',
    'p(95) latency < 1s',
    'p(95) latency in b < 1s',
    'failed in b == 0',
    'sent > 100',
    'status(429) > 0',
    'failed > 0',
    'spend < $1',
  ]
  const more = `thresholds:\n${[...kept, ...leftOut].map(each => `  - { expect: ${each}, why: w }\n`).join('')}`

  test('stay if they are about the call, about what is sent in full, or about what must not happen', () => {
    const part = only(['single'], stages, more)
    expect(part.thresholds.map(({ expression }) => expression)).toEqual(kept)
    expect(part.only?.leftOut).toEqual(leftOut)
    expect(describePlan(part)).toMatch(/only +single: sends only single; leaves out p\(95\) latency of xs < 1s, /)
  })

  test('all stay without --only, and none stays if a clause decides', () => {
    expect(only([], stages, more)).toEqual(planOf(stages, { more }))
    const part = only(
      ['rpc.batch.correlation', 'single'],
      { ...stages, d: 'duration: 1s, shape: constant, rate: 1/s, mix: { batch: 1 }' },
      more,
    )
    expect(part.thresholds).toEqual([])
    expect(part.only).toMatchObject({ clauses: ['rpc.batch.correlation'], calls: ['single'] })
  })
})

describe('a clause', () => {
  const stages = { a: 'duration: 60s, shape: constant, rate: 1/s, mix: { xs: 1, single: 1, replay: 1, models: 1 }' }

  test('of RPC responses needs only RPC calls', () => {
    expect(only(['rpc.credits.amount'], stages).only?.calls).toEqual(['single', 'replay'])
  })

  test('of a pattern needs the calls of each', () => {
    expect(only(['rpc.credits.*', 'chat.usage'], stages).only).toMatchObject({ calls: ['xs', 'single', 'replay'] })
  })

  test('about any request needs the whole load, which the plan says', () => {
    const part = only(['header.cf-ray'], stages)
    expect(part.only?.calls).toBeNull()
    expect(part.stages).toEqual(planOf(stages).stages)
    expect(describePlan(part)).toContain('header.cf-ray: sends every call, since any of them may exercise it')
  })

  test('of a probe needs only the probes of its group', () => {
    const calls = '[unlisted, single, filter-method, max-temp-too-high]'
    const part = only(['rpc.unsupported-method'], { list: `duration: 9s, shape: sequence, calls: ${calls}` })
    expect(part.only?.calls).toEqual(['unlisted', 'filter-method'])
  })
})

describe('a mistake', () => {
  const stages = { a: `duration: 60s, shape: constant, rate: 1/s, ${mix}` }
  const told = (names: readonly string[], contract = documentedContract): string => {
    try {
      planOf(stages, { flags: { ...noFlags, only: names }, contract })
    } catch (cause) {
      if (cause instanceof UsageError) return cause.message
      throw cause
    }
    return 'nothing'
  }

  test.each([
    [
      ['singel'],
      /^--only: got "singel", expected a call of worked \(s, xs, .*\), or the id or pattern of a clause; did you mean "single"\?$/,
    ],
    [['rpc.credit.amount'], /did you mean "rpc.credits.amount"\?$/],
    [['xyz.*'], /expected a call of worked \(s, xs, /],
    [['models'], /^--only: got "models", expected a call that a stage of worked sends: xs or single$/],
    [['catalogue.models'], /expected a clause that a call of worked exercises/],
    [['rpc.credits.amount', 'xs'], /expected a clause that a call of worked exercises/],
  ])('in %j is told', (names, message) => {
    expect(told(names)).toMatch(message)
  })

  test('is a clause that is not promised', () => {
    const contract = { ...documentedContract, promises: { only: null, except: ['rpc.credits.*'] } }
    expect(told(['rpc.credits.amount'], contract)).toBe(
      '--only: got "rpc.credits.amount", expected a clause that the profile "documented" promises',
    )
  })
})
