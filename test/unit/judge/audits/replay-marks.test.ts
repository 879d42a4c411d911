import { describe, expect, test } from 'vitest'
import type { Observation } from '../../../../src/observation/observation.ts'
import { chatDescriptor, observed, responseOf, rpcHeaders, singleDescriptor } from '../checks/observed.ts'
import { judge } from './key-story.ts'

describe('a response to a request without a key', () => {
  const marked = (value: string, request: Observation['request'] = singleDescriptor) =>
    judge([observed(request, responseOf(200, { body: 'a' }, { ...rpcHeaders, 'idempotent-replayed': value }))]).failed
  test('violates its clause if it is marked as a replay', () => {
    const message = 'a response to a request without a key has Idempotent-Replayed: true, expected no mark'
    expect([marked('true'), marked('true', chatDescriptor)]).toEqual(
      Array.from({ length: 2 }, () => [['rpc.replay.header', message]]),
    )
  })
  test('may say that it is none', () => {
    expect(marked('false')).toEqual([])
  })
  test('may be marked if its probe has a key', () => {
    expect(marked('true', { kind: 'probe', probe: 'key-of-one-character' })).toEqual([])
  })
})
