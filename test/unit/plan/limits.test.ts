import { describe, expect, test } from 'vitest'
import { describePlan } from '../../../src/plan/describe-plan.ts'
import { notDiscovered, type PublishedLimits, parseLimits, recordedLimits } from '../../../src/plan/limits.ts'
import type { Plan } from '../../../src/plan/plan.ts'
import { perSecondOf, planOf } from './plan-of.ts'

const small = 'chat:ref-small-24b'
const answered = (perMinute: Readonly<Record<string, number>>): PublishedLimits => ({
  kind: 'answered',
  caller: 'c0',
  perMinute: new Map(Object.entries(perMinute)),
})
const only = { only: 'duration: 60s, shape: constant, rate: 90% of tier, mix: { s: 1 }' }
const planBy = (granted: PublishedLimits, limits = 'target', stages: Readonly<Record<string, string>> = only): Plan =>
  planOf(stages, { granted, callers: `limits-from: ${limits}` })
const limitIn = ({ forecast }: Plan, scope: string) =>
  forecast.limits.find(row => row.stage === 'only' && row.scope === scope)?.limit

describe('rates of tier', () => {
  test('go by what the target grants', () => {
    const plan = planBy(answered({ [small]: 40 }))
    expect(perSecondOf(plan) * 60).toBeCloseTo(0.9 * 40 * 4, 9)
    expect(limitIn(plan, small)).toBe(40)
  })

  test('go by its tokens where these are nearer', () => {
    // 380 tokens a call, as they are counted: ten calls a minute.
    const plan = planBy(answered({ [small]: 40, [`${small} tokens`]: 3_800 }))
    expect(perSecondOf(plan) * 60).toBeCloseTo(0.9 * 10 * 4, 9)
    expect(limitIn(plan, `${small} tokens`)).toBe(3_800)
  })

  test('go by the profile where the scenario says so, whatever the target grants', () => {
    const plan = planBy(answered({ [small]: 40 }), 'profile')
    expect(perSecondOf(plan) * 60).toBeCloseTo(0.9 * 75 * 4, 9)
    expect(limitIn(plan, small)).toBe(75)
  })

  test.each<readonly [string, PublishedLimits]>([
    ['says nothing of that model', answered({ 'chat:another': 1 })],
    ['did not say', { kind: 'failed', caller: 'c0', why: 'it answered with 404' }],
    ['was not asked', { kind: 'not-asked', why: 'a reason' }],
  ])('go by the profile where the target %s', (_, granted) => {
    const plan = planBy(granted)
    expect(perSecondOf(plan) * 60).toBeCloseTo(0.9 * 75 * 4, 9)
    expect(plan.limits.scopes).toContainEqual({ scope: small, profile: 75, target: null, from: 'profile' })
  })

  test('of every shape do so', () => {
    const mix = 'mix: { s: 1 }'
    const plan = planBy(answered({ [small]: 60 }), 'target', {
      ramp: `duration: 9s, shape: ramp, from: 10% of tier, to: 20% of tier, ${mix}`,
      stairs: `duration: 9s, shape: stairs, from: 10% of tier, to: 20% of tier, steps: 2, ${mix}`,
      spike: `duration: 9s, shape: spike, base: 10% of tier, peak: 20% of tier, at: 1s, for: 1s, ${mix}`,
      poisson: `duration: 9s, shape: poisson, rate: 10% of tier, ${mix}`,
      burst: `duration: 9s, shape: burst, size: 10% of tier, ${mix}`,
    })
    expect(plan.stages.map(({ load }) => (load.model === 'open' ? load.shape : null))).toMatchObject([
      { fromPerSecond: 0.4, toPerSecond: 0.8 },
      { fromPerSecond: 0.4, toPerSecond: 0.8 },
      { basePerSecond: 0.4, peakPerSecond: 0.8 },
      { perSecond: 0.4 },
      { size: 24 },
    ])
  })
})

