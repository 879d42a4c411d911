import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { openAccount } from '../../../../src/service/account.ts'
import type { Reply, RequestState } from '../../../../src/service/message.ts'
import { rpcTurns } from '../../../../src/service/rpc/proxy.ts'
import { conversation, item, jsonOf, textOf } from '../conversation.ts'

const invalid = ['invalid']

describe('credits', () => {
  test('an item of 20 credits and a failing item cost 25', () => {
    const { rpc } = conversation()
    const reply = rpc([item('eth_blockNumber', 1), item('eth_getBalance', 2, invalid)])
    expect(reply.status).toBe(200)
    expect(jsonOf(reply)).toEqual([
      { jsonrpc: '2.0', id: 1, result: expect.stringMatching(/^0x[0-9a-f]+$/) },
      { jsonrpc: '2.0', id: 2, error: { code: -32602, message: 'invalid params' } },
    ])
    expect(reply.headers).toMatchObject({
      'content-type': 'application/json',
      'x-service-rpc-credits': '25',
      'x-service-rpc-cost-usd': '0.00001563',
      'x-request-id': expect.stringMatching(/^[0-9A-Za-z]{32}$/),
    })
    expect(reply.headers).not.toHaveProperty('idempotent-replayed')
  })

  test.each([
    ['ethereum-mainnet', 'eth_call', '20'],
    ['ethereum-mainnet', 'trace_block', '40'],
    ['ethereum-mainnet', 'txpool_content', '80'],
    ['zksync-mainnet', 'eth_call', '30'],
    ['solana-devnet', 'getSupply', '120'],
    ['starknet-mainnet', 'starknet_call', '20'],
  ])('%s %s costs %s credits', (network, method, credits) => {
    expect(conversation().rpc(item(method), { network }).headers['x-service-rpc-credits']).toBe(credits)
  })

  test('a single call that fails costs its tier, unless the profile discounts it', () => {
    const failing = item('eth_call', 1, invalid)
    expect(conversation().rpc(failing).headers['x-service-rpc-credits']).toBe('20')
    const contract = { ...documentedContract, rpc: { ...documentedContract.rpc, singleErrorIsDiscounted: true } }
    expect(conversation({ contract }).rpc(failing).headers['x-service-rpc-credits']).toBe('5')
  })

  test('the balance decreases by exactly the stated cost and shows it one request later', () => {
    const { rpc } = conversation()
    const odd = [item('eth_call', 1), item('eth_call', 2, invalid)]
    const balances = [rpc(odd), rpc(odd), rpc(odd)].map(({ headers }) => headers['x-service-balance-usd'])
    expect(balances).toEqual(['10', '9.99998437', '9.99996874'])
  })

  test('DIEM is used first while it covers the whole charge', () => {
    const { rpc } = conversation({ diem: '0.00002' })
    const balances = [1, 2, 3].map(id => {
      const { headers } = rpc(item('eth_call', id))
      return [headers['x-service-balance-usd'], headers['x-service-balance-diem']]
    })
    expect(balances).toEqual([
      ['10', '0.00002'],
      ['10', '0.0000075'],
      ['9.9999875', '0.0000075'],
    ])
  })

  test('a balance below the full price of all items returns 402 and stays unchanged', () => {
    const { rpc } = conversation({ usd: '0.000012' })
    const reply = rpc(item('eth_call'))
    expect(reply.status).toBe(402)
    expect(jsonOf(reply)).toMatchObject({ error: expect.any(String), code: 'INSUFFICIENT_BALANCE' })
    expect(reply.headers).not.toHaveProperty('x-service-rpc-credits')
    expect(rpc(item('eth_call')).headers['x-service-balance-usd']).toBe('0.000012')
  })
})

describe('responses', () => {
  test('a result depends only on seed, network, method, params and time', () => {
    const result = (seed: number, network: string, params: readonly unknown[], id = 1) =>
      jsonOf(conversation({ seed }).rpc(item('eth_getBalance', id, params), { network })).result
    const base = result(7, 'ethereum-mainnet', ['0x00000000219ab540356cbb839cbe05303d7705fa', 'latest'])
    expect(result(7, 'ethereum-mainnet', ['0x00000000219ab540356cbb839cbe05303d7705fa', 'latest'], 99)).toBe(base)
    expect(result(8, 'ethereum-mainnet', ['0x00000000219ab540356cbb839cbe05303d7705fa', 'latest'])).not.toBe(base)
    expect(result(7, 'base-mainnet', ['0x00000000219ab540356cbb839cbe05303d7705fa', 'latest'])).not.toBe(base)
    expect(result(7, 'ethereum-mainnet', ['0x00000000219ab540356cbb839cbe05303d7705fb', 'latest'])).not.toBe(base)
  })

  test('an id is echoed unchanged, and a missing one is null', () => {
    const ids = ['a', 7, -1.5, '', null, undefined]
    const reply = conversation().rpc(ids.map(id => ({ method: 'eth_call', id })))
    expect(jsonOf(reply).map(({ id }: { id: unknown }) => id)).toEqual(['a', 7, -1.5, '', null, null])
  })
})

