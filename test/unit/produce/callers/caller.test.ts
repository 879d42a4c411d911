import { expect, test } from 'vitest'
import { authorize } from '../../../../src/produce/callers/caller.ts'

const caller = { kind: 'key', name: 'c0', keys: ['k1', 'k2'] } as const

test('a caller is authorized by a bearer token', () => {
  expect(authorize(caller, 0)).toEqual({ authorization: 'Bearer k1' })
})

test('key positions wrap around after the last key', () => {
  expect([1, 2, 3].map(position => authorize(caller, position).authorization)).toEqual([
    'Bearer k2',
    'Bearer k1',
    'Bearer k2',
  ])
})

test('a caller without keys has no credentials', () => {
  expect(authorize({ kind: 'key', name: 'c0', keys: [] }, 0)).toEqual({})
})
