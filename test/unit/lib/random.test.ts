import { describe, expect, test } from 'vitest'
import { type Random, randomStream } from '../../../src/lib/random.ts'

const draw = (random: Random, count: number) => Array.from({ length: count }, random.next)
const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length

function correlation(a: readonly number[], b: readonly number[]): number {
  const [meanA, meanB] = [mean(a), mean(b)]
  const covariance = mean(a.map((value, index) => (value - meanA) * ((b[index] ?? 0) - meanB)))
  const variance = (values: readonly number[], around: number) => mean(values.map(value => (value - around) ** 2))
  return covariance / Math.sqrt(variance(a, meanA) * variance(b, meanB))
}

/** Chi-squared of 16 equal bins. With 15 degrees of freedom, values above 44.3 have a probability of 1 in 10,000. */
function chiSquare(values: readonly number[]): number {
  const bins = new Array<number>(16).fill(0)
  for (const value of values) bins[Math.floor(value * 16)] = (bins[Math.floor(value * 16)] ?? 0) + 1
  const expected = values.length / 16
  return bins.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0)
}

describe('a stream', () => {
  test('is the same for the same seed and name, in every version', () => {
    expect(draw(randomStream(1, 'arrivals'), 50)).toEqual(draw(randomStream(1, 'arrivals'), 50))
    expect(draw(randomStream(42, 'golden'), 3)).toMatchInlineSnapshot(`
      [
        0.24482101877219975,
        0.7206983624491841,
        0.18205787939950824,
      ]
    `)
  })

  test.each(['arrivals', 'mix/steady', ''])('called %j is uniform in [0, 1)', name => {
    const values = draw(randomStream(7, name), 100_000)
    expect(Math.min(...values.slice(0, 60_000))).toBeGreaterThanOrEqual(0)
    expect(Math.max(...values.slice(0, 60_000))).toBeLessThan(1)
    expect(chiSquare(values)).toBeLessThan(44.3)
  })

  test('has uniform first numbers for names that differ in their last digits, like those of prompts', () => {
    const firsts = Array.from({ length: 50_000 }, (_, id) => randomStream(1, `prompt/${id}`).next())
    expect(chiSquare(firsts)).toBeLessThan(44.3)
    expect(Math.abs(correlation(firsts.slice(1), firsts.slice(0, -1)))).toBeLessThan(0.02)
  })

  test.each([
    ['names', 1, 'a', 1, 'b'],
    ['seeds', 1, 'a', 2, 'a'],
    ['seeds that end where names begin', 1, '2/a', 12, 'a'],
  ])('does not follow another: %s', (_, seedA, nameA, seedB, nameB) => {
    const [a, b] = [draw(randomStream(seedA, nameA), 20_000), draw(randomStream(seedB, nameB), 20_000)]
    expect(Math.abs(correlation(a, b))).toBeLessThan(0.03)
  })

  test('does not depend on draws from other streams', () => {
    const alone = draw(randomStream(3, 'a'), 4)
    const [a, b] = [randomStream(3, 'a'), randomStream(3, 'b')]
    const beside = Array.from({ length: 4 }, () => {
      b.next()
      return a.next()
    })
    expect(beside).toEqual(alone)
  })
})

test('int returns every integer below its bound, and no other', () => {
  const random = randomStream(1, 'dice')
  expect([...new Set(Array.from({ length: 500 }, () => random.int(6)))].sort()).toEqual([0, 1, 2, 3, 4, 5])
})

test('exponential has mean 1 and variance 1, and is never infinite', () => {
  const random = randomStream(5, 'gaps')
  const gaps = Array.from({ length: 100_000 }, random.exponential)
  const average = mean(gaps)
  expect(average).toBeGreaterThan(0.99)
  expect(average).toBeLessThan(1.01)
  const variance = mean(gaps.map(gap => (gap - average) ** 2))
  expect(variance).toBeGreaterThan(0.97)
  expect(variance).toBeLessThan(1.03)
  expect(gaps.every(gap => gap >= 0 && gap < 40)).toBe(true)
})

describe('weighted', () => {
  test('chooses in proportion to weights of any sum', () => {
    const random = randomStream(1, 'mix')
    const counts = { a: 0, b: 0, c: 0 }
    for (let round = 0; round < 60_000; round++) {
      counts[
        random.weighted<'a' | 'b' | 'c'>([
          ['a', 3],
          ['b', 2],
          ['c', 1],
        ])
      ]++
    }
    expect(counts.a / 60_000).toBeCloseTo(3 / 6, 2)
    expect(counts.b / 60_000).toBeCloseTo(2 / 6, 2)
    expect(counts.c / 60_000).toBeCloseTo(1 / 6, 2)
  })

  test('never chooses a weight of 0', () => {
    const random = randomStream(1, 'mix')
    const chosen = Array.from({ length: 5_000 }, () =>
      random.weighted([
        ['never', 0],
        ['always', 0.1],
        ['nor', 0],
      ]),
    )
    expect(new Set(chosen)).toEqual(new Set(['always']))
  })

  test('draws one number for any number of choices, so a new choice does not shift later draws', () => {
    const [few, many] = [randomStream(1, 'mix'), randomStream(1, 'mix')]
    few.weighted([['a', 1]])
    many.weighted([
      ['a', 1],
      ['b', 2],
      ['c', 3],
    ])
    expect(few.next()).toBe(many.next())
  })

  test.each([[[]], [[['a', 0] as const]]])('throws without a positive weight: %j', choices => {
    expect(() => randomStream(1, 'mix').weighted(choices)).toThrow(RangeError)
  })
})
