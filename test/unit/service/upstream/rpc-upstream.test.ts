import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import type { RunningServer } from '../../../../src/service/server.ts'
import { createUpstream } from '../../../../src/service/upstream/http-upstream.ts'
import { rpcUpstream } from '../../../../src/service/upstream/rpc-upstream.ts'
import type { Upstream } from '../../../../src/service/upstream/upstream.ts'
import { type FakeUpstream, rpcServer, sendJson, startFakeUpstream } from '../../../support/fake-upstream.ts'
import { serviceForClients } from '../../../support/service-for-clients.ts'
import { item } from '../conversation.ts'

const key = 'node-secret'

let fake: FakeUpstream
let upstream: Upstream
let server: RunningServer
let warnings: string[]

beforeAll(async () => {
  fake = await startFakeUpstream(rpcServer)
  const url = `${fake.origin}/{network}/{key}`
  upstream = createUpstream({ name: 'rpc', url, key, timeoutMs: 300, warn: note => warnings.push(note) })
  const started = await serviceForClients(documentedContract, {
    openingBalanceUsd: '0.0001',
    rpcUpstream: rpcUpstream(upstream, text => text.replaceAll(key, '***')),
  })
  server = started.server
})
afterAll(async () => {
  await Promise.all([server.close(), upstream.close(), fake.close()])
})
beforeEach(() => {
  warnings = []
  fake.become(rpcServer)
})

let accounts = 0
/** An account of its own for each test. */
const freshKey = () => `ref_default_rpc-${accounts++}`