describe('rejections', () => {
  test('an error names every unsupported method of a batch once', () => {
    const reply = conversation().rpc(
      ['eth_call', 'eth_newFilter', 'eth_sign', 'eth_newFilter', 'getSlot'].map((method, id) => item(method, id)),
    )
    expect(reply.status).toBe(400)
    expect(jsonOf(reply)).toEqual({ error: 'Unsupported RPC method: eth_newFilter, eth_sign, getSlot' })
  })

  test('a batch may have 100 items, but not 101 or 0', () => {
    const { rpc } = conversation()
    const batch = (size: number) => rpc(Array.from({ length: size }, (_, id) => item('eth_chainId', id)))
    expect([100, 101, 0].map(size => batch(size).status)).toEqual([200, 400, 400])
  })

  test.each([
    ['malformed JSON', '{', 400],
    ['an empty body', '', 400],
    ['a method that is not a string', { method: 5 }, 400],
    ['another jsonrpc', { method: 'eth_call', jsonrpc: '1.0' }, 400],
    ['params by name', { method: 'eth_call', params: {} }, 400],
    ['an id that is an object', { method: 'eth_call', id: {} }, 400],
    ['an id that is a boolean', { method: 'eth_call', id: true }, 400],
    ['params nested too deeply', `{"method":"eth_call","params":${'['.repeat(50_000)}${']'.repeat(50_000)}}`, 400],
    ['a method that objects inherit', { method: 'constructor' }, 400],
  ])('%s is rejected without a charge', (_, body, status) => {
    const { rpc } = conversation()
    const reply = rpc(body)
    expect(reply.status).toBe(status)
    expect(jsonOf(reply).error).toEqual(expect.any(String))
    expect(reply.headers).not.toHaveProperty('x-service-rpc-credits')
    expect(rpc(item('eth_call')).headers['x-service-balance-usd']).toBe('10')
  })

  test('an unknown network, a wrong content type and a wrong method have different errors', () => {
    const { rpc, ask } = conversation()
    const unknown = rpc(item('eth_call'), { network: 'dogecoin-mainnet' })
    expect([unknown.status, jsonOf(unknown)]).toEqual([400, { error: 'Unsupported RPC network' }])
    expect(rpc(item('eth_call'), { headers: { 'content-type': 'text/plain' } }).status).toBe(415)
    expect(rpc(item('eth_call'), { headers: { 'content-type': 'application/json; charset=utf-8' } }).status).toBe(200)
    expect(ask({ method: 'GET', path: '/crypto/rpc/base-mainnet' })).toMatchObject({
      status: 405,
      headers: { allow: 'POST' },
    })
    expect(ask({ path: '/crypto/rpc/base-mainnet/extra' }).status).toBe(404)
  })
})

const ok: Reply = { status: 200, headers: {}, afterMs: 10, body: { kind: 'whole', text: '' } }
const account = (name: string) => openAccount({ tier: 'default', name, means: 'usual' }, 0n, 0n)
const stateAt = (arrivedMs: number): RequestState => ({
  request: { method: 'POST', path: '', headers: {}, body: '' },
  route: { kind: 'unknown' },
  account: null,
  arrivedMs,
  headers: {},
})

const turns = (waitMs: number | null) =>
  rpcTurns(waitMs === null ? null : { waitMs, message: 'busy' }, (_, message) => ({
    ...ok,
    status: 429,
    headers: { message },
  }))

test('requests of one account wait for earlier ones, and are rejected if the wait is too long', () => {
  const [take, anna] = [turns(15), account('anna')]
  expect(take(stateAt(0), anna, () => ok)).toMatchObject({ status: 200, afterMs: 10 })
  expect(take(stateAt(0), anna, () => ok)).toMatchObject({ status: 200, afterMs: 20 })
  expect(take(stateAt(0), anna, () => ok)).toMatchObject({ status: 429, headers: { message: 'busy' } })
  expect(take(stateAt(5), anna, () => ok)).toMatchObject({ status: 200, afterMs: 25 })
})

test('requests of another account do not wait', () => {
  const take = turns(0)
  expect(take(stateAt(0), account('anna'), () => ok).status).toBe(200)
  expect(take(stateAt(0), account('bob'), () => ok).status).toBe(200)
})

test('no request waits if the contract has no such rule', () => {
  const [take, anna] = [turns(null), account('anna')]
  for (let request = 0; request < 3; request++)
    expect(take(stateAt(0), anna, () => ok)).toMatchObject({ status: 200, afterMs: 10 })
})

test.each(['9007199254740993', '-12345678901234567890', '9007199254740991'])('the id %s keeps its digits', id => {
  const text = `{"jsonrpc":"2.0", "method":"eth_chainId", "params":[], "id" : ${id}}`
  const { rpc } = conversation()
  expect(textOf(rpc(text))).toContain(`"id":${id},`)
  expect(textOf(rpc(`[${text},${text}]`)).split(`"id":${id},`)).toHaveLength(3)
  expect(textOf(rpc(text.replace(id, `"${id}"`)))).toContain(`"id":"${id}",`)
})
