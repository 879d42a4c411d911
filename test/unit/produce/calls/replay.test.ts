import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import type { ReplayStep } from '../../../../src/plan/plan.ts'
import { buildRequest } from '../../../../src/produce/calls/kinds.ts'
import { bodyOf, key, replayPlan, requestContext, rpcPlan } from './request-context.ts'

const at = (step: ReplayStep, firstId = 12, plan = replayPlan, more = {}) =>
  buildRequest(plan, { firstId, step }, key, requestContext(more))

const plans = [
  ['a single call', replayPlan],
  ['a batch', { ...replayPlan, of: { ...rpcPlan, batchSize: 100 } }],
  ['calls that may fail', { ...replayPlan, of: { ...rpcPlan, failing: 0.5 } }],
] as const

describe.each(plans)('the replay of %s', (_, plan) => {
  test('has the same bytes in the original, its duplicates and the foreign request', () => {
    const bodies = (['original', 'duplicate', 'duplicate', 'other-caller'] as const).map(
      step => at(step, 12, plan).request.body,
    )
    expect(new Set(bodies).size).toBe(1)
  })

  test('always has a different body in its conflict', () => {
    for (let id = 0; id < 1_000; id++) {
      expect(at('conflict', id, plan).request.body).not.toBe(at('original', id, plan).request.body)
    }
  })

  test('has one idempotency key in all its requests', () => {
    const keys = (['original', 'duplicate', 'conflict', 'other-caller'] as const).map(
      step => at(step, 12, plan).request.headers['idempotency-key'],
    )
    expect(new Set(keys)).toEqual(new Set(['20260115T120000Z-a1b2c3-12']))
  })
})

test('the conflict of a batch has none of the ids of the original, or other parameters in its last item alone', () => {
  const plan = { ...replayPlan, of: { ...rpcPlan, methods: [['eth_getBalance', 1] as const], batchSize: 10 } }
  const itemsAt = (step: ReplayStep, id: number) => bodyOf(at(step, id, plan)) as readonly { id: unknown }[]
  const differing = Array.from({ length: 200 }, (_, id) => {
    const original = itemsAt('original', id)
    const conflict = itemsAt('conflict', id)
    const isSame = conflict.map((item, index) => JSON.stringify(item) === JSON.stringify(original[index]))
    if (conflict.every(item => original.every(other => other.id !== item.id))) return 'all'
    expect(conflict.map(item => item.id)).toEqual(original.map(item => item.id))
    expect(isSame.indexOf(false)).toBe(9)
    return 'last'
  })
  for (const kind of ['all', 'last']) expect(differing.filter(each => each === kind).length).toBeGreaterThan(70)
})

test('a conflict often differs in its ids alone', () => {
  const withoutId = (body: unknown) => ({ ...Object(body), id: null })
  const same = Array.from({ length: 200 }, (_, id) => id).filter(id => {
    const [original, conflict] = [bodyOf(at('original', id)), bodyOf(at('conflict', id))]
    return JSON.stringify(withoutId(original)) === JSON.stringify(withoutId(conflict))
  })
  expect(same.length).toBeGreaterThan(70)
})

test('the conflict of a call without parameters often differs in its method alone', () => {
  const methods = [['eth_blockNumber', 1] as const, ['eth_gasPrice', 1] as const]
  const plan = { ...replayPlan, of: { ...rpcPlan, methods, batchSize: null } }
  const bodyAt = (step: ReplayStep, id: number) => bodyOf(at(step, id, plan)) as Readonly<Record<string, unknown>>
  const pairs = Array.from({ length: 200 }, (_, id) => [bodyAt('original', id), bodyAt('conflict', id)] as const)
  const changed = pairs.filter(([original, conflict]) => original.id === conflict.id)
  expect(changed.length).toBeGreaterThan(70)
  expect(changed.length).toBeLessThan(130)
  for (const [original, conflict] of changed) {
    expect(conflict).toEqual({ ...original, method: expect.any(String) })
    expect(conflict.method).not.toBe(original.method)
  }
})

describe('an idempotency key', () => {
  const keyAt = (firstId: number, runId: string) =>
    at('original', firstId, replayPlan, { runId }).request.headers['idempotency-key']

  test('has the documented form', () => {
    const pattern = new RegExp(documentedContract.idempotency.keyPattern)
    expect(keyAt(0, '20260115T120000Z-a1b2c3')).toMatch(pattern)
    expect(keyAt(Number.MAX_SAFE_INTEGER, '20260115T120000Z-a1b2c3')).toMatch(pattern)
  })

  test('is unique to an arrival and a run, even for the same seed', () => {
    const keys = ['20260115T120000Z-a1b2c3', '20260115T120000Z-d4e5f6'].flatMap(runId =>
      Array.from({ length: 500 }, (_, id) => keyAt(id, runId)),
    )
    expect(new Set(keys).size).toBe(1_000)
  })

  test('is not in the descriptor, which has the group instead', () => {
    const { descriptor } = at('duplicate')
    expect(descriptor).toMatchObject({ replay: { group: 12, role: 'duplicate', concurrent: false } })
    expect(JSON.stringify(descriptor)).not.toContain('a1b2c3')
  })
})
