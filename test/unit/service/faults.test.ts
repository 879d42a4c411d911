import { expect, test } from 'vitest'
import { conversation, item, jsonOf } from './conversation.ts'

const faults = [
  { status: 500, probability: 0.1 },
  { status: 503, probability: 0.2 },
] as const

const statuses = (seed: number) => {
  const { rpc } = conversation({ faults, seed })
  return Array.from({ length: 400 }, (_, index) => rpc(item('eth_call'), { key: `ref_default_u${index % 20}` }).status)
}

test('faults occur with the configured probability and depend on the seed', () => {
  const drawn = statuses(1)
  expect(statuses(1)).toEqual(drawn)
  expect(statuses(2)).not.toEqual(drawn)
  const share = (status: number) => drawn.filter(each => each === status).length / drawn.length
  expect(share(500)).toBeCloseTo(0.1, 1)
  expect(share(503)).toBeCloseTo(0.2, 1)
})

test('a fault is an error reply with all common headers and without a charge', () => {
  const { chat, rpc, ask } = conversation({ faults: [{ status: 503, probability: 1 }], usd: '10' })
  for (const reply of [chat(), rpc(item('eth_call'))]) {
    expect(reply.status).toBe(503)
    expect(jsonOf(reply)).toEqual({ error: 'The model is at capacity, retry later' })
    for (const header of ['content-type', 'date', 'cf-ray', 'x-service-version', 'x-service-balance-usd'])
      expect(reply.headers).toHaveProperty(header)
    expect(reply.headers).not.toHaveProperty('x-service-rpc-credits')
  }
  const limits = ask({ method: 'GET', path: '/api_keys/rate_limits' })
  expect([limits.status, limits.headers['x-service-balance-usd']]).toEqual([200, '10'])
})

test('an invalid request is rejected before a fault can occur', () => {
  const { chat, rpc } = conversation({ faults: [{ status: 500, probability: 1 }] })
  expect([chat({ n: 0 }).status, rpc(item('eth_newFilter')).status]).toEqual([400, 400])
})

test('faults count as failures for the abuse block', () => {
  const { chat } = conversation({ faults: [{ status: 504, probability: 1 }] })
  const seen = Array.from({ length: 22 }, () => chat().status)
  expect(seen).toEqual([...Array.from({ length: 21 }, () => 504), 429])
})
