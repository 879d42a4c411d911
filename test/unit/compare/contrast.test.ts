import { expect, test } from 'vitest'
import { contrast } from '../../../src/compare/contrast.ts'
import type { Estimate } from '../../../src/compare/estimates.ts'

const estimate = (point: number, variance = 0.0001, freedom = 19): Estimate => ({
  value: point,
  point,
  variance,
  freedom,
})
const floor = 0.02

test('one baseline is as uncertain as the run, by its slices and by the floor', () => {
  const { shift, error } = contrast(estimate(1.1), [estimate(1)], floor)
  expect(shift).toBeCloseTo(0.1, 12)
  expect(error).toBeCloseTo(Math.sqrt(2 * (0.0001 + floor ** 2)), 12)
})

test('several that agree make the mean firmer, and never the run better than the floor', () => {
  const { error } = contrast(
    estimate(1.1),
    [1, 1, 1, 1].map(point => estimate(point)),
    floor,
  )
  expect(error).toBeCloseTo(Math.sqrt((1 + 1 / 4) * (0.0001 + floor ** 2)), 12)
})

test('several that differ by more than the floor say how much runs differ', () => {
  const points = [0.9, 1.1, 0.95, 1.05, 1]
  const { basePoint, error, freedom } = contrast(
    estimate(1.1),
    points.map(point => estimate(point)),
    floor,
  )
  const spread = points.reduce((sum, point) => sum + (point - basePoint) ** 2, 0)
  expect(error).toBeCloseTo(Math.sqrt((1 + 1 / 5) * ((4 * (floor ** 2 + 0.0001) + spread) / 8)), 12)
  expect(freedom).toBe(8)
})

test('a stated floor adds certainty about how uncertain it is', () => {
  const [firm, loose] = [floor, 0].map(noise => contrast(estimate(1.1), [estimate(1)], noise).freedom)
  expect(loose).toBeCloseTo(38, 9)
  expect(firm).toBeGreaterThan(38)
  expect(contrast(estimate(1, 0), [estimate(1, 0)], 0)).toMatchObject({ shift: 0, error: 0, freedom: Infinity })
})

test('a run that is less steady than its baselines is held to its own unsteadiness', () => {
  const steady = contrast(estimate(1.1), [estimate(1)], floor)
  const unsteady = contrast(estimate(1.1, 0.01), [estimate(1)], floor)
  expect(unsteady.error).toBeGreaterThan(3 * steady.error)
})
