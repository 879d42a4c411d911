import { describe, expect, test } from 'vitest'
import { parseProfile } from '../../../src/contract/profile.ts'
import { describePlan } from '../../../src/plan/describe-plan.ts'
import { notDiscovered, type PublishedLimits, recordedLimits } from '../../../src/plan/limits.ts'
import type { Plan } from '../../../src/plan/plan.ts'
import { perSecondOf, planOf } from './plan-of.ts'

const small = 'chat:ref-small-24b'
const answered = (perMinute: Readonly<Record<string, number>>): PublishedLimits => ({
  kind: 'answered',
  caller: 'c0',
  perMinute: new Map(Object.entries(perMinute)),
})
const only = { only: 'duration: 60s, shape: constant, rate: 90% of tier, mix: { s: 1 }' }
const planBy = (
  publishedLimits: PublishedLimits,
  limits = 'target',
  stages: Readonly<Record<string, string>> = only,
): Plan => planOf(stages, { publishedLimits, callers: `limits-from: ${limits}` })
const limitIn = ({ forecast }: Plan, scope: string) =>
  forecast.limits.find(row => row.stage === 'only' && row.scope === scope)?.limit

describe('rates "of tier"', () => {
  test('use the limits of the target', () => {
    const plan = planBy(answered({ [small]: 40 }))
    expect(perSecondOf(plan) * 60).toBeCloseTo(0.9 * 40 * 4, 9)
    expect(limitIn(plan, small)).toBe(40)
  })

  test('use the token limit if it is reached first', () => {
    // 380 estimated tokens per call: ten calls per minute.
    const plan = planBy(answered({ [small]: 40, [`${small} tokens`]: 3_800 }))
    expect(perSecondOf(plan) * 60).toBeCloseTo(0.9 * 10 * 4, 9)
    expect(limitIn(plan, `${small} tokens`)).toBe(3_800)
  })

  test('use the limits of the profile if the scenario requests that', () => {
    const plan = planBy(answered({ [small]: 40 }), 'profile')
    expect(perSecondOf(plan) * 60).toBeCloseTo(0.9 * 75 * 4, 9)
    expect(limitIn(plan, small)).toBe(75)
  })

  test.each<readonly [string, PublishedLimits]>([
    ['publishes no limit of that model', answered({ 'chat:another': 1 })],
    ['did not respond', { kind: 'failed', caller: 'c0', why: 'it responded with 404' }],
    ['got no request', { kind: 'not-asked', why: 'a reason' }],
  ])('use the limits of the profile if the target %s', (_, published) => {
    const plan = planBy(published)
    expect(perSecondOf(plan) * 60).toBeCloseTo(0.9 * 75 * 4, 9)
    expect(plan.limits.scopes).toContainEqual({ scope: small, profile: 75, target: null, from: 'document' })
  })

  test('use the published limits that a profile states, if the target publishes none', () => {
    const profile = `
models: [{ id: acme-1, name: Acme, tier: null, maxCompletionTokens: 500, usdPerMillion: null }]
limits: { published: { 'chat:acme-1': 120 } }
`
    const acme = {
      contract: parseProfile(profile, 'profile.yaml'),
      calls: '\n  ask: { kind: chat, model: acme-1, prompt-tokens: 10, max-completion-tokens: 10 }\n',
    }
    const stages = { only: 'duration: 60s, shape: constant, rate: 50% of tier, mix: { ask: 1 }' }
    const unknown = planOf(stages, { ...acme, count: 1 })
    expect(perSecondOf(unknown) * 60).toBeCloseTo(60, 9)
    expect(describePlan(unknown)).not.toContain('NaN')
    const applied = { scope: 'chat:acme-1', profile: 120, target: null, from: 'profile' }
    expect(unknown.limits.scopes).toContainEqual(applied)
    expect(limitIn(unknown, 'chat:acme-1')).toBe(120)
  })

  test('use them in every shape', () => {
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
  test('states each limit of profile and target, and which applies', () => {
    const mix = 'mix: { s: 1, single: 1, image: 1 }'
    const plan = planBy(answered({ [small]: 60, [`${small} tokens`]: 750_000 }), 'target', {
      only: `duration: 60s, shape: constant, rate: 10% of tier, ${mix}`,
    })
    expect(plan.limits).toMatchObject({ by: 'target', discovery: { kind: 'answered', caller: 'c0' } })
    expect(plan.limits.scopes.filter(({ scope }) => /small|rpc|image/.test(scope))).toEqual([
      { scope: small, profile: 75, target: 60, from: 'target' },
      { scope: `${small} tokens`, profile: 750_000, target: 750_000, from: 'target' },
      { scope: 'rpc', profile: 100, target: null, from: 'default' },
      { scope: 'image', profile: 20, target: null, from: 'document' },
    ])
    expect(JSON.parse(JSON.stringify(plan))).toEqual(plan)
  })

  test('prints both limits, and which differ', () => {
    const text = describePlan(planBy(answered({ [small]: 60, [`${small} tokens`]: 750_000 })))
    expect(text).toContain('limits    from the target (caller c0); 1 differs from the profile\n')
    expect(text).toMatch(/chat:ref-small-24b +75 +60 +the target +differs\n/)
    expect(text).toMatch(/chat:ref-small-24b tokens +750,000 +750,000 +the target\n/)
    expect(text).toMatch(/rpc +100 +– +a default\n/)
  })

  test('prints differences even if rates use the profile', () => {
    const text = describePlan(planBy(answered({ [small]: 60 }), 'profile'))
    expect(text).toContain('limits    from the profile, by "limits-from"; 1 differs at the target (caller c0)\n')
    expect(text).toMatch(/chat:ref-small-24b +75 +60 +the document +differs\n/)
  })

  test('states why the limits of the target are unknown', () => {
    const failed = describePlan(planBy({ kind: 'failed', caller: 'c0', why: 'it responded with 404' }))
    expect(failed).toContain('limits    from the profile: discovery as c0 failed (it responded with 404)\n')
    expect(failed).not.toContain('rates use')
  })
})

describe('recordedLimits', () => {
  test.each<PublishedLimits>([
    answered({ [small]: 60, [`${small} tokens`]: 9_000 }),
    { kind: 'failed', caller: 'c0', why: 'it responded with 404' },
  ])('reproduces the plan from %j', published => {
    const plan = planBy(published)
    expect(planBy(recordedLimits(JSON.parse(JSON.stringify(plan.limits))))).toEqual(plan)
  })

  test('of a plan without limits are not discovered', () => {
    expect(recordedLimits(undefined)).toEqual(notDiscovered)
  })
})
