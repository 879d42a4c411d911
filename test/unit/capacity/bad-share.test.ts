import { describe, expect, test } from 'vitest'
import { mostAllowed, mostByChance } from '../../../src/capacity/bad-share.ts'

/** The chance of at least `bad` among `of`, summed up term by term. */
function chanceOf(bad: number, of: number, share: number): number {
  let chance = 0
  for (let k = 0; k < bad; k++) chance += choose(of, k) * share ** k * (1 - share) ** (of - k)
  return 1 - chance
}

const choose = (n: number, k: number): number =>
  Array.from({ length: k }, (_, i) => (n - i) / (i + 1)).reduce((a, b) => a * b, 1)

describe('the most bad answers that chance explains', () => {
  test.each([
    [20, 0.01],
    [60, 0.05],
    [300, 0.01],
    [120, 0.1],
  ])('of %i with a share of %f come more often than one time in twenty, and one more does not', (of, share) => {
    const most = mostByChance(of, share)
    expect(most === 0 ? 1 : chanceOf(most, of, share)).toBeGreaterThan(0.05)
    expect(chanceOf(most + 1, of, share)).toBeLessThan(0.05)
  })

  test('are more than those of the very share, and near it where there are many', () => {
    expect(mostByChance(300, 0.01)).toBeGreaterThan(mostAllowed(300, 0.01))
    expect(mostByChance(100_000, 0.01)).toBeLessThan(1_060)
  })

  test('are none where none may be bad, and never more than there are', () => {
    expect(mostByChance(1_000, 0)).toBe(0)
    expect(mostByChance(3, 0.9)).toBe(3)
    expect(mostByChance(0, 0.01)).toBe(0)
  })
})

test('so many are allowed that the share of these very answers is kept, whatever a double makes of it', () => {
  expect(mostAllowed(100, 1 - 0.99)).toBe(1)
  expect(mostAllowed(299, 1 - 0.99)).toBe(2)
  expect(mostAllowed(1_000, 1 - 0.999)).toBe(1)
})
