import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import type { Reply } from '../../../src/service/message.ts'
import { conversation, item, jsonOf, startWallMs } from './conversation.ts'

const windowStart = Math.floor(startWallMs / 1000)
const statuses = (replies: readonly Reply[]) => replies.map(({ status }) => status)
const times = <T>(count: number, make: () => T): readonly T[] => Array.from({ length: count }, make)

describe('requests', () => {
  test('a window admits its limit, and the next request returns 429', () => {
    const { chat } = conversation()
    const replies = times(22, () => chat({ model: 'ref-large-235b' }))
    expect(statuses(replies)).toEqual([...times(20, () => 200), 429, 429])
    const remaining = replies.map(({ headers }) => headers['x-ratelimit-remaining-requests'])
    expect(remaining.slice(0, 2)).toEqual(['19', '18'])
    expect(remaining.slice(-3)).toEqual(['0', '0', '0'])
    expect(replies.at(-1)?.headers).toMatchObject({ 'x-ratelimit-type': 'user', 'x-ratelimit-limit-requests': '20' })
    expect(jsonOf(replies[21] ?? chat())).toEqual({ error: 'Rate limit exceeded' })
  })

  test('a window starts in the second of its first request and ends at its reset time', async () => {
    const { chat, clock } = conversation()
    const large = () => chat({ model: 'ref-large-235b' })
    const replies = times(20, large)
    const resetStamp = String(windowStart + 60)
    expect(replies[0]?.headers['x-ratelimit-reset-requests']).toBe(resetStamp)
    // The clock starts 250 ms after a full second.
    await clock.advanceTo(59_749)
    expect(large().status).toBe(429)
    await clock.advanceTo(59_750)
    const next = large()
    expect(next.status).toBe(200)
    expect(next.headers).toMatchObject({
      'x-ratelimit-remaining-requests': '19',
      'x-ratelimit-reset-requests': String(windowStart + 120),
    })
  })

  test('models, accounts, RPC and control endpoints have separate windows', () => {
    const { chat, rpc, ask } = conversation()
    const limits = (key: string) => ask({ method: 'GET', path: '/api_keys/rate_limits', key })
    const remaining = [
      chat(),
      chat({ model: 'ref-small-24b' }),
      chat({}, 'ref_partner_ada'),
      rpc([item('eth_call', 1), item('eth_call', 2)]),
      limits('ref_default_ada'),
      chat(),
    ].map(({ headers }) => headers['x-ratelimit-remaining-requests'])
    expect(remaining).toEqual(['499', '74', '499', '99', '499', '498'])
  })

  test('a partner has the limits of its tier', () => {
    const { chat } = conversation()
    expect(chat({ model: 'ref-small-24b' }, 'ref_partner_ada').headers).toMatchObject({
      'x-ratelimit-limit-requests': '150',
      'x-ratelimit-limit-tokens': '1500000',
    })
  })

  test('a rejected request counts, one over the limit does not', async () => {
    const { rpc, clock } = conversation()
    const replies = [...times(2, () => rpc([])), ...times(101, () => rpc(item('eth_chainId')))]
    expect(statuses(replies.slice(0, 3))).toEqual([400, 400, 200])
    expect(statuses(replies.slice(99))).toEqual([200, 429, 429, 429])
    await clock.advanceTo(60_000)
    expect(rpc(item('eth_chainId')).headers['x-ratelimit-remaining-requests']).toBe('99')
  })

  test('a 429 of a completion names its model', () => {
    const { chat } = conversation()
    const replies = times(21, () => chat({ model: 'ref-large-235b' }))
    expect(replies.at(-1)).toMatchObject({ status: 429, headers: { 'x-service-model-id': 'ref-large-235b' } })
  })

  test('a 429 of the RPC proxy states its limit', () => {
    const { rpc } = conversation()
    const rejected = times(101, () => rpc(item('eth_chainId'))).at(-1) ?? rpc([])
    expect(jsonOf(rejected)).toEqual({ error: 'Rate limit exceeded', customMessage: expect.stringContaining('100') })
    expect(rejected.headers).toMatchObject({
      'x-ratelimit-limit': '100',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': String(windowStart + 60),
    })
  })

  test('a profile can set reset times in milliseconds', () => {
    const limits = {
      ...documentedContract.limits,
      requestsReset: 'unix-milliseconds',
      tokensReset: 'unix-milliseconds',
    } as const
    const { headers } = conversation({ contract: { ...documentedContract, limits } }).chat()
    expect(headers['x-ratelimit-reset-requests']).toBe(String((windowStart + 60) * 1000))
    expect(headers['x-ratelimit-reset-tokens']).toBe(String((windowStart + 60) * 1000))
  })
})

