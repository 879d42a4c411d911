import { expect, test } from 'vitest'
import { createStallStats, mergeStalls } from '../../../../src/judge/metrics/stall-stats.ts'
import { anObservation, streamed } from './fixtures.ts'

const stalled = (longestMs: number) => streamed({}, { stalls: { count: 2, longestMs } })

test('a stall counts once for a response, for two gaps, and for its share of each token', () => {
  const { stats, add } = createStallStats()
  for (const o of [stalled(40), anObservation({ stalls: { count: 1, longestMs: 10 } }), anObservation()]) add(o)
  expect(stats.longest.count()).toBe(2)
  expect(stats.longest.maxMs()).toBe(40)
  expect(stats.gaps).toBe(6)
  expect(stats.fewestSteps).toBe(4)
  expect(stats.perToken.maxMs()).toBe(10)
})

test('the stalls of several workers add up', () => {
  const [one, other, merged] = [createStallStats(), createStallStats(), createStallStats()]
  one.add(stalled(40))
  other.add(stalled(80))
  for (const { snapshot } of [one, other]) merged.merge(snapshot())
  for (const stats of [merged.stats, mergeStalls([one.stats, other.stats])]) {
    expect(stats.longest.count()).toBe(2)
    expect(stats.longest.maxMs()).toBe(80)
    expect(stats.gaps).toBe(8)
    expect(stats.fewestSteps).toBe(4)
  }
})
