import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import type { RunningServer } from '../../../../src/service/server.ts'
import { chatUpstream } from '../../../../src/service/upstream/chat-upstream.ts'
import { createUpstream } from '../../../../src/service/upstream/http-upstream.ts'
import type { Upstream } from '../../../../src/service/upstream/upstream.ts'
import {
  chunk,
  event,
  type FakeUpstream,
  openAiServer,
  sendJson,
  startFakeUpstream,
} from '../../../support/fake-upstream.ts'
import { serviceForClients } from '../../../support/service-for-clients.ts'

const key = 'sk-upstream-secret'

let fake: FakeUpstream
let upstream: Upstream
let server: RunningServer
let warnings: string[]

beforeAll(async () => {
  fake = await startFakeUpstream(openAiServer)
  upstream = createUpstream({ name: 'chat', url: fake.origin, key, timeoutMs: 300, warn: note => warnings.push(note) })
  const started = await serviceForClients(documentedContract, {
    chatUpstream: chatUpstream(upstream, {
      contract: documentedContract,
      modelOf: model => `their-${model}`,
      hideKey: text => text.replaceAll(key, '***'),
    }),
  })
  server = started.server
})
afterAll(async () => {
  await Promise.all([server.close(), upstream.close(), fake.close()])
})
beforeEach(() => {
  warnings = []
  fake.become(openAiServer)
})

let accounts = 0
/** An account of its own for each test. */
const freshKey = () => `ref_default_chat-${accounts++}`

const send = (own: string, body: Readonly<Record<string, unknown>> = {}, signal: AbortSignal | null = null) =>
  fetch(`http://127.0.0.1:${server.port}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${own}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'ref-nano-3b',
      messages: [{ role: 'user', content: 'hello' }],
      max_completion_tokens: 5,
      ...body,
    }),
    signal,
  })

/** What an account has, and the tokens left in its window. */
async function left(own: string): Promise<{ readonly usd: number; readonly tokens: number }> {
  const before = fake.requests.length
  const response = await send(own, { max_completion_tokens: 0 })
  await response.text()
  expect(fake.requests.length, 'an invalid request is not forwarded').toBe(before)
  const { headers } = response
  return {
    usd: Number(headers.get('x-service-balance-usd')),
    tokens: Number(headers.get('x-ratelimit-remaining-tokens')),
  }
}

const eventsOf = (text: string) =>
  text
    .split('\n\n')
    .filter(part => part.startsWith('data: {'))
    .map(part => JSON.parse(part.slice(6)))

/** 20 prompt tokens, of which 4 are cached, and 5 of the completion, at the list price of ref-nano-3b. */
const priceUsd = (16 * 0.15 + 4 * 0.03 + 5 * 0.6) / 1e6
const tokensPerMinute = 1_000_000

test('a completion is forwarded without the caller and charged by the usage of the upstream', async () => {
  const own = freshKey()
  const response = await send(own, { temperature: 0.5, service_parameters: { strip_thinking_response: true } })
  const body = JSON.parse(await response.text())
  expect(response.status).toBe(200)
  expect(body).toMatchObject({
    object: 'chat.completion',
    model: 'ref-nano-3b',
    choices: [
      {
        index: 0,
        finish_reason: 'length',
        logprobs: null,
        message: { role: 'assistant', content: 'word0 word1 word2 word3 word4' },
      },
    ],
    usage: { prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 },
    cost: { diem: 0 },
    service_parameters: { strip_thinking_response: true, web_search_citations: [] },
  })
  expect(body.cost.usd).toBeCloseTo(priceUsd, 12)
  const sent = fake.requests.at(-1)
  expect(sent?.path).toBe('/chat/completions')
  expect(sent?.headers.authorization).toBe(`Bearer ${key}`)
  expect(JSON.stringify(sent)).not.toContain(own)
  expect(sent?.body).toMatchObject({ model: 'their-ref-nano-3b', max_tokens: 5, temperature: 0.5, stream: false })
  expect(sent?.body).not.toHaveProperty('service_parameters')
  expect(sent?.body).not.toHaveProperty('max_completion_tokens')
  expect(await left(own)).toEqual({ usd: 10 - priceUsd, tokens: tokensPerMinute - 25 })
})

test('a stream passes through as it comes, and its charge is in its last chunk and in the balance', async () => {
  const own = freshKey()
  let go = () => {}
  const paused = new Promise<void>(resolve => {
    go = resolve
  })
  fake.become(async (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(event(chunk({ role: 'assistant', content: 'one' })))
    await paused
    response.write(event(chunk({ content: ' two' }, { finish_reason: 'stop' })).slice(0, 40))
    response.write(event(chunk({ content: ' two' }, { finish_reason: 'stop' })).slice(40))
    response.end(event({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 2 } }) + event('[DONE]'))
  })
  const response = await send(own, { stream: true })
  const reader = response.body?.getReader()
  const first = Buffer.from((await reader?.read())?.value ?? []).toString()
  expect(eventsOf(first)).toMatchObject([{ model: 'ref-nano-3b', choices: [{ delta: { content: 'one' } }] }])
  go()
  let rest = ''
  for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read())
    rest += Buffer.from(part.value).toString()
  expect(eventsOf(rest)).toMatchObject([
    { choices: [{ delta: { content: ' two' }, finish_reason: 'stop', stop_reason: 'stop' }] },
    { choices: [], usage: { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 }, cost: { diem: 0 } },
  ])
  expect(rest.endsWith('data: [DONE]\n\n')).toBe(true)
  expect(fake.requests.at(-1)?.body.stream_options).toEqual({ include_usage: true })
  expect(await left(own)).toEqual({ usd: 10 - (7 * 0.15 + 2 * 0.6) / 1e6, tokens: tokensPerMinute - 9 })
})

test('the OpenAI SDK reads a forwarded stream to its end', async () => {
  const baseURL = `http://127.0.0.1:${server.port}/api/v1`
  const runner = new OpenAI({ baseURL, apiKey: freshKey(), maxRetries: 0 }).chat.completions.stream({
    model: 'ref-nano-3b',
    messages: [{ role: 'user', content: 'hello' }],
    max_completion_tokens: 3,
    stream_options: { include_usage: true },
  })
  expect(await runner.finalContent()).toBe('word0 word1 word2')
  expect(await runner.totalUsage()).toMatchObject({ prompt_tokens: 20, completion_tokens: 3 })
})

