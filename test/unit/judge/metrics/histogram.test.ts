import { Int32Histogram } from 'hdr-histogram-js'
import { describe, expect, test } from 'vitest'
import {
  bucketOf,
  createHistogram,
  mergeHistograms,
  percentileMs,
  percentilesOf,
  samplesFor,
} from '../../../../src/judge/metrics/histogram.ts'
import { randomStream } from '../../../../src/lib/random.ts'

const hourUs = 3_600_000_000
const hdr = new Int32Histogram(1, hourUs, 3)

test('bucketOf gives the same index as HdrHistogram', () => {
  const powers = Array.from({ length: 32 }, (_, exponent) => 2 ** exponent)
  const random = randomStream(1, 'cells')
  const drawn = Array.from({ length: 10_000 }, () => Math.floor(hourUs ** random.next()))
  const values = [0, hourUs, ...powers.flatMap(power => [power - 1, power, power + 1]), ...drawn].filter(
    value => value <= hourUs,
  )
  expect(values.map(bucketOf)).toEqual(values.map(value => hdr.countsArrayIndex(value)))
})

test('percentiles equal those of HdrHistogram', () => {
  const histogram = createHistogram()
  const other = new Int32Histogram(1, hourUs, 3)
  const random = randomStream(2, 'values')
  for (let index = 0; index < 5_000; index++) {
    const us = Math.floor(1e7 ** random.next())
    histogram.record(us / 1_000)
    other.recordValue(us)
  }
  expect(histogram.count()).toBe(other.totalCount)
  for (const percent of [1, 50, 90, 95, 99, 99.9])
    expect(histogram.atPercentile(percent)).toBe(other.getValueAtPercentile(percent) / 1_000)
})

const histogramOf = (values: readonly number[]) => {
  const histogram = createHistogram()
  for (const value of values) histogram.record(value)
  return histogram
}

describe('a percentile has a value only with enough samples to bound it', () => {
  test.each([
    [50, 5],
    [90, 29],
    [95, 59],
    [99, 299],
    [99.9, 2995],
    [10, 29],
  ])('p%f needs %i samples', (percent, needed) => {
    expect(samplesFor(percent)).toBe(needed)
    const almost = histogramOf(Array.from({ length: needed - 1 }, () => 7))
    expect(percentileMs(almost, percent)).toBeNull()
    almost.record(7)
    expect(percentileMs(almost, percent)).toBe(7)
  })

  test('no number of samples bounds p100', () => {
    expect(percentileMs(histogramOf([1, 2, 3]), 100)).toBeNull()
  })
})

test('mean and max need one sample; without samples everything is null', () => {
  expect(percentilesOf(histogramOf([]))).toEqual({
    count: 0,
    mean: null,
    p50: null,
    p90: null,
    p95: null,
    p99: null,
    p999: null,
    max: null,
  })
  expect(percentilesOf(histogramOf([3.25]))).toMatchObject({ count: 1, mean: 3.25, p50: null, max: 3.25 })
})

test('percentiles are those of the sorted values, within 0.1 %', () => {
  const random = randomStream(7, 'values')
  for (let round = 0; round < 30; round++) {
    const scale = 10 ** random.int(5)
    const values = Array.from({ length: 3000 + random.int(500) }, () => 0.002 + random.exponential() * scale)
    const sorted = values.toSorted((a, b) => a - b)
    const histogram = histogramOf(values)
    for (const percent of [1, 10, 50, 90, 95, 99, 99.9]) {
      const exact = sorted[Math.ceil((percent / 100) * values.length) - 1] ?? Number.NaN
      const error = Math.abs((percentileMs(histogram, percent) ?? Number.NaN) - exact)
      expect(error, `p${percent} of ${values.length} values around ${scale} ms`).toBeLessThanOrEqual(
        0.001 + exact / 1000,
      )
    }
  }
})

test('merging histograms equals recording all values into one', () => {
  const random = randomStream(8, 'values')
  const values = Array.from({ length: 900 }, () => random.exponential() * 50)
  const parts = [0, 1, 2].map(part => histogramOf(values.filter((_, index) => index % 3 === part)))
  const merged = percentilesOf(mergeHistograms(parts))
  const whole = percentilesOf(histogramOf(values))
  expect({ ...merged, mean: 0 }).toEqual({ ...whole, mean: 0 })
  expect(merged.mean).toBeCloseTo(whole.mean ?? Number.NaN, 9)
})

test('values out of range are clamped and counted; NaN is left out', () => {
  const histogram = histogramOf([-1, 5, 2 * 3_600_000, Number.NaN])
  expect(histogram.count()).toBe(3)
  expect(histogram.clamped()).toBe(2)
  expect(histogram.minMs()).toBe(0)
  expect(histogram.maxMs()).toBe(3_600_000)
})

test('counts up to boundaries are cumulative, and include the boundary', () => {
  const histogram = histogramOf([0.5, 1, 1.001, 2, 400])
  expect(histogram.countsUpTo([0.25, 0.5, 1, 2, 100, 1000])).toEqual([0, 1, 2, 4, 4, 5])
})
