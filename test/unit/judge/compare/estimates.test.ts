import { describe, expect, test } from 'vitest'
import {
  estimateMean,
  estimatePercentile,
  estimateRate,
  estimateShare,
  positionMs,
  quantilePosition,
  sumBuckets,
} from '../../../../src/judge/compare/estimates.ts'
import type { Slice } from '../../../../src/judge/metrics/slices.ts'
import { type Simulated, simulatedRun } from './simulated-run.ts'

const slicesOf = (options: Partial<Simulated> = {}): readonly Slice[] =>
  simulatedRun({ seed: 1, ...options }).slices.calls[0]?.slices ?? []
const latency = (slices: readonly Slice[], percent: number) => estimatePercentile(slices, 'latency', percent)
const variance = (values: readonly number[]) => {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1)
}

describe('a percentile', () => {
  test('has its share of the values below it', () => {
    // Log-normal with median 100 and sigma 0.3, of very many values.
    const slices = slicesOf({ count: 100_000, lateMs: 0 })
    expect(latency(slices, 50)?.value).toBeCloseTo(100, 0)
    expect((latency(slices, 95)?.value ?? 0) / 100).toBeCloseTo(Math.exp(0.3 * 1.645), 1)
  })

  test('varies from run to run as one run estimates', () => {
    const runs = Array.from({ length: 150 }, (_, seed) => slicesOf({ seed, count: 1_000 }))
    for (const percent of [50, 95]) {
      const estimates = runs.map(slices => latency(slices, percent)).filter(estimate => estimate !== null)
      const estimated = estimates.reduce((sum, each) => sum + each.variance, 0) / estimates.length
      const ratio = estimated / variance(estimates.map(({ point }) => point))
      expect(ratio).toBeGreaterThan(0.7)
      expect(ratio).toBeLessThan(1.8)
    }
  })

  test('is less certain if values close in time are alike, however many', () => {
    const wavy = slicesOf({ count: 20_000, drift: dueMs => 1 + 0.2 * Math.sin(dueMs / 9_000) })
    const even = slicesOf({ count: 20_000 })
    expect(latency(wavy, 50)?.variance).toBeGreaterThan(20 * (latency(even, 50)?.variance ?? 1))
  })

  test('has no value for too few values, or for values in too few slices', () => {
    expect(latency(slicesOf({ count: 298 }), 99)).toBeNull()
    expect(latency(slicesOf({ count: 299 }), 99)).not.toBeNull()
    const fewSlices = slicesOf().filter((_, index) => index < 3)
    expect(latency(fewSlices, 50)).toBeNull()
  })

  test('is interpolated within its bucket', () => {
    const cells = [
      [10, 4],
      [20, 4],
    ] as const
    expect(quantilePosition(cells, 0.25)).toBe(10.5)
    expect(quantilePosition(cells, 0.75)).toBe(20.5)
    expect(positionMs(1280)).toBe(2 ** 10 / 1000)
    expect(sumBuckets([cells, [[20, 1]]])).toEqual([
      [10, 4],
      [20, 5],
    ])
  })
})

describe('a rate, a share and a price', () => {
  test('use all slices', () => {
    const slices = slicesOf({ count: 1_200 })
    expect(estimateRate(slices, ({ answered }) => answered)?.value).toBeCloseTo(10, 9)
    const half = estimateShare(
      slices,
      ({ answered }) => answered / 2,
      ({ sent }) => sent,
    )
    expect(half?.value).toBeCloseTo(0.5, 9)
    const price = estimateMean(
      slices,
      ({ succeeded }) => 3 * succeeded,
      ({ succeeded }) => succeeded,
    )
    expect(price).toMatchObject({ value: 3, variance: 0 })
  })

  test('of nothing are 0, with a variance', () => {
    const slices = slicesOf()
    const none = estimateShare(
      slices,
      () => 0,
      ({ sent }) => sent,
    )
    expect(none?.value).toBe(0)
    expect(none?.variance).toBeGreaterThan(0)
    expect(estimateRate(slices, () => 0)).toMatchObject({ value: 0, variance: 2 })
  })
})
