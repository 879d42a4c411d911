import { describe, expect, test } from 'vitest'
import { absDifference, formatPico, nearestPico, parsePico, pico, roundPico } from '../../../src/lib/money.ts'
import { randomStream } from '../../../src/lib/random.ts'

describe('nearestPico', () => {
  test.each<[string | number, bigint | null]>([
    ['0.0000125', 12_500_000n],
    ['0.000021875000000000003', 21_875_000n],
    ['-9.9999875000000001', -9_999_987_500_000n],
    ['0.0000000000004', 0n],
    ['0.0000000000005', 1n],
    ['1e-400', 0n],
    [0.1 + 0.2, 300_000_000_000n],
    [1e308, 10n ** 320n],
    ['9'.repeat(100), (10n ** 100n - 1n) * 10n ** 12n],
    ['9'.repeat(101), null],
    ['1e400', null],
    ['nothing', null],
  ])('reads %j with twelve decimals', (value, expected) => {
    expect(nearestPico(value)).toBe(expected)
  })
})

describe('parsePico', () => {
  test.each<[string | number, bigint]>([
    ['0', 0n],
    ['-0', 0n],
    ['3', 3_000_000_000_000n],
    ['-3', -3_000_000_000_000n],
    ['+0.5', 500_000_000_000n],
    ['007', 7_000_000_000_000n],
    ['0.000000625', 625_000n],
    ['0.000000000001', 1n],
    ['1.000000000000000', 1_000_000_000_000n],
    [' 10.50 ', 10_500_000_000_000n],
    ['1.25e-5', 12_500_000n],
    ['12e2', 1_200_000_000_000_000n],
    ['1E+0', 1_000_000_000_000n],
    ['100e-14', 1n],
    ['0e-99', 0n],
    [6.25e-7, 625_000n],
    [1e-7, 100_000n],
    [1e21, 10n ** 33n],
    [0.1, 100_000_000_000n],
  ])('reads %j exactly', (value, expected) => {
    expect(parsePico(value)).toBe(expected)
  })

  test('reads more digits than a double has', () => {
    expect(parsePico('90071992547409931.123456789012')).toBe(90_071_992_547_409_931_123_456_789_012n)
  })

  test.each([
    '',
    '.',
    '.5',
    '5.',
    '-',
    '--1',
    '1,000',
    '1 000',
    '$1',
    '0x10',
    'NaN',
    'Infinity',
    '1e',
    '1e1.5',
    '1n',
    '٣',
    '0.0000000000001',
    '1e-13',
    '1.5e-12',
    '1e1000',
    '1e100',
    '9'.repeat(101),
    `-${'9'.repeat(101)}`,
    '9'.repeat(1_000_000),
  ])('gives nothing for %j', value => {
    expect(parsePico(value)).toBeNull()
  })

  test('returns null for 0.1 + 0.2, which needs more than twelve decimals', () => {
    expect(parsePico(0.1 + 0.2)).toBeNull()
    expect(pico('0.1') + pico('0.2')).toBe(pico('0.3'))
  })
})

test('pico throws if parsePico returns null', () => {
  expect(() => pico('ten')).toThrow(RangeError)
  expect(pico('10')).toBe(10_000_000_000_000n)
})

describe('formatPico', () => {
  test.each<[bigint, string]>([
    [0n, '0'],
    [1n, '0.000000000001'],
    [-1n, '-0.000000000001'],
    [12_500_000n, '0.0000125'],
    [-3_000_000_000_000n, '-3'],
    [10_500_000_000_000n, '10.5'],
    [10n ** 30n, '1000000000000000000'],
  ])('writes %s as %s', (amount, expected) => {
    expect(formatPico(amount)).toBe(expected)
  })

  test('round-trips any amount', () => {
    const random = randomStream(1, 'amounts')
    for (let round = 0; round < 2_000; round++) {
      const digits = Array.from({ length: 1 + random.int(30) }, () => random.int(10)).join('')
      const amount = (random.int(2) === 0 ? 1n : -1n) * BigInt(digits)
      expect(parsePico(formatPico(amount))).toBe(amount)
    }
  })
})

describe('roundPico', () => {
  test.each<[string, number, string]>([
    ['0.000000625', 8, '0.00000063'],
    ['0.000000624999', 8, '0.00000062'],
    ['-0.000000625', 8, '-0.00000063'],
    ['0.5', 0, '1'],
    ['0.499999999999', 0, '0'],
    ['-0.4', 0, '0'],
    ['9.995', 2, '10.00'],
    ['0', 4, '0.0000'],
    ['1.000000000001', 12, '1.000000000001'],
  ])('rounds %s to %i decimals, ties away from zero: %s', (amount, decimals, expected) => {
    expect(roundPico(pico(amount), decimals)).toBe(expected)
  })

  test('has an error of at most half of the last digit', () => {
    const random = randomStream(2, 'amounts')
    for (let round = 0; round < 2_000; round++) {
      const amount = BigInt(random.int(2 ** 32)) * (random.int(2) === 0 ? 1n : -1n)
      const decimals = random.int(13)
      expect(absDifference(pico(roundPico(amount, decimals)), amount) * 2n).toBeLessThanOrEqual(
        10n ** BigInt(12 - decimals),
      )
    }
  })
})

test('absDifference has no sign', () => {
  expect([absDifference(3n, 5n), absDifference(5n, 3n), absDifference(-2n, 2n)]).toEqual([2n, 2n, 4n])
})
