import { expect, test } from 'vitest'
import { randomStream } from '../../../../src/lib/random.ts'
import type { TwinRole } from '../../../../src/observation/requests/traits.ts'
import { type Call, traitsOf } from '../../../../src/plan/plan.ts'
import { buildRequest } from '../../../../src/produce/calls/kinds.ts'
import { bodyOf, chatPlan, key, requestContext, rpcPlan } from './request-context.ts'

type Twin = Extract<Call, { kind: 'twin' }>

const built = (of: Twin['of'], form: TwinRole['form']) => {
  const as = form === 'original' ? (['streamed', 'batched'] as const) : [form]
  const plan: Twin = { kind: 'twin', of, as, concurrent: false, mayDiffer: ['result'] }
  return buildRequest(plan, { firstId: 12, step: form }, key, requestContext())
}

const whole = { ...chatPlan, stream: false }

test('a stream, a compressed completion and the request of another caller have the prompt of the original', () => {
  const original = built(whole, 'original')
  const streamed = built(whole, 'streamed')
  expect(bodyOf(original).stream).toBe(false)
  expect(bodyOf(streamed)).toMatchObject({ stream: true, messages: bodyOf(original).messages })
  expect(streamed.openReader).toBeTypeOf('function')
  const compressed = built(whole, 'compressed')
  expect(compressed.request.body).toBe(original.request.body)
  expect(compressed.request.headers['accept-encoding']).toBe('gzip')
  for (const form of ['other-key', 'other-caller', 'alone'] as const)
    expect(built(whole, form).request.body).toBe(original.request.body)
})

test('a batch has the one call of the original', () => {
  const original = built(rpcPlan, 'original')
  const batched = built(rpcPlan, 'batched')
  expect(bodyOf(batched)).toEqual([bodyOf(original)])
  expect(batched.descriptor).toMatchObject({ kind: 'rpc', batch: true })
})

test('a batch in the other order has the same items, and says which', () => {
  const batch = { ...rpcPlan, batchSize: 3 }
  const original = built(batch, 'original')
  const other = built(batch, 'other-order')
  expect(bodyOf(other)).toEqual(bodyOf(original).toReversed())
  const ids = (request: typeof other) =>
    request.descriptor.kind === 'rpc' ? request.descriptor.items.map(({ id }) => id) : []
  expect(ids(other)).toEqual(ids(original).toReversed())
  expect(ids(other)).toEqual(bodyOf(other).map(({ id }: { id: unknown }) => id))
})

test('each says which form of which content it is', () => {
  expect(built(whole, 'streamed').descriptor).toMatchObject({
    twin: { group: 12, form: 'streamed', mayDiffer: ['result'] },
  })
})

test('alone comes last, and not at once with the others', () => {
  const twin: Twin = {
    ...{ kind: 'twin', of: whole, as: ['alone', 'streamed', 'other-caller'], concurrent: true, mayDiffer: [] },
    aloneAfterMs: 2_000,
  }
  const { steps, requestsAtOnce, waitMs } = traitsOf(twin)
  const random = () => randomStream(1, 'steps')
  expect(steps({ random, callers: 2, keys: 1 })).toEqual(['original', 'streamed', 'other-caller', 'alone'])
  expect(steps({ random, callers: 1, keys: 1 })).toEqual(['original', 'streamed', 'alone'])
  expect([requestsAtOnce, waitMs]).toEqual([3, 2_000])
})
