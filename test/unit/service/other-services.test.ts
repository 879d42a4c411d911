import { describe, expect, test } from 'vitest'
import { loadProfile } from '../../../src/contract/profile.ts'
import { conversation, item, jsonOf } from './conversation.ts'

describe('the reference service as a node', () => {
  const { ask } = conversation({ contract: loadProfile('scenarios/profiles/json-rpc-node.yaml') })
  const call = (path: string) => ask({ path, key: null, body: item('eth_chainId') })

  test.each(['', '/'])('answers at its address (%j) and nowhere else, without a key', path => {
    expect(call(path).status).toBe(200)
    expect(jsonOf(call(path))).toMatchObject({ jsonrpc: '2.0', id: 1 })
  })

  test('has no other path', () => {
    expect(call('/crypto/rpc/ethereum-mainnet').status).toBe(404)
  })

  test('limits nobody', () => {
    const replies = Array.from({ length: 200 }, () => call(''))
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]))
    expect(Object.keys(replies[0]?.headers ?? {}).filter(name => name.startsWith('x-ratelimit'))).toEqual([])
  })

  test('blocks nobody', () => {
    const wrong = { path: '', key: null, body: [{ ...item('eth_chainId'), method: 7 }] }
    for (let failures = 0; failures < 30; failures++)
      expect(jsonOf(ask(wrong))).toMatchObject([{ error: { code: -32_600 } }])
    expect(call('').status).toBe(200)
  })

  test('still rejects a wrong key', () => {
    expect(ask({ path: '', key: 'wrong', body: item('eth_chainId') }).status).toBe(401)
  })
})

test('the reference service offers models of its own, if the profile names none', () => {
  const { ask, models } = conversation({ contract: loadProfile('scenarios/profiles/openai-compatible.yaml') })
  const [first] = (jsonOf(models()) as { readonly data: readonly { readonly id: string }[] }).data
  const body = { model: first?.id, messages: [{ role: 'user', content: 'hello' }], max_tokens: 3 }
  expect(jsonOf(ask({ path: '/chat/completions', key: null, body }))).toMatchObject({
    model: first?.id,
    usage: { completion_tokens: 3 },
  })
})
