import { expect, test } from 'vitest'
import { hasOtherKeys, noKeys, plusKey, withKey } from '../../../src/audits/by-key.ts'

const counts = [0, 2, 2].reduce(plusKey, noKeys)

test('requests are counted by their key, and those of no key are none', () => {
  expect([0, 1, 2, 3].map(key => withKey(counts, key))).toEqual([1, 0, 2, 0])
})

test('other keys are those that have been used', () => {
  expect(hasOtherKeys(counts, 2)).toBe(true)
  expect(hasOtherKeys(plusKey(noKeys, 1), 1)).toBe(false)
  expect(hasOtherKeys(noKeys, 0)).toBe(false)
})
