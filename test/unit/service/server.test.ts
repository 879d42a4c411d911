import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import type { WhileFull } from '../../../src/service/message.ts'
import { type RunningServer, startServer } from '../../../src/service/server.ts'
import { serviceForClients } from '../../support/service-for-clients.ts'
import { item } from './conversation.ts'

let server: RunningServer
let base: string

beforeAll(async () => {
  const timing = { ttftMs: 30, itlMs: 5, rpcMs: 20 }
  ;({ base, server } = await serviceForClients(documentedContract, { timing }))
})

afterAll(() => server.close())

const post = (path: string, body: unknown, signal: AbortSignal | null = null) =>
  fetch(`${base}${path}`, {
    method: 'POST',
    headers: { authorization: 'Bearer ref_default_ada', 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal,
  })
const question = { model: 'ref-nano-3b', messages: [{ role: 'user', content: 'hello' }], max_completion_tokens: 8 }

test('an RPC response arrives after its delay, with one Date and a length', async () => {
  const startedMs = performance.now()
  const response = await post('/crypto/rpc/base-mainnet', item('eth_chainId'))
  expect(performance.now() - startedMs).toBeGreaterThanOrEqual(19)
  expect(response.status).toBe(200)
  expect(response.headers.get('date')).toMatch(/^\w{3}, \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2} GMT$/)
  expect(response.headers.get('content-length')).toBe(String((await response.text()).length))
})

test('a stream arrives in parts, and the balance includes its charge at its end', async () => {
  const response = await post('/chat/completions', { ...question, stream: true })
  const before = response.headers.get('x-service-balance-usd')
  let parts = 0
  let text = ''
  for await (const part of response.body ?? []) {
    parts++
    text += Buffer.from(part).toString()
  }
  expect(parts).toBeGreaterThan(1)
  expect(text.endsWith('data: [DONE]\n\n')).toBe(true)
  const after = await post('/crypto/rpc/base-mainnet', item('eth_chainId'))
  expect(Number(after.headers.get('x-service-balance-usd'))).toBeLessThan(Number(before))
  await after.text()
})

test('a client that disconnects during a stream does not affect the next request', async () => {
  const leaving = new AbortController()
  const response = await post('/chat/completions', { ...question, stream: true }, leaving.signal)
  leaving.abort()
  await expect(response.text()).rejects.toThrow()
  const next = await post('/chat/completions', question)
  expect(next.status).toBe(200)
  await next.text()
})

test('a path outside the base path returns 404', async () => {
  const response = await fetch(`http://127.0.0.1:${server.port}/models`)
  expect(response.status).toBe(404)
  expect(await response.json()).toEqual({ error: 'Not found' })
})

test('an endless body is rejected before its end', async () => {
  const chunk = Buffer.alloc(1024 * 1024)
  const endless = new ReadableStream({ pull: controller => controller.enqueue(chunk) })
  const response = await fetch(`${base}/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer ref_default_ada', 'content-type': 'application/json' },
    body: endless,
    duplex: 'half',
  })
  expect(response.status).toBe(413)
})

test('a completion is compressed if the client accepts it', async () => {
  const response = await post('/chat/completions', question)
  expect(response.headers.get('content-encoding')).toBe('gzip')
  expect(await response.json()).toMatchObject({ object: 'chat.completion' })
})

test.each(['日本語', '😀', 'ÿ', 'a\u0000b\r\nc'])('a model called %j answers, with its name in UTF-8', async id => {
  const [first] = documentedContract.models
  if (first === undefined) throw new Error('the document has models')
  const other = await serviceForClients({ ...documentedContract, models: [{ ...first, id, name: id }] })
  const response = await fetch(`${other.base}/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer ref_default_ada', 'content-type': 'application/json' },
    body: JSON.stringify({ ...question, model: id }),
  })
  await response.text()
  await other.server.close()
  expect(response.status).toBe(200)
  const name = Buffer.from(response.headers.get('x-service-model-id') ?? '', 'latin1').toString()
  expect(name).toBe(id.replace(/\p{Cc}/gu, ' ').trim())
})

/** All that the server sends to these bytes, and then the end. */
const answerTo = (bytes: string): Promise<string> =>
  new Promise((resolve, reject) => {
    let text = ''
    const socket = connect(server.port, '127.0.0.1', () => socket.write(bytes))
    socket
      .on('data', part => {
        text += part.toString()
      })
      .on('end', () => resolve(text))
      .on('error', reject)
  })

test.each([
  ['no HTTP', 'HELLO\r\n\r\n', 400],
  ['no host', 'GET /api/v1/models HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
  ['too many headers', `GET /api/v1/models HTTP/1.1\r\nHost: a\r\nX-Large: ${'a'.repeat(20_000)}\r\n\r\n`, 431],
  ['a tunnel', 'CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n', 404],
  ['an unknown expectation', 'GET /api/v1/none HTTP/1.1\r\nHost: a\r\nExpect: b\r\nConnection: close\r\n\r\n', 404],
])('%s gets an error with the headers of every response', async (_, bytes, status) => {
  const [head = '', body = ''] = (await answerTo(bytes)).split('\r\n\r\n')
  expect(head.split('\r\n')[0]).toContain(`HTTP/1.1 ${status} `)
  for (const name of ['content-type', 'date', 'cf-ray', 'x-service-version', 'content-length'])
    expect(head).toMatch(new RegExp(`^${name}: .`, 'm'))
  expect(JSON.parse(body)).toEqual({ error: status === 404 ? 'Not found' : 'This is not a valid HTTP request' })
})

test('HEAD gets the headers of GET', async () => {
  const [head, get] = await Promise.all(['HEAD', 'GET'].map(method => fetch(`${base}/models`, { method })))
  expect([head?.status, await head?.text()]).toEqual([200, ''])
  expect(head?.headers.get('content-length')).toBe(get?.headers.get('content-length'))
  await get?.text()
})

/** What arrives of 40 parts of half a megabyte at a client that reads nothing for a while. */
async function readLate(whileFull: WhileFull | undefined): Promise<number> {
  const part = 'x'.repeat(524_288)
  const chunks = Array.from({ length: 40 }, (_, index) => ({ afterMs: index * 5, text: part }))
  const reply = { status: 200, headers: {}, afterMs: 0, body: { kind: 'stream', chunks, whileFull } } as const
  const slow = await startServer({
    service: { respond: () => reply, respondLater: () => null, chains: [] },
    port: 0,
    host: '127.0.0.1',
  })
  let bytes = 0
  const socket = connect(slow.port, '127.0.0.1')
  socket.pause().write('GET /api/v1/models HTTP/1.0\r\n\r\n')
  await new Promise(resolve => setTimeout(resolve, 350))
  socket.on('data', read => {
    bytes += read.length
  })
  await new Promise(resolve =>
    socket
      .on('error', () => {})
      .on('close', resolve)
      .resume(),
  )
  await slow.close()
  return Math.floor(bytes / part.length)
}

test.each<[string, WhileFull | undefined, (parts: number) => boolean]>([
  ['waits', undefined, parts => parts === 40],
  ['is lost', () => 'is-lost', parts => parts > 1 && parts < 40],
  ['breaks off the stream', () => 'breaks-off', parts => parts < 40],
])('what a client has no room for %s', async (_, whileFull, fits) => {
  expect(await readLate(whileFull)).toSatisfy(fits)
})
