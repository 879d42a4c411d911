import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { assertAffordable } from '../../../src/cli/load-plan.ts'
import { documented } from '../../../src/contract/documented.ts'
import { makePlan } from '../../../src/plan/make-plan.ts'
import type { Plan } from '../../../src/plan/plan.ts'
import { parseScenario } from '../../../src/scenario/load-scenario.ts'

describe('what a run may spend', () => {
  const said: string[] = []
  beforeEach(() => {
    said.length = 0
    vi.spyOn(process.stderr, 'write').mockImplementation(text => said.push(`${text}`) > 0)
  })
  afterEach(() => {
    vi.restoreAllMocks()
  })

  const scenario = `
name: spending
callers: { count: 1 }
calls:
  single: { kind: rpc, network: ethereum-mainnet, methods: { eth_call: 1 } }
stages:
  - { name: s, duration: 60s, shape: constant, rate: 1/s, mix: { single: 1 } }
`
  const planFor = (target: string | null, budgetUsd: string | null, more: Partial<Plan> = {}): Plan => ({
    ...makePlan(parseScenario(scenario, 's.yaml', documented), documented, { seed: null, target, budgetUsd }),
    ...more,
  })
  const away = 'https://api.example.com/api/v1'

  test('is 60 calls of 20 credits, at worst', () => {
    expect(planFor(null, null).forecast.worstUsd).toBe('0.00075')
  })

  test.each([null, 'http://127.0.0.1:8402', 'http://[::1]:8402', 'http://localhost:8402'])(
    'is anything at %s: it is nobody’s money',
    target => {
      expect(() => assertAffordable(planFor(target, null))).not.toThrow()
    },
  )

  test('needs a budget anywhere else, and the forecast is shown', () => {
    expect(() => assertAffordable(planFor(away, null))).toThrow(
      '--budget-usd: got nothing, expected a budget, because api.example.com is not on this machine',
    )
    expect(said.join('')).toContain('spending')
  })

  test.each(['http://127.0.0.1.evil.com', 'http://0.0.0.0:8402'])('needs a budget at %s', target => {
    expect(() => assertAffordable(planFor(target, null))).toThrow('expected a budget')
  })

  test('may be all of the budget and not a pico-dollar more', () => {
    expect(() => assertAffordable(planFor(away, '0.00075'))).not.toThrow()
    expect(() => assertAffordable(planFor(away, '0.000749999999'))).toThrow(
      'budget: got $0.000749999999, expected at least $0.00075, the forecast at worst',
    )
  })

  test('is held to a budget on this machine, too', () => {
    expect(() => assertAffordable(planFor(null, '0.0001'))).toThrow('the forecast at worst')
  })

  test('is refused where a price is not known: no budget could be kept', () => {
    const { forecast } = planFor(away, '5')
    const plan = planFor(away, '5', { forecast: { ...forecast, worstUsd: null } })
    expect(() => assertAffordable(plan)).toThrow('a model without a known price')
    expect(() => assertAffordable({ ...plan, target: null })).not.toThrow()
  })
})
