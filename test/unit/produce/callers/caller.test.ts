import { expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { authorize } from '../../../../src/produce/callers/caller.ts'

const caller = { kind: 'key', name: 'c0', keys: ['k1', 'k2'] } as const

test('a caller is authorized by a bearer token', () => {
  expect(authorize(caller, 0, documentedContract)).toEqual({ authorization: 'Bearer k1' })
})

test.each([
  [{ header: 'API-Key', scheme: null }, { 'api-key': 'k1' }],
  [{ header: 'authorization', scheme: 'Token' }, { authorization: 'Token k1' }],
] as const)('a profile says how a request carries a key: %j', (form, headers) => {
  expect(authorize(caller, 0, { auth: { ...documentedContract.auth, ...form } })).toEqual(headers)
})

test('key positions wrap around after the last key', () => {
  expect([1, 2, 3].map(position => authorize(caller, position, documentedContract).authorization)).toEqual([
    'Bearer k2',
    'Bearer k1',
    'Bearer k2',
  ])
})

test('a caller without keys has no credentials', () => {
  expect(authorize({ kind: 'key', name: 'c0', keys: [] }, 0, documentedContract)).toEqual({})
})
