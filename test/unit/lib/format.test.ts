import { expect, test } from 'vitest'
import {
  count,
  formatDuration,
  formatExact,
  formatRate,
  formatRatio,
  formatWithError,
  groupThousands,
  plural,
  threeDigits,
} from '../../../src/lib/format.ts'

test.each([
  [null, '–'],
  [0, '0 µs'],
  [0.85, '850 µs'],
  [0.9999, '1 ms'],
  [1.234, '1.23 ms'],
  [99.96, '100 ms'],
  [412.4, '412 ms'],
  [999.6, '1 s'],
  [1240, '1.24 s'],
  [60_000, '60 s'],
  [99_960, '1m40s'],
  [125_400, '2m05s'],
  [3_599_600, '1h00m'],
  [-3, '-3 ms'],
])('quantity: %s ms is %s', (ms, text) => expect(formatDuration(ms)).toBe(text))

test.each([
  [null, '–'],
  [0, '0 %'],
  [1, '100 %'],
  [0.9999, '99.9+ %'],
  [0.0001, '<0.1 %'],
  [0.847826, '84.8 %'],
])('quantity: a ratio of %s is %s, never rounded to all or nothing', (value, text) =>
  expect(formatRatio(value)).toBe(text),
)

test.each([
  [1234567, '1,234,567'],
  [999, '999'],
  [0.5, '0.5'],
])('quantity: a count of %s is %s', (value, text) => expect(count(value)).toBe(text))

test('groupThousands keeps every digit and does not group decimals', () => {
  expect(groupThousands('12345678901234567890')).toBe('12,345,678,901,234,567,890')
  expect(groupThousands('1234.56789')).toBe('1,234.56789')
})

test.each([
  [21.535, 0, 21.536, '21.535 ms (0 ms to 21.6 ms)'],
  [431.36, 34.5, 431.36, '431.36 ms (34.5 ms to 431.36 ms)'],
  [199.6, 180.49, 200.4, '199.6 ms (180 ms to 201 ms)'],
  [0.0712, 0.07, 0.09, '0.0712 ms (0.07 ms to 0.09 ms)'],
  [5, 0, Number.POSITIVE_INFINITY, '5 ms (0 ms to any value)'],
])('the range that is shown of %d, %d to %d holds the whole range', (value, lowest, highest, shown) => {
  expect(formatWithError(value, lowest, highest, 'ms')).toBe(shown)
})

test('formatExact shows enough digits to compare a value with its bound', () => {
  expect(formatExact(400.04, 'ms')).toBe('400.04 ms')
  expect(formatExact(0.010004, 'ratio')).toBe('1.0004 %')
  expect(formatExact(12_345.678, 'per-second')).toBe('12345.678/s')
  expect(formatExact(0.25, 'usd')).toBe('$0.25')
  expect(formatExact(40, 'credits')).toBe('40')
})

test('threeDigits has no exponent', () => {
  expect(threeDigits(0.0000000625)).toBe('0.000000062500'.replace(/0+$/, ''))
  expect(threeDigits(1234.5)).toBe('1235')
  expect(formatRate(12.345)).toBe('12.3/s')
})

test('plural uses the singular for one', () => {
  expect([plural(1, 'request'), plural(2, 'request'), plural(0, 'discrepancy', 'discrepancies')]).toEqual([
    '1 request',
    '2 requests',
    '0 discrepancies',
  ])
})