test('tokens are counted where the upstream states no usage', async () => {
  fake.become((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(event(chunk({ content: 'three short words' }, { finish_reason: 'stop' })) + event('[DONE]'))
  })
  const [, closing] = eventsOf(await (await send(freshKey(), { stream: true })).text())
  expect(closing.usage.completion_tokens).toBe(3)
  fake.become((_, response) =>
    sendJson(response, { choices: [{ message: { role: 'assistant', content: 'two words' }, finish_reason: 'stop' }] }),
  )
  expect(JSON.parse(await (await send(freshKey())).text()).usage.completion_tokens).toBe(2)
})

type Break = (response: ServerResponse) => void
const failures: readonly (readonly [string, number, Break])[] = [
  ['refuses its key', 500, response => sendJson(response, { error: { message: `bad key ${key}` } }, 401)],
  ['responds 500', 500, response => sendJson(response, { error: 'oh' }, 500)],
  ['responds 404', 500, response => sendJson(response, { error: { message: 'no such model' } }, 404)],
  ['is at capacity', 503, response => sendJson(response, {}, 503)],
  ['limits us', 503, response => sendJson(response, {}, 429)],
  ['times out itself', 504, response => sendJson(response, {}, 504)],
  ['never responds', 504, () => {}],
  ['closes the connection', 503, response => response.destroy()],
  [
    'sends malformed JSON',
    500,
    response => void response.writeHead(200, { 'content-type': 'text/event-stream' }).end('{"choices"'),
  ],
  [
    'sends another type',
    500,
    response => void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>hi</p>'),
  ],
  [
    'sends a number as content',
    500,
    response => sendJson(response, { choices: [{ message: { role: 'assistant', content: 5 } }] }),
  ],
  ['redirects', 500, response => void response.writeHead(302, { location: 'http://127.0.0.1:9/' }).end()],
]

