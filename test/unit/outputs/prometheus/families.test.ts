import { describe, expect, test } from 'vitest'
import type { CapacityResult, TrialResult } from '../../../../src/judge/capacity/result.ts'
import { searchFamilies } from '../../../../src/outputs/prometheus/families.ts'
import { aSearch, aTrial } from '../../report/capacity-results.ts'

/** What is shown of a search with these trials, by name and labels, while a stage is under way. */
function shown(trials: readonly TrialResult[], changes: Partial<CapacityResult> = {}, stage = 'search') {
  const source = {
    capacity: () => [aSearch({ trials, ratePerSecond: null, ...changes })],
    stage: () => ({ name: stage, offeredPerSecond: null }),
  }
  const samples = searchFamilies(source).flatMap(family =>
    family.samples().map(({ labels, value }) => {
      expect(Object.keys(labels)).toEqual(family.labels)
      expect(labels.stage).toBe('search')
      const { stage: _, ...others } = labels
      return [[family.name.slice('turnpike_capacity_'.length), ...Object.values(others)].join(' '), value] as const
    }),
  )
  return Object.fromEntries(samples)
}

const held = (perSecond: number) => aTrial({ offeredPerSecond: perSecond, outcome: 'sustained' })
const broken = (perSecond: number) => aTrial({ offeredPerSecond: perSecond, outcome: 'slo-missed' })

describe('a search that goes on', () => {
  test('has nothing to show before its first answer', () => {
    expect(shown([])).toEqual({})
  })

  test('shows the trial that is under way, and of those before what came of them', () => {
    const underWay = aTrial({ purpose: 'narrow', offeredPerSecond: 28, goodRatio: 0.5, outcome: 'slo-missed' })
    expect(shown([held(10), held(20), broken(40), underWay])).toEqual({
      trial_rate: 28,
      trial_good_ratio: 0.5,
      'trial_info narrow': 1,
      sustained_rate: 20,
      exceeded_rate: 40,
      'trials held': 2,
      'trials too-many-bad': 1,
    })
  })

  test('takes nothing for certain of a trial that is under way', () => {
    expect(Object.keys(shown([broken(10)]))).toEqual(['trial_rate', 'trial_good_ratio', 'trial_info raise'])
  })

  test('has no share of good answers where nothing is due yet', () => {
    expect(shown([aTrial({ goodRatio: null })])).not.toHaveProperty('trial_good_ratio')
  })
})

describe('the rates between which the capacity lies', () => {
  const between = (...trials: readonly TrialResult[]) => {
    const { sustained_rate, exceeded_rate } = shown(trials, {}, '(closing)')
    return [sustained_rate, exceeded_rate]
  }

  test('are open above until one breaks', () => expect(between(held(10), held(20))).toEqual([20, undefined]))
  test('are open below until one holds', () => expect(between(broken(10))).toEqual([undefined, 10]))
  test('close in from both sides', () => {
    expect(between(held(10), held(20), broken(40), broken(28), held(24))).toEqual([24, 28])
  })
  test('fall where what held cannot be confirmed', () => {
    const confirm = aTrial({ purpose: 'confirm', offeredPerSecond: 24, outcome: 'queue-growing' })
    expect(between(held(10), held(20), broken(28), held(24), confirm)).toEqual([20, 24])
  })
  test('go by the second look at a rate', () => expect(between(broken(10), held(10))).toEqual([10, undefined]))
  test('are not moved by what the harness spoiled', () => {
    const late = aTrial({ offeredPerSecond: 20, outcome: 'harness-late' })
    expect(between(held(10), late)).toEqual([10, undefined])
  })
})

describe('a search that is over', () => {
  test('counts its last trial, and shows what was confirmed', () => {
    const confirm = aTrial({ purpose: 'confirm', offeredPerSecond: 20, goodRatio: 0.995 })
    expect(shown([held(20), broken(40), confirm], { ratePerSecond: 20 }, '(closing)')).toEqual({
      rate: 20,
      trial_rate: 20,
      trial_good_ratio: 0.995,
      'trial_info confirm': 1,
      sustained_rate: 20,
      exceeded_rate: 40,
      'trials held': 2,
      'trials too-many-bad': 1,
    })
  })

  test('that confirmed nothing has no capacity', () => {
    expect(shown([broken(10), broken(10)], {}, 'next')).not.toHaveProperty('rate')
  })
})