async function send(own: string, body: unknown, headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(`http://127.0.0.1:${server.port}/api/v1/crypto/rpc/base-mainnet`, {
    method: 'POST',
    headers: { authorization: `Bearer ${own}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: JSON.parse(text) as unknown }
}

/** What an account has, in credits. */
async function leftOf(own: string): Promise<number> {
  const { headers } = await send(own, item('eth_sign'))
  return Math.round(Number(headers.get('x-service-balance-usd')) / 0.000000625)
}

test('a call reaches the node of its network with the key in the URL, and nothing of the caller', async () => {
  const own = freshKey()
  const { json, headers } = await send(own, item('eth_gasPrice', 'mine'))
  expect(json).toEqual({ jsonrpc: '2.0', id: 'mine', result: 'eth_gasPrice' })
  expect(headers.get('x-service-rpc-credits')).toBe('20')
  const sent = fake.requests.at(-1)
  expect(sent?.path).toBe(`/base-mainnet/${key}`)
  expect(sent?.headers).not.toHaveProperty('authorization')
  expect(JSON.stringify(sent)).not.toContain(own)
  expect(await leftOf(own)).toBe(140)
})

test('a batch is one batch for the node, its responses get their ids and order back, and each has its price', async () => {
  const own = freshKey()
  const before = fake.requests.length
  const { json, headers } = await send(own, [
    item('eth_call', 'a'),
    item('eth_getBalance', 7, ['invalid']),
    item('debug_traceTransaction', 'a'),
  ])
  expect(fake.requests).toHaveLength(before + 1)
  expect(json).toEqual([
    { jsonrpc: '2.0', id: 'a', result: 'eth_call' },
    { jsonrpc: '2.0', id: 7, error: { code: -32_000, message: 'bad address', data: [1] } },
    { jsonrpc: '2.0', id: 'a', result: 'debug_traceTransaction' },
  ])
  expect(headers.get('x-service-rpc-credits')).toBe('65')
  expect(await leftOf(own)).toBe(95)
})

test('numbers that no double holds pass unchanged', async () => {
  fake.become((_, response) => {
    response.end('{"id":1,"result":{"rent" : 18446744073709551615,"a":"x\\",\\"result\\":1}"},"jsonrpc":"2.0"}')
  })
  const { text } = await send(freshKey(), item('eth_call', 1))
  expect(text).toBe('{"jsonrpc":"2.0","id":1,"result":{"rent" : 18446744073709551615,"a":"x\\",\\"result\\":1}"}}')
})

test('an item without a response gets an error of its own', async () => {
  fake.become((_, response) => sendJson(response, [{ jsonrpc: '2.0', id: 2, result: null }, 'nothing', { id: 9 }]))
  const { json, headers } = await send(freshKey(), [item('eth_call', 1), item('eth_call', 2)])
  expect(json).toMatchObject([
    { id: 1, error: { code: -32_603 } },
    { id: 2, result: null },
  ])
  expect(headers.get('x-service-rpc-credits')).toBe('25')
})

test('one error for a whole batch is the error of each item, also with another status', async () => {
  fake.become((_, response) =>
    sendJson(response, { id: null, error: { code: -32_005, message: `too many for ${key}` } }, 400),
  )
  const { status, json, headers } = await send(freshKey(), [item('eth_call', 1), item('eth_call', 2)])
  expect(status).toBe(200)
  expect(json).toMatchObject([1, 2].map(id => ({ id, error: { code: -32_005, message: 'too many for ***' } })))
  expect(headers.get('x-service-rpc-credits')).toBe('10')
})

test.each<readonly [string, number, (response: ServerResponse) => void]>([
  ['refuses its key', 500, response => sendJson(response, { error: key }, 401)],
  ['limits us', 503, response => sendJson(response, { error: { code: -32_005, message: 'slow down' } }, 429)],
  ['responds 502', 500, response => void response.writeHead(502).end('<html>')],
  ['never responds', 504, () => {}],
  ['closes the connection', 503, response => response.destroy()],
  [
    'sends half of a response',
    503,
    response => void response.writeHead(200, { 'content-length': 100 }).write('{"id"', () => response.destroy()),
  ],
  ['sends malformed JSON', 500, response => void response.end('{"result":')],
  ['sends other JSON', 500, response => sendJson(response, { ok: true })],
  ['sends a list for a single call', 500, response => sendJson(response, [{ id: 1, result: 1 }])],
])('a node that %s is a %d without a charge', async (_, status, breaks) => {
  const own = freshKey()
  fake.become((_, response) => breaks(response))
  const reply = await send(own, item('eth_call'))
  expect(reply.status).toBe(status)
  expect(reply.json).toEqual({ error: expect.any(String) })
  expect(reply.text + warnings.join()).not.toContain(key)
  expect(warnings).toHaveLength(1)
  expect(await leftOf(own)).toBe(160)
})

describe('idempotency', () => {
  const keyed = { 'idempotency-key': 'once' }

  test('requests with one key at the same time reach the node once and are charged once', async () => {
    const own = freshKey()
    const before = fake.requests.length
    const replies = await Promise.all([1, 2, 3].map(() => send(own, item('eth_call'), keyed)))
    expect(fake.requests).toHaveLength(before + 1)
    expect(replies.map(({ text }) => text)).toEqual(Array(3).fill(replies[0]?.text))
    expect(replies.filter(({ headers }) => headers.get('idempotent-replayed') === 'true')).toHaveLength(2)
    expect((await send(own, item('eth_gasPrice'), keyed)).status).toBe(400)
    expect(await leftOf(own)).toBe(140)
  })

  test('another body during the first request is a conflict', async () => {
    const own = freshKey()
    const [first, second] = await Promise.all([
      send(own, item('eth_call'), keyed),
      send(own, item('eth_gasPrice'), keyed),
    ])
    expect([first.status, second.status].sort()).toEqual([200, 400])
    expect(await leftOf(own)).toBe(140)
  })

  test('a failure is not cached, and a waiting request tries again', async () => {
    const own = freshKey()
    let failing = 0
    fake.become((request, response) => (failing++ === 0 ? sendJson(response, {}, 503) : rpcServer(request, response)))
    const replies = await Promise.all([1, 2].map(() => send(own, item('eth_call'), keyed)))
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 503])
    expect(await leftOf(own)).toBe(140)
  })
})

test('concurrent requests cannot spend more than the balance', async () => {
  const own = freshKey()
  const replies = await Promise.all(Array.from({ length: 12 }, () => send(own, item('eth_call'))))
  expect(replies.filter(({ status }) => status === 200)).toHaveLength(8)
  expect(replies.filter(({ status }) => status === 402)).toHaveLength(4)
  expect(await leftOf(own)).toBe(0)
})
