import { describe, expect, test } from 'vitest'
import { byExcess, byRank, testRanks } from '../../../../src/judge/compare/estimates.ts'
import type { BucketCounts } from '../../../../src/judge/metrics/slices.ts'
import { tSurvival } from '../../../../src/lib/statistics/student-t.ts'

/** A slice for each value. */
const apart = (...buckets: readonly number[]): readonly BucketCounts[] => buckets.map(bucket => [[bucket, 1]])
const normal = (z: number) => tSurvival(z, Number.POSITIVE_INFINITY)

describe('ranks', () => {
  test('give the statistic of Wilcoxon, with its variance and its correction for continuity', () => {
    // Ranks 2, 4, 5 of 6: their sum is 11, its mean 10.5, its variance 3 · 3 · 7 / 12.
    const chances = testRanks(apart(20, 40, 50), apart(10, 30, 60), byRank)
    expect(chances?.ofHigher).toBeCloseTo(normal((0.5 - 0.5) / Math.sqrt(5.25)), 6)
    expect(chances?.ofLower).toBeCloseTo(normal((-0.5 - 0.5) / Math.sqrt(5.25)), 6)
  })

  test('share the mean rank among equal values, so that ties prove nothing', () => {
    expect(testRanks(apart(7, 7, 7, 7), apart(7, 7, 7, 7), byRank)).toEqual({ ofHigher: 0.5, ofLower: 0.5 })
    const tied = testRanks(apart(7, 7, 7, 9), apart(7, 7, 7, 7), byRank)
    expect(tied?.ofHigher).toBeGreaterThan(0.15)
  })

  test('are certain of times that are all longer, and close to the exact probability', () => {
    const low = Array.from({ length: 8 }, (_, index) => index)
    const high = low.map(bucket => bucket + 100)
    const chance = testRanks(apart(...high), apart(...low), byRank)?.ofHigher
    // Exactly one of 12,870 orders.
    expect(chance).toBeGreaterThan(1 / 12_870)
    expect(chance).toBeLessThan(10 / 12_870)
  })

  test('take the values of one slice for one observation if they are alike', () => {
    const alike = (bucket: number): BucketCounts => [[bucket, 25]]
    const run = [alike(10), alike(30), alike(50), alike(70)]
    const base = [alike(5), alike(25), alike(45), alike(65)]
    expect(testRanks(run, base, byRank)?.ofHigher).toBeGreaterThan(0.2)
    const spread = (slices: readonly BucketCounts[]) => slices.map(() => slices.flat())
    expect(testRanks(spread(run), spread(base), byRank)?.ofHigher).toBeLessThan(0.05)
  })

  test('compare with shifted baselines', () => {
    const values = Array.from({ length: 20 }, (_, index) => index * 3)
    expect(testRanks(apart(...values), apart(...values), byRank, 128)?.ofLower).toBeLessThan(1e-6)
    expect(testRanks(apart(...values), apart(...values), byRank, -128)?.ofHigher).toBeLessThan(1e-6)
  })

  test('say nothing if a side has no value', () => {
    expect(testRanks([], apart(1, 2), byRank)).toBeNull()
    expect(testRanks(apart(1, 2), [], byRank)).toBeNull()
  })
})

test('the excess over a percentile counts values in the tail, and not how far out they are', () => {
  const usual = Array.from({ length: 57 }, (_, index) => index)
  const few = testRanks(apart(...usual, 900, 901, 902, 903), apart(...usual, 900, 901), byExcess(95))
  expect(few?.ofHigher).toBeGreaterThan(0.1)
  const far = testRanks(apart(...usual, 2_900, 2_901, 2_902, 2_903), apart(...usual, 900, 901), byExcess(95))
  expect(far?.ofHigher).toBeCloseTo(few?.ofHigher ?? 0, 1)
  const many = Array.from({ length: 30 }, (_, index) => 900 + index)
  expect(testRanks(apart(...usual, ...many), apart(...usual, ...usual), byExcess(80))?.ofHigher).toBeLessThan(1e-4)
})
