import { describe, expect, test, vi } from 'vitest'
import { randomStream } from '../../../src/lib/random.ts'
import {
  durationHint,
  parseBudget,
  parseBytes,
  parseDuration,
  parsePercent,
  parseRate,
  parseShareOfTier,
  parseUsd,
  rateHint,
} from '../../../src/scenario/units.ts'

const random = randomStream(1, 'units')
const times = <T>(make: () => T): readonly T[] => Array.from({ length: 500 }, make)

describe('durations', () => {
  test.each([
    ['250ms', 250],
    ['5s', 5_000],
    ['1m30s', 90_000],
    ['2h', 7_200_000],
    ['1h1m1s1ms', 3_661_001],
    ['0.5ms', 0.5],
    ['1.005s', 1_005],
    ['0.1m', 6_000],
    ['0s', 0],
  ])('%s is exactly %d ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms)
  })

  test.each([
    '',
    '5',
    '5 s',
    ' 5s',
    '5sec',
    '-5s',
    '+5s',
    '1e3s',
    '.5s',
    '5.s',
    '5s1m',
    '5s5s',
    '5S',
    's',
    '١s',
    '0x5s',
  ])('%j is not a duration', text => {
    expect(parseDuration(text)).toBeNull()
  })

  test('a duration is the sum of its parts', () => {
    for (const [h, m, s, ms] of times(
      () => [random.int(50), random.int(90), random.int(90), random.int(2_000)] as const,
    )) {
      expect(parseDuration(`${h}h${m}m${s}s${ms}ms`)).toBe(h * 3_600_000 + m * 60_000 + s * 1_000 + ms)
    }
  })

  test('a decimal of seconds is the nearest number to the exact milliseconds', () => {
    for (const thousandths of times(() => random.int(10_000_000))) {
      const text = `${Math.floor(thousandths / 1_000)}.${String(thousandths % 1_000).padStart(3, '0')}s`
      expect(parseDuration(text)).toBe(thousandths)
    }
  })

  test('a hint keeps the number and the intended unit', () => {
    const hint = (written: unknown) => durationHint(written).hint
    expect(hint('5 sec')).toBe('did you mean "5s"?')
    expect(hint('5 minutes')).toBe('did you mean "5m"?')
    expect(hint('250 milliseconds')).toBe('did you mean "250ms"?')
    expect(hint(2.5)).toBe('did you mean "2.5s"?')
    expect(hint(400)).toBe('did you mean "400ms"?')
    expect(hint('soon')).toBeUndefined()
    expect(hint(['5s'])).toBeUndefined()
    expect(hint(null)).toBeUndefined()
  })
})

describe('rates', () => {
  test('20 per minute is not rounded', () => {
    expect(parseRate('20/m')).toEqual({ kind: 'absolute', perSecond: 20 / 60 })
    expect(parseRate('8.3/s')).toEqual({ kind: 'absolute', perSecond: 8.3 })
    expect(parseRate('1/h')).toEqual({ kind: 'absolute', perSecond: 1 / 3_600 })
  })

  test('a share of tier is a ratio', () => {
    expect(parseRate('80% of tier')).toEqual({ kind: 'of-tier', share: 0.8 })
    expect(parseRate('130% of tier')).toEqual({ kind: 'of-tier', share: 1.3 })
    expect(parseRate('0.5% of tier')).toEqual({ kind: 'of-tier', share: 0.005 })
  })

  test.each([
    '20',
    '20/',
    '/s',
    '20 /s',
    '20/d',
    '-1/s',
    '80%',
    '80 % of tier',
    '80%  of tier',
    '80% of tiers',
    'of tier',
  ])('%j is not a rate', text => {
    expect(parseRate(text)).toBeNull()
  })

  test('rates in different units are equal', () => {
    for (const perMinute of times(() => random.int(100_000))) {
      expect(parseRate(`${perMinute * 60}/h`)).toEqual(parseRate(`${perMinute}/m`))
    }
  })

  test('a number that overflows is not a rate', () => {
    expect(parseRate(`${'9'.repeat(400)}/s`)).toBeNull()
    expect(parseShareOfTier(`${'9'.repeat(400)}% of tier`)).toBeNull()
    expect(parseDuration(`${'9'.repeat(400)}h`)).toBeNull()
  })
})

describe('hints', () => {
  test.each([
    ['10rps', '10/s'],
    ['10 req/s', undefined],
    ['10/sec', '10/s'],
    ['10/min', '10/m'],
    ['5 per hour', '5/h'],
    ['10 qps', '10/s'],
    [10, '10/s'],
    [0.5, '0.5/s'],
    ['80%', '80% of tier'],
    ['fast', undefined],
    ['-2/s', undefined],
    [{ rate: 1 }, undefined],
  ])('for a rate of %j: %s', (written, meant) => {
    expect(rateHint(written).hint).toBe(meant === undefined ? undefined : `did you mean "${meant}"?`)
    if (meant !== undefined) expect(parseRate(meant)).not.toBeNull()
  })

  test.each([
    ['5 USD', '5'],
    ['$ 5', '5'],
    ['5,00', '5.00'],
    ['0.5$', '0.5'],
    ['five', undefined],
    ['-5', undefined],
    ['0', undefined],
    ['0 USD', undefined],
    ['1,000', undefined],
    ['2000000 USD', undefined],
  ])('for a budget of %j: %s', (written, meant) => {
    const fail = vi.fn(() => {
      throw new Error('refused')
    })
    expect(() => parseBudget(written, fail)).toThrow('refused')
    const hint = meant === undefined ? {} : { hint: `did you mean "${meant}"?` }
    expect(fail).toHaveBeenCalledExactlyOnceWith({
      got: JSON.stringify(written),
      expected: expect.any(String),
      ...hint,
    })
  })

  test.each([
    ['0.25', '0.25'],
    ['$5', '5'],
    ['unlimited', null],
  ])('a budget of %s needs none', (written, amount) => {
    const fail = () => expect.fail('it was refused')
    expect(parseBudget(written, fail)).toBe(amount)
  })
})

describe('amounts', () => {
  test.each([
    ['$0.25', '0.25'],
    ['0.50', '0.5'],
    [0.5, '0.5'],
    [10, '10'],
    [1e-7, '0.0000001'],
    ['$0', '0'],
  ])('%j is %s dollars', (written, amount) => {
    expect(parseUsd(written)).toBe(amount)
  })

  test.each(['$', '-1', '$-1', 'ten', '0.25 USD', '€1', '1e-13', Number.NaN, Number.POSITIVE_INFINITY])(
    '%j is not an amount',
    written => {
      expect(parseUsd(written)).toBeNull()
    },
  )

  test.each([
    ['2MiB', 2_097_152],
    ['500kB', 500_000],
    ['1.5KiB', 1_536],
    [4096, 4_096],
    ['10B', 10],
  ])('%j is %d bytes', (written, bytes) => {
    expect(parseBytes(written)).toBe(bytes)
  })

  test.each(['2', '2mb', '2 MiB', '0.3B', '-1kB', 1.5, -1])('%j is not a size', written => {
    expect(parseBytes(written)).toBeNull()
  })

  test('a percentage needs its sign', () => {
    expect(parsePercent('1%')).toBe(0.01)
    expect(parsePercent('99.9%')).toBe(0.999)
    expect(parsePercent('1')).toBeNull()
  })
})
