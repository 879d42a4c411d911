import { describe, expect, test } from 'vitest'
import type { CapacityResult, TrialResult } from '../../../../src/judge/results.ts'
import type { LiveMachine } from '../../../../src/outputs/output.ts'
import { searchFamilies, workerFamilies } from '../../../../src/outputs/prometheus/families.ts'
import { aSearch, aTrial } from '../../report/capacity-results.ts'

/** The samples of a search with these trials, by name and labels, while `stage` is running. */
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

const sustained = (perSecond: number) => aTrial({ offeredPerSecond: perSecond, outcome: 'sustained' })
const exceeded = (perSecond: number) => aTrial({ offeredPerSecond: perSecond, outcome: 'slo-missed' })

describe('a search that is running', () => {
  test('shows nothing before its first response', () => {
    expect(shown([])).toEqual({})
  })

  test('shows the current trial, and the outcomes of the trials before it', () => {
    const current = aTrial({ purpose: 'narrow', offeredPerSecond: 28, goodRatio: 0.5, outcome: 'slo-missed' })
    expect(shown([sustained(10), sustained(20), exceeded(40), current])).toEqual({
      trial_rate: 28,
      trial_good_ratio: 0.5,
      'trial_info narrow': 1,
      sustained_rate: 20,
      exceeded_rate: 40,
      'trials sustained': 2,
      'trials slo-missed': 1,
    })
  })

  test('shows no outcome of the current trial', () => {
    expect(Object.keys(shown([exceeded(10)]))).toEqual(['trial_rate', 'trial_good_ratio', 'trial_info raise'])
  })

  test('has no ratio of good responses while nothing is due', () => {
    expect(shown([aTrial({ goodRatio: null })])).not.toHaveProperty('trial_good_ratio')
  })
})

describe('the rates between which the capacity lies', () => {
  const between = (...trials: readonly TrialResult[]) => {
    const { sustained_rate, exceeded_rate } = shown(trials, {}, '(closing)')
    return [sustained_rate, exceeded_rate]
  }

  test('have no upper bound until one is exceeded', () =>
    expect(between(sustained(10), sustained(20))).toEqual([20, undefined]))
  test('have no lower bound until one is sustained', () => expect(between(exceeded(10))).toEqual([undefined, 10]))
  test('close in from both sides', () => {
    expect(between(sustained(10), sustained(20), exceeded(40), exceeded(28), sustained(24))).toEqual([24, 28])
  })
  test('fall if a sustained rate cannot be confirmed', () => {
    const confirm = aTrial({ purpose: 'confirm', offeredPerSecond: 24, outcome: 'queue-growing' })
    expect(between(sustained(10), sustained(20), exceeded(28), sustained(24), confirm)).toEqual([20, 24])
  })
  test('follow the latest trial of a rate', () => expect(between(exceeded(10), sustained(10))).toEqual([10, undefined]))
  test('ignore a trial that the harness invalidated', () => {
    const late = aTrial({ offeredPerSecond: 20, outcome: 'harness-late' })
    expect(between(sustained(10), late)).toEqual([10, undefined])
  })
})

describe('a search that is over', () => {
  test('counts its last trial, and shows the confirmed rate', () => {
    const confirm = aTrial({ purpose: 'confirm', offeredPerSecond: 20, goodRatio: 0.995 })
    expect(shown([sustained(20), exceeded(40), confirm], { ratePerSecond: 20 }, '(closing)')).toEqual({
      rate: 20,
      trial_rate: 20,
      trial_good_ratio: 0.995,
      'trial_info confirm': 1,
      sustained_rate: 20,
      exceeded_rate: 40,
      'trials sustained': 2,
      'trials slo-missed': 1,
    })
  })

  test('that confirmed nothing has no capacity', () => {
    expect(shown([exceeded(10), exceeded(10)], {}, 'next')).not.toHaveProperty('rate')
  })
})

describe('the workers on other machines', () => {
  const health = { version: '1.0.0', node: '22.1.0', cores: 4, memoryBytes: 8e9, rssBytes: 2e8, usedCores: 1.25 }
  const aWorker = (name: string, state: LiveMachine['state']): LiveMachine => ({
    name,
    state,
    health: { name, ...health },
  })
  const shown = (...workers: readonly LiveMachine[]) =>
    workerFamilies({ machines: () => workers }).flatMap(family =>
      family.samples().map(({ labels, value }) => {
        expect(Object.keys(labels)).toEqual(family.labels)
        return [family.name.slice('turnpike_worker_'.length), Object.values(labels).join(' '), value]
      }),
    )

  test('have series of their own, also if they share a name', () => {
    expect(shown(aWorker('w', 'working'), aWorker('w', 'finished'))).toEqual([
      ['up', 'w 1', 1],
      ['up', 'w 2', 1],
      ['info', 'w 1 1.0.0 22.1.0', 1],
      ['info', 'w 2 1.0.0 22.1.0', 1],
      ['cores', 'w 1', 4],
      ['cores', 'w 2', 4],
      ['used_cores', 'w 1', 1.25],
      ['used_cores', 'w 2', 1.25],
      ['memory_bytes', 'w 1', 8e9],
      ['memory_bytes', 'w 2', 8e9],
      ['resident_memory_bytes', 'w 1', 2e8],
      ['resident_memory_bytes', 'w 2', 2e8],
    ])
  })

  test('show as lost, without what they said last', () => {
    expect(shown(aWorker('w', 'lost'))).toEqual([
      ['up', 'w 1', 0],
      ['info', 'w 1 1.0.0 22.1.0', 1],
    ])
  })

  test('are not known before they claim a shard, and are up before they say how they are', () => {
    const waiting: LiveMachine = { name: null, state: 'waiting', health: null }
    expect(shown(waiting, { name: 'w', state: 'working', health: null })).toEqual([['up', 'w 2', 1]])
  })
})
