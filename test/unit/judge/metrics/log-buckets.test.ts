import { describe, expect, test } from 'vitest'
import { createHistogram } from '../../../../src/judge/metrics/histogram.ts'
import { type NativeHistogram, nativeHistogram, nativeSchema } from '../../../../src/judge/metrics/log-buckets.ts'
import { randomStream } from '../../../../src/lib/random.ts'

const growth = 2 ** (2 ** -nativeSchema)

const histogramOf = (values: readonly number[]) => {
  const histogram = createHistogram()
  for (const value of values) histogram.record(value)
  return histogram
}

/** The count of each bucket, by its number. */
function bucketsOf({ spans, deltas }: NativeHistogram): readonly (readonly [bucket: number, count: number])[] {
  let [bucket, count] = [0, 0]
  const rest = [...deltas]
  return spans.flatMap(({ offset, length }) => {
    bucket += offset
    return Array.from({ length }, () => {
      count += rest.shift() ?? Number.NaN
      return [bucket++, count] as const
    })
  })
}

describe('native histograms', () => {
  test('count every value once, in the bucket with its bounds', () => {
    const draw = randomStream(7, 'native')
    const values = Array.from({ length: 5_000 }, () => 10 ** (draw.next() * 4))
    const native = nativeHistogram(histogramOf(values))
    const expected = new Map<number, number>()
    for (const ms of values) {
      const bucket = Math.ceil(Math.log2(ms / 1000) * 2 ** nativeSchema)
      expected.set(bucket, (expected.get(bucket) ?? 0) + 1)
    }
    // Values are stored to 0.1 %, so one near a boundary may be in the neighboring bucket.
    let strays = 0
    for (const [bucket, count] of bucketsOf(native)) {
      const near = (expected.get(bucket - 1) ?? 0) + (expected.get(bucket) ?? 0) + (expected.get(bucket + 1) ?? 0)
      expect(count, `bucket ${bucket}`).toBeLessThanOrEqual(near)
      strays += Math.abs(count - (expected.get(bucket) ?? 0))
    }
    expect(strays).toBeLessThan(values.length / 10)
    expect(bucketsOf(native).reduce((sum, [, count]) => sum + count, native.zeroCount)).toBe(values.length)
    expect(native.count).toBe(values.length)
    expect(native.sumSeconds).toBeCloseTo(values.reduce((sum, ms) => sum + ms, 0) / 1000, 6)
  })

  test.each([50, 95, 99])('give p%i within one bucket', percent => {
    const draw = randomStream(11, 'native')
    const histogram = histogramOf(Array.from({ length: 20_000 }, () => Math.exp(4 + 1.3 * (draw.next() + draw.next()))))
    const wanted = (percent / 100) * histogram.count()
    let seen = 0
    const found = bucketsOf(nativeHistogram(histogram)).find(([, count]) => {
      seen += count
      return seen >= wanted
    })
    const upperMs = 1000 * growth ** (found?.[0] ?? Number.NaN)
    const exactMs = histogram.atPercentile(percent) ?? Number.NaN
    expect(upperMs).toBeGreaterThanOrEqual(exactMs / 1.001)
    expect(upperMs).toBeLessThanOrEqual(exactMs * growth * 1.001)
  })

  test('count a boundary in the bucket below it', () => {
    for (const exponent of [-8, -3, 0, 4]) {
      const native = nativeHistogram(histogramOf([1000 * 2 ** exponent]))
      expect(bucketsOf(native)).toEqual([[exponent * 2 ** nativeSchema, 1]])
    }
  })

  test('skip empty buckets, and count values below a microsecond as zero', () => {
    const native = nativeHistogram(histogramOf([0, 0.0001, 1000, 1000, 4000]))
    expect(native.zeroCount).toBe(2)
    expect(native.spans).toEqual([
      { offset: 0, length: 1 },
      { offset: 2 * 2 ** nativeSchema - 1, length: 1 },
    ])
    expect(native.deltas).toEqual([2, -1])
  })

  test('are empty without values', () => {
    const native = nativeHistogram(createHistogram())
    expect(native).toMatchObject({ count: 0, zeroCount: 0, spans: [], deltas: [] })
  })
})
