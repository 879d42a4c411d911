import { expect, test } from 'vitest'
import { loadSpareKeys } from '../../../src/callers/spare-keys.ts'
import type { CallersPlan } from '../../../src/plan/plan.ts'

const plan: CallersPlan = { names: ['c0'], keysEach: 1, accountTier: 'partner', shared: false, keysFile: null }
const source = { environment: undefined, loopback: true, runId: 'run-1' }
const none = { unpaying: null, empty: null }

test('keys that were given are used', () => {
  const given = { unpaying: ' k1 ', empty: 'k2' }
  expect(loadSpareKeys(given, plan, { ...source, loopback: false })).toEqual({ unpaying: 'k1', empty: 'k2' })
})

test('a service of our own has such accounts, of this run alone', () => {
  expect(loadSpareKeys({}, plan, source)).toEqual({ unpaying: 'ref_unpaying_run1', empty: 'ref_empty_run1' })
})

test('nobody has a key for another service that nobody has given', () => {
  expect(loadSpareKeys({}, plan, { ...source, loopback: false })).toEqual(none)
  expect(loadSpareKeys({}, plan, { ...source, environment: 'k1' })).toEqual(none)
  expect(loadSpareKeys({}, { ...plan, keysFile: 'keys.txt' }, source)).toEqual(none)
})

test('a key that cannot stand in a header is a mistake, and is not shown', () => {
  expect(() => loadSpareKeys({ empty: 'se cret' }, plan, source)).toThrow('TURNPIKE_EMPTY_KEY')
  expect(() => loadSpareKeys({ empty: 'se cret' }, plan, source)).not.toThrow('cret')
})
