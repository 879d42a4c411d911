import { describe, expect, test } from 'vitest'
import type { Contract } from '../../../src/contract/contract.ts'
import { documentedContract } from '../../../src/contract/documented.ts'
import { judgedLimit, type LimitScope, statedLimit } from '../../../src/contract/limits.ts'

const chat = { limiter: 'chat', unit: 'requests', model: 'm', modelTier: 'S' } as const satisfies LimitScope
const rpc: LimitScope = { limiter: 'rpc', unit: 'requests', network: null }
const { limits } = documentedContract
const byTarget = (published: Contract['limits']['published'], more: Partial<Contract> = {}): Contract => ({
  ...documentedContract,
  ...more,
  limits: { ...limits, judgedBy: 'target', published },
})

describe('the limit that responses are judged by', () => {
  test('is the one that the target published, also if the document states another', () => {
    expect(judgedLimit(chat, 'default', byTarget({ 'chat:m': 60 }))).toBe(60)
    expect(judgedLimit({ ...chat, unit: 'tokens' }, 'default', byTarget({ 'chat:m tokens': 9 }))).toBe(9)
  })

  test('is open, if the target published none: the document has only defaults', () => {
    expect(judgedLimit(chat, 'default', byTarget({}))).toBeNull()
    expect(judgedLimit(rpc, 'default', byTarget({ 'chat:m': 60 }))).toBeNull()
  })

  test('is that of a profile, if the target published none', () => {
    const contract = byTarget({}, { sources: { 'rpc.requestsPerMinute': 'profile' } })
    expect(judgedLimit(rpc, 'default', contract)).toBe(100)
  })

  test('is no limit of a tier that the target does not state', () => {
    const more = {
      models: documentedContract.models.map(model => ({ ...model, id: 'm', tier: null })),
      sources: { accounts: 'profile' },
    } as const
    expect(judgedLimit(chat, 'default', byTarget({}, { ...more, models: [...more.models] }))).toBeNull()
    const known = documentedContract.models.map(model => ({ ...model, id: 'm', tier: 'S' as const }))
    expect(judgedLimit(chat, 'default', byTarget({}, { ...more, models: known }))).toBe(75)
  })

  test('is the documented one, if limits are judged by the document', () => {
    const contract = { ...documentedContract, limits: { ...limits, published: { 'chat:m': 60 } } }
    expect(judgedLimit(chat, 'default', contract)).toBe(75)
  })
})

describe('a stated limit', () => {
  test('is unknown for a model without a tier', () => {
    expect(statedLimit({ ...chat, modelTier: null }, 'default', documentedContract)).toBeNull()
  })

  test('does not bind if the target promises nothing about it', () => {
    const without = (...except: readonly string[]): Contract => ({
      ...documentedContract,
      promises: { only: null, except: [...except] },
    })
    expect(statedLimit(rpc, 'default', without('limit.*'))).toBeNull()
    expect(statedLimit(rpc, 'default', without('limit.requests.limit'))).toBe(100)
    expect(statedLimit({ ...chat, unit: 'tokens' }, 'default', without('limit.tokens.*'))).toBeNull()
    expect(statedLimit(chat, 'default', without('limit.tokens.*'))).toBe(75)
  })
})
