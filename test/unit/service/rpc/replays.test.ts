import { expect, test } from 'vitest'
import { conversation, item, textOf } from '../conversation.ts'

const keyed = (key: string) => ({ headers: { 'idempotency-key': key } })
const body = [item('eth_blockNumber', 1), item('eth_call', 2, ['invalid'])]

test('a repeated request gets the cached reply, byte for byte and without a charge', () => {
  const { rpc } = conversation()
  const first = rpc(body, keyed('k'))
  const again = rpc(body, keyed('k'))
  expect(first.headers).not.toHaveProperty('idempotent-replayed')
  expect(again.headers['idempotent-replayed']).toBe('true')
  expect(textOf(again)).toBe(textOf(first))
  for (const header of ['x-service-rpc-credits', 'x-service-rpc-cost-usd', 'x-request-id']) {
    expect(again.headers[header]).toBe(first.headers[header])
  }
  expect(rpc(body).headers['x-service-balance-usd']).toBe('9.99998437')
})

test('a replay counts in the request window', () => {
  const { rpc } = conversation()
  const remaining = [1, 2, 3].map(() => rpc(body, keyed('k')).headers['x-ratelimit-remaining-requests'])
  expect(remaining).toEqual(['99', '98', '97'])
})

test('a key with another body, or on another network, is a conflict', () => {
  const { rpc } = conversation()
  rpc(body, keyed('k'))
  const other = rpc([item('eth_call')], keyed('k'))
  expect(other.status).toBe(400)
  expect(other.headers).not.toHaveProperty('idempotent-replayed')
  expect(rpc(body, { ...keyed('k'), network: 'base-mainnet' }).status).toBe(400)
  expect(rpc(`${JSON.stringify(body)} `, keyed('k')).status).toBe(400)
  expect(rpc(body, keyed('k')).status).toBe(200)
})

test('a key belongs to one account', () => {
  const { rpc } = conversation()
  rpc(body, keyed('k'))
  const other = rpc([item('eth_call')], { ...keyed('k'), key: 'ref_partner_ada' })
  expect(other.status).toBe(200)
  expect(other.headers).not.toHaveProperty('idempotent-replayed')
})

test('a rejection is not cached', () => {
  const { rpc } = conversation()
  expect(rpc([], keyed('k')).status).toBe(400)
  expect(rpc(body, keyed('k')).status).toBe(200)
})

test('a key that does not match the pattern is rejected', () => {
  const { rpc } = conversation()
  expect(rpc(body, keyed('k.k')).status).toBe(400)
  expect(rpc(body, keyed('k'.repeat(255))).status).toBe(200)
  expect(rpc(body, keyed('k'.repeat(256))).status).toBe(400)
})

test('a concurrent duplicate gets no reply before the first request', async () => {
  const { rpc, clock } = conversation()
  expect(rpc(body, keyed('k')).afterMs).toBe(5)
  await clock.advanceTo(2)
  expect(rpc(body, keyed('k')).afterMs).toBe(3)
  await clock.advanceTo(50)
  expect(rpc(body, keyed('k')).afterMs).toBe(0)
})

test('a reply expires after 24 hours and not before', async () => {
  const { rpc, clock } = conversation()
  const day = 24 * 60 * 60 * 1000
  rpc(body, keyed('k'))
  await clock.advanceTo(day - 1)
  expect(rpc(body, keyed('k')).headers['idempotent-replayed']).toBe('true')
  await clock.advanceTo(day)
  expect(rpc(body, keyed('k')).headers).not.toHaveProperty('idempotent-replayed')
})
