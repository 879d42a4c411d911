import { describe, expect, test } from 'vitest'
import type { Contract } from '../../../src/contract/contract.ts'
import { documentedContract } from '../../../src/contract/documented.ts'
import { pico } from '../../../src/lib/money.ts'
import { reservedPicoUsd } from '../../../src/plan/cost.ts'
import type { Plan } from '../../../src/plan/plan.ts'
import { planOf } from './plan-of.ts'

const requestsOf = (stage: string) => planOf({ only: stage }).forecast.requests
const limit = (plan: Plan, stage: string, scope: string) =>
  plan.forecast.limits.find(row => row.stage === stage && row.scope === scope)

describe('expected requests', () => {
  test.each([
    ['of a constant rate are rate times time', 'duration: 10s, shape: constant, rate: 3/s, mix: { s: 1 }', 30],
    ['of poisson arrivals are their mean', 'duration: 30s, shape: poisson, rate: 20/m, mix: { s: 1 }', 10],
    ['of a ramp are the area under it', 'duration: 10s, shape: ramp, from: 1/s, to: 4/s, mix: { s: 1 }', 25],
    ['of a falling ramp too', 'duration: 10s, shape: ramp, from: 4/s, to: 0.5/s, mix: { s: 1 }', 22.5],
    ['of stairs are their levels', 'duration: 8s, shape: stairs, from: 1/s, to: 4/s, steps: 4, mix: { s: 1 }', 20],
    [
      'of a spike are its base, its peak and half of its ramps',
      'duration: 60s, shape: spike, base: 20/m, peak: 100/m, at: 20s, for: 9s, ramp-up: 3s, ramp-down: 3s, mix: { s: 1 }',
      20 + 12 + 4,
    ],
    ['of one burst are its size', 'duration: 5s, shape: burst, size: 12, mix: { s: 1 }', 12],
    ['of bursts are all that start in the stage', 'duration: 5s, shape: burst, size: 4, every: 2s, mix: { s: 1 }', 12],
    ['do not count a burst that is due at the end', 'duration: 4s, shape: burst, size: 4, every: 2s, mix: { s: 1 }', 8],
    ['of a pause are none', 'duration: 4s, shape: pause', 0],
    [
      'of a sequence are its calls for each caller',
      'duration: 4s, shape: sequence, callers: 3, calls: [s, models, s]',
      9,
    ],
    ['of closed users are their maximum', 'duration: 5s, shape: closed, users: 8, think: 100ms, mix: { s: 1 }', 400],
    [
      'of users without think time assume responses after 10 ms',
      'duration: 1s, shape: closed, users: 2, mix: { s: 1 }',
      200,
    ],
    ['of replays count every repetition', 'duration: 20s, shape: constant, rate: 1/s, mix: { replay: 1 }', 75],
  ])('%s', (_, stage, requests) => {
    expect(requestsOf(stage)).toBe(Math.round(requests))
  })

  test('are split by weight and add up to the total', () => {
    const { forecast } = planOf({
      only: 'duration: 10s, shape: constant, rate: 4/s, mix: { s: 3, batch: 1, models: 4 }',
    })
    expect(forecast.calls.map(({ call, requests }) => [call, requests])).toEqual([
      ['s', 15],
      ['batch', 5],
      ['models', 20],
    ])
    expect(forecast.requests).toBe(40)
  })
})

describe('expected credits', () => {
  const creditsOf = (mix: string, contract: Contract = documentedContract) =>
    planOf({ only: `duration: 10s, shape: constant, rate: 1/s, mix: { ${mix} }` }, { contract }).forecast.credits

  test('of a batch are the mean price of its good items and the price of its failing ones', () => {
    // eth_call costs 20, debug_traceCall 40: the mean of 3 to 1 is 25. Nine good items and one failed: 9 · 25 + 5 = 230.
    expect(creditsOf('batch: 1')).toBe(2_300)
  })

  test('of a failing single call are the full price unless the profile says otherwise', () => {
    expect(creditsOf('single: 1')).toBe(200)
    const discounted = { ...documentedContract, rpc: { ...documentedContract.rpc, singleErrorIsDiscounted: true } }
    // 0.9 · 20 + 0.1 · 5 = 18.5.
    expect(creditsOf('single: 1', discounted)).toBe(185)
  })

  test('of a replay are those of the original and of the other caller', () => {
    // (1 + 0.5) · 20 = 30.
    expect(creditsOf('replay: 1')).toBe(300)
  })

  test('of a late repeat count twice if its key has expired', () => {
    const again = 'duration: 10s, shape: constant, rate: 1/s, mix: { again: 1 }'
    const contract = { ...documentedContract, idempotency: { ...documentedContract.idempotency, ttlMs: 4_000 } }
    expect(planOf({ only: again }).forecast).toMatchObject({ credits: 200, requests: 20 })
    expect(planOf({ only: again }, { contract }).forecast).toMatchObject({ credits: 400, requests: 20 })
  })

  test('of a probe are those of the most expensive call, or none if it must be refused', () => {
    const plan = planOf({
      only: 'duration: 1s, shape: sequence, callers: 1, calls: [batch-too-long, key-of-one-character]',
    })
    // 30 · 4 = 120.
    expect(plan.forecast).toMatchObject({ credits: 120, worstUsd: '0.000075' })
  })

  test('of chat and lists are none', () => {
    expect(creditsOf('s: 1, models: 1')).toBe(0)
  })
})