describe('the plan', () => {
  test('says of each limit what both say, and whose it goes by', () => {
    const mix = 'mix: { s: 1, single: 1, image: 1 }'
    const plan = planBy(answered({ [small]: 60, [`${small} tokens`]: 750_000 }), 'target', {
      only: `duration: 60s, shape: constant, rate: 10% of tier, ${mix}`,
    })
    expect(plan.limits).toMatchObject({ by: 'target', request: { kind: 'answered', caller: 'c0' } })
    expect(plan.limits.scopes.filter(({ scope }) => /small|rpc|image/.test(scope))).toEqual([
      { scope: small, profile: 75, target: 60, from: 'target' },
      { scope: `${small} tokens`, profile: 750_000, target: 750_000, from: 'target' },
      { scope: 'rpc', profile: 100, target: null, from: 'profile' },
      { scope: 'image', profile: 20, target: null, from: 'profile' },
    ])
    expect(JSON.parse(JSON.stringify(plan))).toEqual(plan)
  })

  test('prints both, and what differs', () => {
    const text = describePlan(planBy(answered({ [small]: 60, [`${small} tokens`]: 750_000 })))
    expect(text).toContain('limits    of the target, as far as it says: asked as c0, 1 of them not as in the profile\n')
    expect(text).toMatch(/chat:ref-small-24b +75 +60 +the target +differs\n/)
    expect(text).toMatch(/chat:ref-small-24b tokens +750,000 +750,000 +the target\n/)
    expect(text).toMatch(/rpc +100 +– +the profile\n/)
  })

  test('hides no difference where rates go by the profile', () => {
    const text = describePlan(planBy(answered({ [small]: 60 }), 'profile'))
    expect(text).toContain(
      'limits    of the profile, as the scenario wants it: asked as c0, the target says 1 otherwise\n',
    )
    expect(text).toMatch(/chat:ref-small-24b +75 +60 +the profile +differs\n/)
  })

  test('says why nobody knows what the target grants', () => {
    const failed = describePlan(planBy({ kind: 'failed', caller: 'c0', why: 'it answered with 404' }))
    expect(failed).toContain('limits    of the profile: asked as c0, the target did not say (it answered with 404)\n')
    expect(failed).not.toContain('by the target')
  })
})

describe('what a run was granted', () => {
  test.each<PublishedLimits>([
    answered({ [small]: 60, [`${small} tokens`]: 9_000 }),
    { kind: 'failed', caller: 'c0', why: 'it answered with 404' },
  ])('by its plan makes the same plan again: %j', granted => {
    const plan = planBy(granted)
    expect(planBy(recordedLimits(JSON.parse(JSON.stringify(plan.limits))))).toEqual(plan)
  })

  test('by a plan without limits is nothing: nobody was asked then', () => {
    expect(recordedLimits(undefined)).toEqual(notDiscovered)
  })
})

describe('an answer to the question for limits', () => {
  const entry = (apiModelId: unknown, ...rateLimits: readonly unknown[]) => ({ apiModelId, rateLimits })
  const limitsIn = (...rateLimits: readonly unknown[]) => {
    const read = parseLimits({ data: { rateLimits } })
    return read === null ? null : Object.fromEntries(read)
  }
  const requests = (amount: unknown) => ({ type: 'RPM', amount })
  const tokens = (amount: unknown) => ({ type: 'TPM', amount })

  test('gives the requests and the tokens of each model', () => {
    expect(limitsIn(entry('a', requests(20), tokens(500_000)), entry('b', requests(7.5)))).toEqual({
      'chat:a': 20,
      'chat:a tokens': 500_000,
      'chat:b': 7.5,
    })
  })

  test('may say more than is understood', () => {
    const daily = { type: 'RPD', amount: 1_000 }
    const more = { ...entry('a', requests(20), daily), note: 'x' }
    expect(limitsIn(more, { rateLimits: [requests(3)] }, entry('video'), null, 'text')).toEqual({ 'chat:a': 20 })
  })

  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, 6_000_001, '20', null, undefined, {}, [20]])(
    'with a limit of %j says nothing of it',
    amount => {
      expect(limitsIn(entry('a', requests(amount), tokens(9)))).toEqual({ 'chat:a tokens': 9 })
    },
  )

  test.each([
    null,
    'limits',
    [],
    {},
    { data: null },
    { data: { rateLimits: {} } },
    { data: { rateLimits: [] } },
    { data: { rateLimits: [[], 1, { apiModelId: 'a', rateLimits: 'none' }, { apiModelId: 4, rateLimits: [] }] } },
    { rateLimits: [entry('a', requests(1))] },
  ])('that is %j holds no limits', body => {
    expect(parseLimits(body)).toBeNull()
  })

  test('names a model as it likes: one called __proto__ changes nothing', () => {
    const body = JSON.parse(
      '{"data":{"rateLimits":[{"apiModelId":"__proto__","rateLimits":[{"type":"RPM","amount":5}]}]}}',
    )
    expect([...(parseLimits(body) ?? [])]).toEqual([['chat:__proto__', 5]])
  })
})
