import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { createMetrics } from '../../../../src/judge/metrics/request-stats.ts'
import { createSeries } from '../../../../src/judge/metrics/series.ts'
import { createSlices } from '../../../../src/judge/metrics/slices.ts'
import { createStageClock } from '../../../../src/judge/metrics/stage-clock.ts'
import type { Observation } from '../../../../src/observation/observation.ts'
import { anObservation, aPlan, aStage, failed } from './fixtures.ts'

/** A sequence that is planned for 10 s, and may take up to 40 s; then a stage of 20 s. */
const plan = aPlan({
  stages: [
    aStage('once', 10_000, { load: { model: 'sequence', calls: ['chat'], atMostMs: 40_000 } }),
    aStage('steady', 20_000, { startMs: 10_000 }),
  ],
})

const clockOf = (observations: readonly Observation[]) => {
  const clock = createStageClock(plan)
  for (const each of observations) clock.add(each)
  return [clock.timeOf('once'), clock.timeOf('steady')]
}
/** The sequence starts at 1 s and ends at this instant. */
const once = (endMs: number) => [
  anObservation({ stage: 'once', dueMs: 1_000, sentMs: 1_000, endMs: 1_500 }),
  anObservation({ stage: 'once', dueMs: 3_000, sentMs: 3_000, endMs }),
]

describe('the time of a stage', () => {
  test('is as planned after a sequence that ended in time', () => {
    expect(clockOf(once(9_000))).toEqual([
      { startMs: 1_000, endMs: 11_000 },
      { startMs: 11_000, endMs: 31_000 },
    ])
  })

  test('is later after a sequence that took longer', () => {
    expect(clockOf(once(26_000))).toEqual([
      { startMs: 1_000, endMs: 26_000 },
      { startMs: 26_000, endMs: 46_000 },
    ])
  })

  test('is no later than the end of a sequence that was cut off', () => {
    expect(clockOf(once(55_000))[1]).toEqual({ startMs: 41_000, endMs: 61_000 })
  })

  test('does not depend on requests of the stage before that end in it', () => {
    const late = anObservation({ stage: 'steady', dueMs: 30_000, sentMs: 30_000, endMs: 90_000 })
    expect(clockOf([...once(9_000), late])[1]).toEqual({ startMs: 11_000, endMs: 31_000 })
  })

  test('is the same from several workers', () => {
    const merged = createStageClock(plan)
    for (const each of once(26_000)) {
      const part = createStageClock(plan)
      part.add(each)
      merged.merge(part.snapshot())
    }
    expect([merged.timeOf('once'), merged.timeOf('steady')]).toEqual(clockOf(once(26_000)))
  })
})

describe('after a sequence that took 15 s longer than planned', () => {
  const steady = Array.from({ length: 20 }, (_, second) =>
    anObservation({ stage: 'steady', dueMs: 26_000 + second * 1_000, endMs: 26_100 + second * 1_000 }),
  )
  const observations = [...once(26_000), ...steady]

  test('charts show the next stage where it was', () => {
    const series = createSeries(plan)
    for (const each of observations) series.add(each)
    expect(series.series().stages).toEqual([
      { name: 'once', startMs: 1_000, endMs: 26_000 },
      { name: 'steady', startMs: 26_000, endMs: 46_000 },
    ])
  })

  test('comparisons have all requests in slices that cover the stages', () => {
    const slices = createSlices(plan, documentedContract)
    for (const each of observations) slices.add(each)
    const cells = slices
      .slices()
      .calls.map(({ stage, slices: all }) => [
        stage,
        all.reduce((sum, { sent }) => sum + sent, 0),
        all.reduce((sum, { activeMs }) => sum + activeMs, 0),
      ])
    expect(cells).toEqual([
      ['once', 2, 25_000],
      ['steady', 20, 20_000],
    ])
  })

  test('comparisons have each request of a sequence with more slices than a stage may have', () => {
    const slices = createSlices(plan, documentedContract)
    for (let dueMs = 1_000; dueMs < 40_000; dueMs += 500)
      slices.add(anObservation({ stage: 'once', dueMs, endMs: dueMs + 100 }))
    const all = slices.slices().calls[0]?.slices ?? []
    expect(all).toHaveLength(22)
    expect(all.reduce((sum, { sent }) => sum + sent, 0)).toBe(78)
  })

  test('rates count the time that it took, and in a run that ended early only what passed of a stage', () => {
    const metrics = createMetrics(plan)
    for (const each of observations) metrics.add(each)
    const activeMs = (stage: string, elapsedMs: number | null) =>
      metrics.activeMs({ call: null, stage }, { complete: elapsedMs === null, elapsedMs: elapsedMs ?? 0 })
    expect([activeMs('once', null), activeMs('steady', null)]).toEqual([25_000, 20_000])
    expect([activeMs('once', 30_000), activeMs('steady', 30_000)]).toEqual([25_000, 4_000])
  })

  test('a failed request that Turnpike cancelled does not count as the end of the load', () => {
    const metrics = createMetrics(plan)
    for (const each of [...observations, failed({ stage: 'steady', dueMs: 45_000, endMs: 80_000 })]) metrics.add(each)
    expect(metrics.stages.timeOf('steady').endMs).toBe(46_000)
  })
})
