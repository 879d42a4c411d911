import { describe, expect, test } from 'vitest'
import { tailValue, upperTail } from '../../../src/compare/student-t.ts'

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
  ])('with %d degrees of freedom exceeds its table value in %d of all cases', (freedom, tail, value) => {
    expect(tailValue(tail, freedom)).toBeCloseTo(value, 3)
    expect(upperTail(value, freedom)).toBeCloseTo(tail, 5)
  })

  test('is Cauchy with one degree, and has a closed form with two', () => {
    for (const t of [0, 0.3, 1, 2.5, 40]) {
      expect(upperTail(t, 1)).toBeCloseTo(0.5 - Math.atan(t) / Math.PI, 12)
      expect(upperTail(t, 2)).toBeCloseTo(0.5 - t / (2 * Math.sqrt(2 + t * t)), 12)
    }
  })

  test('is the same on both sides, and lies between its neighbours where degrees are no whole number', () => {
    expect(upperTail(-1.7, 5) + upperTail(1.7, 5)).toBeCloseTo(1, 12)
    expect(upperTail(2, 3.5)).toBeLessThan(upperTail(2, 3))
    expect(upperTail(2, 3.5)).toBeGreaterThan(upperTail(2, 4))
    expect(upperTail(Number.POSITIVE_INFINITY, 3)).toBe(0)
  })
})
