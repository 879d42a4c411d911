import { expect, test } from 'vitest'
import { mayBeMoney } from '../../../src/audits/suspicion.ts'

/** 4 too many had left the balance. */
const suspicion = { seq: 1, spent: 10n, range: { least: 0n, most: 6n }, missing: null }

test('a later balance that is right to the last digit clears the money', () => {
  expect(mayBeMoney(suspicion, 20n, { least: 20n, most: 20n }, 0n)).toBe(false)
})

test('a later balance that what is open would explain either way clears nothing', () => {
  expect(mayBeMoney(suspicion, 20n, { least: 12n, most: 30n }, 0n)).toBe(true)
})

test('what is open is not enough where it is less than what was suspected', () => {
  expect(mayBeMoney(suspicion, 20n, { least: 17n, most: 20n }, 0n)).toBe(false)
  expect(mayBeMoney(suspicion, 20n, { least: 17n, most: 20n }, 1n)).toBe(true)
})
