import { describe, expect, test } from 'vitest'
import type { Estimate } from '../../../../src/judge/compare/estimates.ts'
import { benjaminiHochberg, estimateEffect } from '../../../../src/judge/compare/significance.ts'
import { tQuantile, tSurvival } from '../../../../src/lib/statistics/student-t.ts'

const estimate = (point: number, variance = 0.0001, freedom = 19): Estimate => ({
  value: point,
  point,
  variance,
  freedom,
})
const floor = 0.02

test('one baseline has the same uncertainty as the run: its slices and the floor', () => {
  const { shift, error } = estimateEffect(estimate(1.1), [estimate(1)], floor)
  expect(shift).toBeCloseTo(0.1, 12)
  expect(error).toBeCloseTo(Math.sqrt(2 * (0.0001 + floor ** 2)), 12)
})

test('several equal baselines reduce the error of their mean, but not that of the run', () => {
  const { error } = estimateEffect(
    estimate(1.1),
    [1, 1, 1, 1].map(point => estimate(point)),
    floor,
  )
  expect(error).toBeCloseTo(Math.sqrt((1 + 1 / 4) * (0.0001 + floor ** 2)), 12)
})

test('baselines that differ by more than the floor define the noise', () => {
  const points = [0.9, 1.1, 0.95, 1.05, 1]
  const { basePoint, error, freedom } = estimateEffect(
    estimate(1.1),
    points.map(point => estimate(point)),
    floor,
  )
  const spread = points.reduce((sum, point) => sum + (point - basePoint) ** 2, 0)
  expect(error).toBeCloseTo(Math.sqrt((1 + 1 / 5) * ((4 * (floor ** 2 + 0.0001) + spread) / 8)), 12)
  expect(freedom).toBe(8)
})

test('the floor adds degrees of freedom', () => {
  const [firm, loose] = [floor, 0].map(noise => estimateEffect(estimate(1.1), [estimate(1)], noise).freedom)
  expect(loose).toBeCloseTo(38, 9)
  expect(firm).toBeGreaterThan(38)
  expect(estimateEffect(estimate(1, 0), [estimate(1, 0)], 0)).toMatchObject({ shift: 0, error: 0, freedom: Infinity })
})

test('a run less steady than its baselines has its own, larger error', () => {
  const steady = estimateEffect(estimate(1.1), [estimate(1)], floor)
  const unsteady = estimateEffect(estimate(1.1, 0.01), [estimate(1)], floor)
  expect(unsteady.error).toBeGreaterThan(3 * steady.error)
})

const significant = (chances: readonly number[]) => benjaminiHochberg(chances, chance => chance, 0.05)

describe('the significant ones of many tests', () => {
  test('exclude one that would be significant only if it were alone', () => {
    const others = Array.from({ length: 19 }, (_, index) => 0.1 + index / 25)
    expect(significant([0.04])).toEqual([0.04])
    expect(significant([0.04, ...others])).toEqual([])
    expect(significant([...others, 0.002])).toEqual([0.002])
  })

  test('include many that support each other', () => {
    expect(significant([0.04, 0.03, 0.045, 0.02])).toEqual([0.02, 0.03, 0.04, 0.045])
  })

  test('match the published example', () => {
    // Benjamini and Hochberg 1995: of these fifteen, the first four.
    const chances = [
      0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.324, 0.4262, 0.5719, 0.6528, 0.759, 1,
    ]
    expect(significant(chances)).toEqual(chances.slice(0, 4))
  })

  test('are none of none', () => expect(significant([])).toEqual([]))
})

describe("Student's t", () => {
  // From printed tables: degrees of freedom, the tail on one side, the value.
  test.each([
    [1, 0.05, 6.3138],
    [2, 0.025, 4.3027],
    [4, 0.05, 2.1318],
    [10, 0.005, 3.1693],
    [30, 0.05, 1.6973],
    [120, 0.025, 1.9799],
    [Number.POSITIVE_INFINITY, 0.05, 1.6449],
    [Number.POSITIVE_INFINITY, 0.0005, 3.2905],
  ])('with %d degrees of freedom exceeds its table value with probability %d', (freedom, tail, value) => {
    expect(tQuantile(tail, freedom)).toBeCloseTo(value, 3)
    expect(tSurvival(value, freedom)).toBeCloseTo(tail, 5)
  })

  test('matches the closed forms for one and two degrees of freedom', () => {
    for (const t of [0, 0.3, 1, 2.5, 40]) {
      expect(tSurvival(t, 1)).toBeCloseTo(0.5 - Math.atan(t) / Math.PI, 12)
      expect(tSurvival(t, 2)).toBeCloseTo(0.5 - t / (2 * Math.sqrt(2 + t * t)), 12)
    }
  })

  test('is symmetric, and between its neighbors for fractional degrees of freedom', () => {
    expect(tSurvival(-1.7, 5) + tSurvival(1.7, 5)).toBeCloseTo(1, 12)
    expect(tSurvival(2, 3.5)).toBeLessThan(tSurvival(2, 3))
    expect(tSurvival(2, 3.5)).toBeGreaterThan(tSurvival(2, 4))
    expect(tSurvival(Number.POSITIVE_INFINITY, 3)).toBe(0)
  })
})
