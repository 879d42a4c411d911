import { expect, test } from 'vitest'
import { logTicks, percent, timeLabel, timeTicks, valueTicks } from '../../../../src/report/render/charts.ts'

test.each([
  [4_000, [0, 1_000, 2_000, 3_000, 4_000]],
  [31_000, [0, 10_000, 20_000, 30_000]],
  [3_600_000, [0, 600_000, 1_200_000, 1_800_000, 2_400_000, 3_000_000, 3_600_000]],
])('a time axis of %d ms has marks at round instants', (endMs, ticks) => {
  expect(timeTicks(endMs)).toEqual(ticks)
})

test('an axis of days has few marks', () => {
  expect(timeTicks(30 * 86_400_000).length).toBeLessThan(8)
  expect(timeTicks(300 * 86_400_000).length).toBeLessThan(8)
})

test.each([
  [0, [0, 1]],
  [4, [0, 1, 2, 3, 4]],
  [47, [0, 20, 40, 60]],
  [0.0513, [0, 0.02, 0.04, 0.06]],
  [Number.NaN, [0, 1]],
])('an axis of values up to %d has round marks, the last not below it', (max, ticks) => {
  expect(valueTicks(max).map(tick => Number(tick.toPrecision(6)))).toEqual(ticks)
})

test('logarithmic marks are decades, or closer if the axis has fewer than two decades', () => {
  expect(logTicks(0.8, 2_100)).toEqual([1, 10, 100, 1_000])
  expect(logTicks(130, 800)).toEqual([200, 500])
  expect(logTicks(2.5, 4.5)).toEqual([3, 4])
  expect(logTicks(2.2, 2.8)).toEqual([])
})

test('labels are short', () => {
  expect([timeLabel(0), timeLabel(5_000), timeLabel(150_000), percent(1 / 3)]).toEqual(['0', '5 s', '2m30s', '33.333%'])
})