describe('tokens', () => {
  test('a request reserves its prompt and maximum completion, and returns unused tokens at its end', async () => {
    const { chat, clock } = conversation()
    const first = chat({ max_completion_tokens: 1000 })
    const { usage } = jsonOf(first)
    expect(first.headers['x-ratelimit-remaining-tokens']).toBe(String(1_000_000 - usage.prompt_tokens - 1000))
    await clock.advanceTo(first.afterMs)
    const second = chat({ max_completion_tokens: 1000 })
    const left = 1_000_000 - usage.total_tokens - usage.prompt_tokens - 1000
    expect(second.headers['x-ratelimit-remaining-tokens']).toBe(String(left))
  })

  test('a request that does not fit returns 429 and counts neither as a request nor in tokens', () => {
    const { chat } = conversation({ usd: '1000' })
    const eight = { model: 'ref-small-24b', max_completion_tokens: 8192, n: 16 }
    const replies = times(7, () => chat(eight))
    expect(statuses(replies)).toEqual([200, 200, 200, 200, 200, 429, 429])
    const fifth = replies[4]?.headers
    for (const header of ['x-ratelimit-remaining-requests', 'x-ratelimit-remaining-tokens']) {
      expect(replies[6]?.headers[header]).toBe(fifth?.[header])
    }
    expect(replies[6]?.headers['x-ratelimit-type']).toBe('user')
    expect(chat({ model: 'ref-small-24b' }).status).toBe(200)
  })

  test('the token reset is in seconds, rounded up', async () => {
    const { chat, clock } = conversation()
    const reset = () => chat().headers['x-ratelimit-reset-tokens']
    expect(reset()).toBe('60')
    await clock.advanceTo(1_000)
    expect(reset()).toBe('59')
    await clock.advanceTo(59_700)
    expect(reset()).toBe('1')
  })

  test('RPC responses have no token headers', () => {
    expect(conversation().rpc(item('eth_call')).headers).not.toHaveProperty('x-ratelimit-limit-tokens')
  })
})

const fail = (talk: ReturnType<typeof conversation>, times: number, key = 'ref_default_ada') =>
  Array.from({ length: times }, () => talk.rpc(item('eth_newFilter'), { key }).status)

describe('the abuse block', () => {
  test('starts after the 21st failure and applies to every request of the account', () => {
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
      expect(reply.headers['x-ratelimit-remaining-requests']).toBe('0')
      expect(reply.headers['x-ratelimit-reset-requests']).toBe(String(Math.ceil((startWallMs + 30_000) / 1000)))
    }
    const limits = [talk.chat({ model: 'ref-large-235b' }), talk.rpc(item('eth_call'))].map(
      ({ headers }) => headers['x-ratelimit-limit-requests'],
    )
    expect(limits).toEqual(['20', '100'])
    expect(talk.chat({}, 'ref_default_bob').status).toBe(200)
  })

  test('ends after 30 s, whatever the account sends during the block', async () => {
    const talk = conversation()
    fail(talk, 21)
    expect(talk.chat().headers['retry-after']).toBe('30')
    await talk.clock.advanceTo(29_999)
    expect(talk.chat()).toMatchObject({ status: 429, headers: { 'retry-after': '1' } })
    await talk.clock.advanceTo(30_000)
    expect(talk.chat().status).toBe(200)
    expect(new Set(fail(talk, 20))).toEqual(new Set([400]))
    expect(talk.chat().status).toBe(200)
  })

  test('does not count failures older than 30 s', async () => {
    const talk = conversation()
    fail(talk, 20)
    await talk.clock.advanceTo(30_000)
    fail(talk, 1)
    expect(talk.chat().status).toBe(200)
  })

  test('takes failures, window, duration and status from the contract', async () => {
    const abuse = { ...documentedContract.abuse, failures: 3, windowMs: 1_000, blockMs: 2_000, status: 403 }
    const talk = conversation({ contract: { ...documentedContract, abuse } })
    fail(talk, 4)
    const { status } = talk.chat()
    await talk.clock.advanceTo(2_000)
    expect([status, talk.chat().status]).toEqual([403, 200])
  })

  test('applies to one model if the contract sets that scope', () => {
    const abuse = { ...documentedContract.abuse, scope: 'model' as const }
    const talk = conversation({ contract: { ...documentedContract, abuse } })
    for (let i = 0; i < 21; i++) talk.chat({ n: 0 })
    expect([
      talk.chat().status,
      talk.chat({ model: 'ref-small-24b' }).status,
      talk.rpc(item('eth_call')).status,
    ]).toEqual([429, 200, 200])
  })

  test('excludes 429 and 5xx if the contract sets that rule', () => {
    const abuse = { ...documentedContract.abuse, counts: 'client-errors-but-429' as const }
    const talk = conversation({ contract: { ...documentedContract, abuse } })
    const seen = Array.from({ length: 60 }, () => talk.chat({ model: 'ref-large-235b' }))
    expect(new Set(seen.slice(20).map(reply => jsonOf(reply).error))).toEqual(new Set(['Rate limit exceeded']))
  })
})
