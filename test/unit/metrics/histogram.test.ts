import { Int32Histogram } from 'hdr-histogram-js'
import { expect, test } from 'vitest'
import { randomStream } from '../../../src/lib/random.ts'
import { cellOf, createHistogram } from '../../../src/metrics/histogram.ts'

const hourUs = 3_600_000_000
const hdr = new Int32Histogram(1, hourUs, 3)

test('a value is put into the cell that HdrHistogram has for it', () => {
  const powers = Array.from({ length: 32 }, (_, exponent) => 2 ** exponent)
  const random = randomStream(1, 'cells')
  const drawn = Array.from({ length: 10_000 }, () => Math.floor(hourUs ** random.next()))
  const values = [0, hourUs, ...powers.flatMap(power => [power - 1, power, power + 1]), ...drawn].filter(
    value => value <= hourUs,
  )
  expect(values.map(cellOf)).toEqual(values.map(value => hdr.countsArrayIndex(value)))
})

test('percentiles are those of HdrHistogram, within what was recorded', () => {
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
