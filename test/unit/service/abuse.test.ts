import { describe, expect, test } from 'vitest'
import { documented } from '../../../src/contract/documented.ts'
import { conversation, item, jsonOf } from './conversation.ts'

const fail = (talk: ReturnType<typeof conversation>, times: number, key = 'ref_default_ada') =>
  Array.from({ length: times }, () => talk.rpc(item('eth_newFilter'), { key }).status)

describe('the abuse block', () => {
  test('begins behind the 21st failure and holds for everything that the account asks', () => {
    const talk = conversation()
    expect(new Set(fail(talk, 20))).toEqual(new Set([400]))
    expect(talk.rpc(item('eth_call')).status).toBe(200)
    expect(fail(talk, 1)).toEqual([400])
    for (const reply of [
      talk.chat(),
      talk.rpc(item('eth_call')),
      talk.ask({ method: 'GET', path: '/api_keys/rate_limits' }),
    ]) {
      expect(reply.status).toBe(429)
      expect(jsonOf(reply)).toEqual({
        error: 'Too many failed attempts (> 20) resulting in a non-success status code. Please wait 30s and try again.',
      })
      expect(reply.headers).toHaveProperty('x-service-balance-usd')
      expect(reply.headers).toHaveProperty('cf-ray')
    }
    expect(talk.chat({}, 'ref_default_bob').status).toBe(200)
  })

  test('ends after 30 s, however often it was run into', async () => {
    const talk = conversation()
    fail(talk, 21)
    await talk.clock.advanceTo(29_999)
    expect(talk.chat().status).toBe(429)
    await talk.clock.advanceTo(30_000)
    expect(talk.chat().status).toBe(200)
    expect(new Set(fail(talk, 20))).toEqual(new Set([400]))
    expect(talk.chat().status).toBe(200)
  })

  test('forgets failures that are 30 s old', async () => {
    const talk = conversation()
    fail(talk, 20)
    await talk.clock.advanceTo(30_000)
    fail(talk, 1)
    expect(talk.chat().status).toBe(200)
  })

  test('is what the contract says that it is', async () => {
    const abuse = { ...documented.abuse, failures: 3, windowMs: 1_000, blockMs: 2_000, status: 403 }
    const talk = conversation({ contract: { ...documented, abuse } })
    fail(talk, 4)
    const { status } = talk.chat()
    await talk.clock.advanceTo(2_000)
    expect([status, talk.chat().status]).toEqual([403, 200])
  })

  test('holds for one model, where the contract says so', () => {
    const abuse = { ...documented.abuse, scope: 'model' as const }
    const talk = conversation({ contract: { ...documented, abuse } })
    for (let i = 0; i < 21; i++) talk.chat({ n: 0 })
    expect([
      talk.chat().status,
      talk.chat({ model: 'ref-small-24b' }).status,
      talk.rpc(item('eth_call')).status,
    ]).toEqual([429, 200, 200])
  })

  test('counts no 429 and no 5xx, where the contract says so', () => {
    const abuse = { ...documented.abuse, counts: 'client-errors-but-429' as const }
    const talk = conversation({ contract: { ...documented, abuse } })
    const seen = Array.from({ length: 60 }, () => talk.chat({ model: 'ref-large-235b' }))
    expect(new Set(seen.slice(20).map(reply => jsonOf(reply).error))).toEqual(new Set(['Rate limit exceeded']))
  })
})
