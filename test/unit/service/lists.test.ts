import { expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { conversation, jsonOf } from './conversation.ts'

test('networks are sorted', () => {
  const { ask } = conversation()
  const { networks } = jsonOf(ask({ method: 'GET', path: '/crypto/rpc/networks?x=1', key: null }))
  expect(networks).toEqual(Object.keys(documentedContract.rpc.networks).toSorted())
})

test('models have prices', () => {
  const list = jsonOf(conversation().models())
  expect(list).toMatchObject({ object: 'list', type: 'text' })
  expect(list.data[0]).toMatchObject({
    id: 'ref-nano-3b',
    object: 'model',
    model_spec: {
      name: 'Reference Nano 3B',
      maxCompletionTokens: 4096,
      pricing: { output: { usd: 0.6, diem: 0.6 } },
    },
  })
})

test("rate limits are those of the caller's tier, with its balances", () => {
  const { ask } = conversation({ diem: '3' })
  const { data } = jsonOf(ask({ method: 'GET', path: '/api_keys/rate_limits', key: 'ref_partner_eve' }))
  expect(data).toMatchObject({
    accessPermitted: true,
    apiTier: { id: 'partner', isCharged: true },
    balances: { USD: 10, DIEM: 3 },
    keyExpiration: null,
    nextEpochBegins: '2026-01-16T00:00:00.000Z',
  })
  expect(data.rateLimits).toContainEqual({
    apiModelId: 'ref-large-235b',
    rateLimits: [
      { amount: 60, type: 'RPM' },
      { amount: 1_000_000, type: 'TPM' },
    ],
  })
})
