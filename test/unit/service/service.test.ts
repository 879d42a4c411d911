import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { conversation, item, jsonOf } from './conversation.ts'

describe('every response', () => {
  const { ask, chat, rpc, models } = conversation()
  const responses = {
    'a completion': chat(),
    'a stream': chat({ stream: true }),
    'an RPC response': rpc(item('eth_call')),
    'the model list': models(),
    'a rejection': rpc([]),
    'a wrong key': chat({}, 'wrong'),
    'an unknown path': ask({ path: '/nowhere', key: null }),
  }

  test.each(Object.entries(responses))('(%s) has Content-Type, Date, CF-RAY and version', (_, { headers }) => {
    expect(headers['content-type']).toMatch(/^(application\/json|text\/event-stream)$/)
    expect(headers.date).toBe('Thu, 15 Jan 2026 12:00:00 GMT')
    expect(headers['cf-ray']).toMatch(/^[0-9a-f]{16}-REF$/)
    expect(headers['x-service-version']).toMatch(/^\d{8}\.\d{6}$/)
  })

  test('has a unique CF-RAY', () => {
    const rays = Object.values(responses).map(({ headers }) => headers['cf-ray'])
    expect(new Set(rays).size).toBe(rays.length)
  })
})

describe('a key', () => {
  test.each(['ref_gold_ada', 'ref_default_', 'ref_default_a_b', 'sk-123', 'REF_default_ada'])(
    'like %s is rejected',
    key => {
      const reply = conversation().chat({}, key)
      expect([reply.status, jsonOf(reply)]).toEqual([401, { error: 'Authentication failed' }])
      expect(reply.headers).not.toHaveProperty('x-service-balance-usd')
      expect(reply.headers).not.toHaveProperty('x-ratelimit-limit-requests')
    },
  )

  test('is required on private routes, and a wrong key is rejected on public routes too', () => {
    const { ask } = conversation()
    const get = (path: string, key: string | null) => ask({ method: 'GET', path, key }).status
    expect(get('/api_keys/rate_limits', null)).toBe(401)
    expect(get('/crypto/rpc/networks', null)).toBe(200)
    expect(get('/crypto/rpc/networks', 'wrong')).toBe(401)
    expect(ask({ path: '/chat/completions', key: null }).status).toBe(401)
  })

  test('of another scheme is rejected', () => {
    const { ask } = conversation()
    const headers = { authorization: 'Basic ref_default_ada' }
    expect(ask({ method: 'GET', path: '/api_keys/rate_limits', key: null, headers }).status).toBe(401)
  })
})

describe('balances', () => {
  test('are also on errors', () => {
    const { headers } = conversation({ diem: '2.50' }).rpc([])
    expect(headers).toMatchObject({ 'x-service-balance-usd': '10', 'x-service-balance-diem': '2.5' })
  })

  test('of zero have no header if the profile sets that rule', () => {
    const billing = { ...documentedContract.billing, balanceHeaders: false }
    const { headers } = conversation({ contract: { ...documentedContract, billing } }).rpc([])
    expect(headers['x-service-balance-usd']).toBe('10')
    expect(headers).not.toHaveProperty('x-service-balance-diem')
  })
})

test('the profile sets the header prefix', () => {
  const { headers } = conversation({ contract: { ...documentedContract, headerPrefix: 'x-acme-' } }).rpc(
    item('eth_call'),
  )
  expect(headers).toMatchObject({
    'x-acme-rpc-credits': '20',
    'x-acme-balance-usd': '10',
    'x-acme-version': expect.any(String),
  })
})

test('a body above 35 MB is rejected, by received or announced length', () => {
  const { rpc } = conversation()
  expect(rpc('x'.repeat(35 * 1024 * 1024 + 1)).status).toBe(413)
  expect(rpc('', { headers: { 'content-length': String(36 * 1024 * 1024) } }).status).toBe(413)
})
