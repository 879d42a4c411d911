import { expect, test } from 'vitest'
import { addKey, countOfKey, hasOtherKeys, noCounts } from '../../../../../src/judge/audits/rate-limits/window.ts'

const counts = [0, 2, 2].reduce(addKey, noCounts)

test('requests are counted by key, and an unused key has none', () => {
  expect([0, 1, 2, 3].map(key => countOfKey(counts, key))).toEqual([1, 0, 2, 0])
})

test('other keys are keys with requests', () => {
  expect(hasOtherKeys(counts, 2)).toBe(true)
  expect(hasOtherKeys(addKey(noCounts, 1), 1)).toBe(false)
  expect(hasOtherKeys(noCounts, 0)).toBe(false)
})
