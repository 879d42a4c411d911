import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { assertWithinBudget } from '../../../src/library/draft.ts'
import { makePlan } from '../../../src/plan/make-plan.ts'
import type { Plan } from '../../../src/plan/plan.ts'
import { parseScenario } from '../../../src/scenario/load-scenario.ts'

describe('assertWithinBudget', () => {
  const scenario = `
name: spending
callers: { count: 1 }
calls:
  single: { kind: rpc, network: ethereum-mainnet, methods: { eth_call: 1 } }
stages:
  - { name: s, duration: 60s, shape: constant, rate: 1/s, mix: { single: 1 } }
`
  const planFor = (target: string | null, budgetUsd: string | null, more: Partial<Plan> = {}): Plan => ({
    ...makePlan(parseScenario(scenario, 's.yaml', documentedContract), documentedContract, {
      seed: null,
      target,
      budgetUsd,
    }),
    ...more,
  })
  const final = { isDraft: false }
  const remote = 'https://api.example.com/api/v1'

  test('compares the worst case: here 60 calls of 20 credits', () => {
    expect(planFor(null, null).forecast.worstUsd).toBe('0.00075')
  })

  test.each([null, 'http://127.0.0.1:8402', 'http://[::1]:8402', 'http://localhost:8402'])(
    'needs no budget at %s',
    target => {
      expect(() => assertWithinBudget(planFor(target, null), final)).not.toThrow()
    },
  )

  test('needs a budget for any other host, and passes on the plan, which shows one', () => {
    const message = '--budget-usd: got nothing, expected a budget, because api.example.com is not on this machine'
    const refused: unknown[] = []
    const onRefused = (...seen: unknown[]) => void refused.push(...seen)
    const plan = planFor(remote, null)
    expect(() => assertWithinBudget(plan, final, onRefused)).toThrow(message)
    expect(refused).toEqual([plan, expect.stringContaining(message)])
    expect(() => assertWithinBudget(planFor(remote, '0.0001'), final, onRefused)).toThrow()
    expect(refused).toHaveLength(2)
  })

  test.each(['http://127.0.0.1.evil.com', 'http://0.0.0.0:8402'])('needs a budget for %s', target => {
    expect(() => assertWithinBudget(planFor(target, null), final)).toThrow('expected a budget')
  })

  test('accepts a worst case equal to the budget, and nothing above', () => {
    expect(() => assertWithinBudget(planFor(remote, '0.00075'), final)).not.toThrow()
    expect(() => assertWithinBudget(planFor(remote, '0.000749999999'), final)).toThrow(
      'budget: got $0.000749999999, expected at least $0.00075, the worst case of the forecast',
    )
  })

  test('enforces a budget on this machine too', () => {
    expect(() => assertWithinBudget(planFor(null, '0.0001'), final)).toThrow('the worst case of the forecast')
  })

  test('says what a budget elsewhere must cover', () => {
    expect(() => assertWithinBudget(planFor(remote, null), final)).toThrow(
      '--budget-usd: got nothing, expected a budget, because api.example.com is not on this machine; the worst case of the forecast is $0.00075',
    )
  })

  test('refuses an unknown price, since the budget could not be enforced', () => {
    const { forecast } = planFor(remote, '5')
    const plan = planFor(remote, '5', { forecast: { ...forecast, worstUsd: null } })
    expect(() => assertWithinBudget(plan, final)).toThrow(
      'forecast: got a call without a known price, expected its price in the profile, so that the budget can be enforced, or --budget-usd unlimited',
    )
    expect(() => assertWithinBudget(plan, { isDraft: true })).not.toThrow()
    expect(() => assertWithinBudget({ ...plan, target: null }, final)).not.toThrow()
  })
})
