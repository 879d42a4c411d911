import { expect, test } from 'vitest'
import { createTimeline, maxColumns } from '../../../../src/judge/metrics/timeline.ts'

test('a column is one second, up to the maximum number of columns', () => {
  const timeline = createTimeline()
  expect(timeline.columnOf(0)).toBe(0)
  expect(timeline.columnOf(999.9)).toBe(0)
  expect(timeline.columnOf(599_999)).toBe(maxColumns - 1)
  expect(timeline.stepMs()).toBe(1_000)
})

test('a longer run joins columns, and keeps their values', () => {
  const timeline = createTimeline()
  const sums = timeline.sums()
  const maxima = timeline.maxima()
  const grid = timeline.matrix(3)
  for (let second = 0; second < 600; second++) {
    const column = timeline.columnOf(second * 1_000)
    sums.put(column, 1)
    maxima.put(column, second)
    grid.add(column, second % 3)
  }
  const column = timeline.columnOf(3_000_000)
  sums.put(column, 1)
  expect(timeline.stepMs()).toBe(8_000)
  expect(column).toBe(375)
  expect(timeline.columns()).toBe(376)
  expect(Array.from({ length: 76 }, (_, at) => sums.at(at))).toEqual([...Array(75).fill(8), 0])
  expect(maxima.at(74)).toBe(599)
  expect(grid.at(0, 0) + grid.at(0, 1) + grid.at(0, 2)).toBe(8)
})

test.each([-1, Number.NaN, Number.POSITIVE_INFINITY, 1e300])('%d has no column', ms => {
  const timeline = createTimeline()
  expect(timeline.columnOf(ms)).toBe(-1)
  expect(timeline.columns()).toBe(0)
})