describe('the maximum cost', () => {
  const worstOf = (mix: string, contract: Contract = documentedContract) =>
    planOf({ only: `duration: 10s, shape: constant, rate: 1/s, mix: { ${mix} }` }, { contract }).forecast.worstUsd

  test('of searching and scraping adds a search and every page to the tokens', () => {
    expect(Number(worstOf('scraping: 1')) - Number(worstOf('xs: 1'))).toBeCloseTo(10 * 6 * 0.01, 9)
    const search = { ...documentedContract.chat.search, usdPerLookup: null }
    const open = { ...documentedContract, chat: { ...documentedContract.chat, search } }
    expect(worstOf('scraping: 1', open)).toBeNull()
    expect(worstOf('xs: 1', open)).not.toBeNull()
  })

  test('of a chat call assumes 5 % and 50 more prompt tokens, and the longest completion', () => {
    // 260 tokens at $0.50 and 120 at $2 per million are $0.00013 + $0.00024 per call.
    expect(worstOf('s: 1')).toBe('0.0037')
  })

  test('of RPC calls is their credits at the list price', () => {
    // 2,300 credits at $0.000000625.
    expect(worstOf('batch: 1')).toBe('0.0014375')
  })

  test('of a mix is the sum', () => {
    expect(worstOf('s: 1, batch: 1')).toBe('0.00256875')
  })

  test('is unknown only if a model in use has no price', () => {
    const models = documentedContract.models.map(model =>
      model.tier === 'S' ? { ...model, id: `${model.id}-of-others`, usdPerMillion: null } : model,
    )
    expect(worstOf('s: 1', { ...documentedContract, models })).toBeNull()
    expect(worstOf('xs: 1', { ...documentedContract, models })).not.toBeNull()
  })
})

describe('the provable percentile', () => {
  const provableOf = (size: number) =>
    planOf({ a: `duration: 1s, shape: burst, size: ${size}, mix: { models: 1 }` }).forecast.calls[0]?.provablePercentile

  test.each([
    [4, null],
    [5, 50],
    [28, 50],
    [29, 90],
    [58, 90],
    [59, 95],
    [298, 95],
    [299, 99],
    [2_994, 99],
    [2_995, 99.9],
  ])('of %i samples is %s', (size, percentile) => {
    expect(provableOf(size)).toBe(percentile)
  })
})

describe('resources', () => {
  const stage = 'duration: 60s, shape: sequence, callers: 1, calls: [image, image, video, characters]'

  test('use the limit of their kind, and cost at most what the contract states', () => {
    const plan = planOf({ only: stage })
    expect(limit(plan, 'only', 'image')).toMatchObject({ perMinute: 2, limit: 20 })
    expect(limit(plan, 'only', 'video-queue')).toMatchObject({ limit: 40 })
    expect(plan.forecast.limits).toHaveLength(4)
    expect(plan.forecast.worstUsd).toBe('5.5')
  })

  test('without a known price make the cost unknown', () => {
    const { image } = documentedContract.resources
    if (image === undefined) throw new Error('no image')
    const contract = {
      ...documentedContract,
      resources: { ...documentedContract.resources, image: { ...image, worstUsd: null } },
    }
    expect(planOf({ only: stage }, { contract }).forecast.worstUsd).toBeNull()
  })

  test('without a documented limit have no row of limits', () => {
    const none = { ...documentedContract.resourceLimits.default, 'video-queue': null }
    const contract = { ...documentedContract, resourceLimits: { ...documentedContract.resourceLimits, default: none } }
    expect(limit(planOf({ only: stage }, { contract }), 'only', 'video-queue')).toBeUndefined()
  })
})

test('a resource without a stated price reserves that of the dearest one of the reference service', () => {
  const [name = '', resource] = Object.entries(documentedContract.resources)[0] ?? []
  if (resource === undefined) throw new Error('no resource')
  const contract = { ...documentedContract, resources: { [name]: { ...resource, worstUsd: null } } }
  const call = { kind: 'resource', resource: name, draws: resource.draws, body: {}, page: null, limit: null } as const
  expect(reservedPicoUsd(call, contract)).toEqual({ arrival: pico('5'), request: pico('5') })
})
