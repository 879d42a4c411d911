import { expect, test } from 'vitest'
import { decidedSide, rareAtMost } from '../../../src/lib/statistics/decided-share.ts'
import { peek } from '../../support/peeking.ts'

const share = (hits: number, trials: number, open = 0) => ({ hits, trials, open })

test('a share that is far enough from its bound is decided, and no sooner', () => {
  expect(decidedSide(share(0, 20), 0.05, 0.05)).toBeNull()
  expect(decidedSide(share(0, 200), 0.05, 0.05)).toBe('below')
  expect(decidedSide(share(10, 200), 0.05, 0.05)).toBeNull()
  expect(decidedSide(share(40, 200), 0.05, 0.05)).toBe('above')
  expect(decidedSide(share(100_000, 2_500_000), 0.05, 0.001)).toBe('below')
})

test('no run needs fewer trials than any test of that error', () => {
  // A share of 5 % leaves this many trials without a hit with a chance of 5 %.
  const least = Math.log(0.05) / Math.log(0.95)
  const trials = Array.from({ length: 400 }, (_, index) => index).find(
    n => decidedSide(share(0, n), 0.05, 0.05) !== null,
  )
  expect(trials).toBeGreaterThan(least)
  expect(trials).toBeLessThan(2 * least)
})

test('what is not known yet counts for neither side', () => {
  expect(decidedSide(share(0, 200, 15), 0.05, 0.05)).toBeNull()
  expect(decidedSide(share(40, 200, 0), 0.05, 0.05)).toBe('above')
  expect(decidedSide(share(40, 200, 1_000), 0.05, 0.05)).toBeNull()
})

test('a bound of nothing or of everything is crossed by one trial, and never proved', () => {
  expect(decidedSide(share(0, 1e6), 0, 0.05)).toBeNull()
  expect(decidedSide(share(1, 1e6), 0, 0.05)).toBe('above')
  expect(decidedSide(share(1e6, 1e6), 1, 0.05)).toBeNull()
  expect(decidedSide(share(1e6 - 1, 1e6), 1, 0.05)).toBe('below')
  expect(decidedSide(share(0, 0), 0.5, 0.05)).toBeNull()
})

test('what was never seen has a chance that the number of trials bounds', () => {
  expect(rareAtMost(0, 0.05)).toBe(1)
  expect(rareAtMost(1_000, 0.05)).toBeCloseTo(0.003, 3)
})

const error = 0.05

test.each([
  ['below', 0.05, () => 0.05, 'above'],
  ['a mean at the bound, of chances that differ', 0.1, (trial: number) => (trial % 2 === 0 ? 0.2 : 0), 'above'],
  ['a mean above the bound', 0.05, () => 0.055, 'below'],
] as const)('looking after every trial rarely decides wrongly: %s', (_, bound, chanceOf, wrong) => {
  const runs = Array.from({ length: 400 }, (__, seed) => peek(seed, chanceOf, bound, error, 400))
  const count = runs.filter(({ side }) => side === wrong).length
  // At the bound itself, either side is wrong.
  expect(count / runs.length).toBeLessThanOrEqual(error + 2 * Math.sqrt((error * (1 - error)) / runs.length))
})

test.each([
  [0.01, 'below'],
  [0.15, 'above'],
] as const)('a chance of %f is found on its side of 5 percent', (chance, side) => {
  const runs = Array.from({ length: 100 }, (_, seed) => peek(seed, () => chance, 0.05, error, 2_000))
  expect(runs.filter(each => each.side === side).length).toBeGreaterThanOrEqual(97)
})