describe.each([false, true])('with stream: %s', stream => {
  test.each(failures)('an upstream that %s is a %d without a charge', async (_, status, breaks) => {
    const own = freshKey()
    fake.become((_, response) => breaks(response))
    const response = await send(own, { stream })
    expect(response.status).toBe(status)
    const text = await response.text()
    expect(JSON.parse(text)).toEqual({ error: expect.any(String) })
    expect(text + warnings.join()).not.toContain(key)
    expect(warnings).toHaveLength(1)
    expect(await left(own)).toEqual({ usd: 10, tokens: tokensPerMinute })
  })

  test('what the upstream calls invalid is a 400 with its words, but not with its key', async () => {
    const own = freshKey()
    fake.become((_, response) => sendJson(response, { error: { message: `too long for ${key}` } }, 400))
    const response = await send(own, { stream })
    expect([response.status, await response.json()]).toEqual([
      400,
      { error: 'Invalid request parameters', issues: [{ message: 'too long for ***' }] },
    ])
    expect(await left(own)).toEqual({ usd: 10, tokens: tokensPerMinute })
  })
})

test('a Retry-After of the upstream is passed on', async () => {
  fake.become((_, response) => void response.writeHead(429, { 'retry-after': '7' }).end())
  const response = await send(freshKey())
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '7'])
})

test.each([
  ['closes', (response: ServerResponse) => void response.end()],
  ['breaks off', (response: ServerResponse) => void response.destroy()],
  ['sends an error', (response: ServerResponse) => void response.end(event({ error: { message: 'lost' } }))],
  ['falls silent', () => {}],
])('a stream whose upstream %s has no end and no charge', async (_, breaks) => {
  const own = freshKey()
  let goOn = () => {}
  fake.become((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(event(chunk({ content: 'one' })))
    goOn = () => breaks(response)
  })
  const response = await send(own, { stream: true })
  expect(response.status).toBe(200)
  goOn()
  await expect(response.text()).rejects.toThrow()
  expect(warnings).toHaveLength(1)
  expect(await left(own)).toEqual({ usd: 10, tokens: tokensPerMinute })
})

test('a caller that leaves a stream ends the request to the upstream, and pays for what was sent', async () => {
  const own = freshKey()
  let ended: Promise<unknown> = Promise.resolve()
  fake.become((_, response) => {
    ended = once(response, 'close')
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(event(chunk({ content: 'one two three' })))
  })
  const leaving = new AbortController()
  const response = await send(own, { stream: true }, leaving.signal)
  await response.body?.getReader().read()
  leaving.abort()
  await ended
  expect(warnings).toEqual([])
  expect((await left(own)).usd).toBeLessThan(10)
  expect((await left(own)).usd).toBeGreaterThan(10 - 0.0001)
})

test('a caller that leaves before the response ends the request to the upstream, and pays nothing', async () => {
  const own = freshKey()
  let arrived = () => {}
  const arrives = new Promise<void>(resolve => {
    arrived = resolve
  })
  let ended: Promise<unknown> = Promise.resolve()
  fake.become((_, response) => {
    ended = once(response, 'close')
    arrived()
  })
  const leaving = new AbortController()
  const response = send(own, {}, leaving.signal).catch(() => null)
  await arrives
  leaving.abort()
  await Promise.all([response, ended])
  expect(await left(own)).toEqual({ usd: 10, tokens: tokensPerMinute })
})

test('a slow reader slows the upstream down', async () => {
  const filler = 'x'.repeat(64 * 1024)
  let written = 0
  let drained = 0
  const total = 1_000
  fake.become(async (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (; written < total; written++) {
      if (response.write(event(chunk({ content: filler })))) continue
      drained++
      await once(response, 'drain')
    }
    response.end(event(chunk({}, { finish_reason: 'stop' })) + event('[DONE]'))
  })
  const leaving = new AbortController()
  const response = await send(freshKey(), { stream: true }, leaving.signal)
  // Nobody reads. The upstream stops when the buffers between are full; here a short silence shows it.
  const settled = async (): Promise<number> => {
    const before = written
    await new Promise(resolve => setTimeout(resolve, 100))
    return written === before ? written : settled()
  }
  expect(await settled()).toBeLessThan(total)
  expect(drained).toBeGreaterThan(0)
  expect(response.status).toBe(200)
  leaving.abort()
})
