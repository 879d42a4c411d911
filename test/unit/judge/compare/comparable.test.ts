import { expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { planDifferences } from '../../../../src/judge/compare/comparable.ts'
import { aPlan, aStage } from '../metrics/fixtures.ts'

const plan = aPlan()
const base = { plan, contract: documentedContract }
const pathsOf = (run: Partial<typeof base>) => planDifferences(base, { ...base, ...run }).map(({ path }) => path)

test('properties that do not affect the results may differ', () => {
  const others = {
    seed: 99,
    target: 'https://staging.example.com/api/v1',
    scenario: 'renamed',
    question: 'Is it?',
    budgetUsd: '1',
    record: 'all',
    thresholds: [],
    profile: 'other',
  } as const
  expect(
    pathsOf({ plan: aPlan(others), contract: { ...documentedContract, name: 'other', headerPrefix: 'x-other-' } }),
  ).toEqual([])
})

test('lists each difference with its path and both values', () => {
  const stages = [
    aStage('steady', 10_000, {
      load: { model: 'open', shape: { kind: 'constant', perSecond: 12 }, mix: [['chat', 1]] },
    }),
  ]
  expect(planDifferences(base, { ...base, plan: aPlan({ stages }) })).toEqual([
    { path: 'stages.steady.load.shape.perSecond', base: '10', run: '12' },
  ])
})

test.each([
  ['a call', aPlan({ calls: { ...plan.calls, more: { kind: 'models' } } }), ['calls.more']],
  [
    'a mix',
    aPlan({
      stages: [
        aStage('steady', 10_000, {
          load: { model: 'open', shape: { kind: 'constant', perSecond: 10 }, mix: [['chat', 2]] },
        }),
      ],
    }),
    ['stages.steady.load.mix.0.1'],
  ],
  ['a duration', aPlan({ stages: [aStage('steady', 20_000)] }), ['stages.steady.durationMs']],
  ['a stage', aPlan({ stages: [...plan.stages, aStage('more', 1)] }), ['stages.more']],
  ['callers', aPlan({ callers: { ...plan.callers, names: ['c0', 'c1'] } }), ['callers.count']],
  ['a tier', aPlan({ callers: { ...plan.callers, accountTier: 'partner' } }), ['callers.tier']],
  ['an SLO', aPlan({ slo: { chat: { ttft: 300 } } }), ['slo.chat']],
  ['a bound', aPlan({ bounds: { ...plan.bounds, maxInFlight: 11 } }), ['limits.maxInFlight']],
] as const)('%s must not differ', (_, other, paths) => {
  expect(pathsOf({ plan: other })).toEqual(paths)
})

test('a price and a limit of the contract must not differ', () => {
  const contract = {
    ...documentedContract,
    rpc: { ...documentedContract.rpc, usdPerCredit: '0.0000008' },
    limits: { ...documentedContract.limits, windowMs: 30_000 },
  }
  expect(pathsOf({ contract })).toEqual(['contract.rpc.usdPerCredit', 'contract.limits.windowMs'])
})
