import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../../src/lib/clock.ts'
import { createMask } from '../../../../src/lib/mask/mask.ts'
import { UsageError } from '../../../../src/lib/usage-error.ts'
import {
  createPost,
  finishInTime,
  parseReceiver,
  readPushResult,
} from '../../../../src/outputs/remote-write/receiver.ts'
import type { Exchange } from '../../../../src/produce/transport/transport.ts'

import { undiciTransport } from '../../../../src/produce/transport/undici.ts'
import { manualClock } from '../../../../src/prove/manual-clock.ts'

import { portOf } from '../../produce/transport/loopback.ts'

const at = (address: string, credentials?: string) =>
  parseReceiver('--remote-write', address, 'TURNPIKE_X', credentials)

function mistakeOf(address: string, credentials?: string): string {
  try {
    at(address, credentials)
  } catch (cause) {
    if (cause instanceof UsageError) return cause.message
    throw cause
  }
  return ''
}

describe('the address of a receiver', () => {
  test.each([
    ['with a password', 'http://me:hush-93@127.0.0.1:9090', /--remote-write: got an address with a user.*TURNPIKE_X/],
    ['with a user', 'http://hush-93@127.0.0.1:9090', /with a user name or a password/],
    ['with a query', 'http://127.0.0.1:9090/write?token=hush-93', /with \? or #/],
    ['with a fragment', 'http://127.0.0.1:9090/write#hush-93', /with \? or #/],
    ['without a scheme', 'hush-93:9090', /not an http or https address/],
    ['that is not a URL', 'hush-93', /not an http or https address/],
    ['of another scheme', 'ftp://hush-93', /not an http or https address/],
    ['that is empty', '', /not an http or https address/],
  ])('%s is an error, and is not shown', (_, address, words) => {
    const message = mistakeOf(address)
    expect(message).toMatch(words)
    expect(message).not.toContain('hush-93')
  })

  test('credentials that are invalid in a header are an error, and are not shown', () => {
    const message = mistakeOf('http://127.0.0.1:9090', 'hush-93\n')
    expect(message).toMatch(/^TURNPIKE_X: got a space or a character outside ASCII/)
    expect(message).not.toContain('hush-93')
  })

  test.each([
    [undefined, null],
    ['', null],
    ['t0ken', 'Bearer t0ken'],
    ['me:hush', 'Basic bWU6aHVzaA=='],
  ])('credentials %s are %s', (credentials, authorization) => {
    expect(at('https://example.com/api/v1/push', credentials)).toMatchObject({
      address: 'https://example.com/api/v1/push',
      authorization,
    })
  })
})

async function receiving(respond: (request: IncomingMessage, response: ServerResponse, body: Buffer) => void) {
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', part => parts.push(part)).on('end', () => respond(request, response, Buffer.concat(parts)))
  })
  const origin = `http://127.0.0.1:${await portOf(server)}`
  const clock = systemClock()
  const { send, close } = undiciTransport({ baseUrl: origin, clock, maxConnections: 1 })
  onTestFinished(close)
  return (path: string, credentials?: string) =>
    createPost(
      { receiver: at(`${origin}${path}`, credentials), send, clock },
      { method: 'PUT', headers: { 'x-kind': 'k' } },
    )
}
const never = new AbortController().signal

describe('a request to a receiver', () => {
  test('is sent unchanged to the path, with the credentials', async () => {
    let seen: unknown
    const post = await receiving(({ method, url, headers }, response, body) => {
      seen = [method, url, headers['x-kind'], headers.authorization, [...body]]
      response.writeHead(204).end()
    })
    const bytes = Uint8Array.of(0, 255, 10, 128)
    expect(await post('/api/v1/write', 't0ken')(bytes, never)).toEqual({ kind: 'accepted' })
    expect(seen).toEqual(['PUT', '/api/v1/write', 'k', 'Bearer t0ken', [0, 255, 10, 128]])
  })

  test('does not follow a redirect, which would leak the credentials', async () => {
    const paths: unknown[] = []
    const post = await receiving(({ url }, response) => {
      paths.push(url)
      response.writeHead(308, { location: '/elsewhere' }).end()
    })
    expect(await post('/write', 't0ken')(Uint8Array.of(1), never)).toMatchObject({ kind: 'refused' })
    expect(paths).toEqual(['/write'])
  })

  test.each([
    ['t0ken', 'Bearer ***'],
    ['me:hush-93', 'Basic KioqKioqKioqKg=='],
  ])('is quoted without the credentials %s', async (credentials, shown) => {
    const post = await receiving(({ headers }, response) => {
      response.writeHead(403).end(`nobody has ${headers.authorization}`)
    })
    const reason = `status 403: nobody has ${shown}`
    expect(await post('/', credentials)(Uint8Array.of(1), never)).toEqual({ kind: 'refused', reason })
  })

  test('without a server may be retried', async () => {
    const clock = systemClock()
    const { send, close } = undiciTransport({ baseUrl: 'http://127.0.0.1:9', clock, maxConnections: 1 })
    onTestFinished(close)
    const post = createPost({ receiver: at('http://127.0.0.1:9/'), send, clock }, { method: 'POST', headers: {} })
    expect(await post(Uint8Array.of(1), never)).toMatchObject({
      kind: 'later',
      reason: expect.stringMatching(/^connect-refused/),
    })
  })
})

const answered = (status: number, headers: Exchange['headers'] = {}, body = ''): Exchange => ({
  sentMs: 0,
  headersMs: 1,
  endMs: 2,
  status,
  headers,
  body: Buffer.from(body),
  bytes: body.length,
  failure: null,
})
const nowMs = Date.UTC(2026, 0, 15, 12)
const read = (exchange: Exchange, secrets: readonly string[] = []) =>
  readPushResult(exchange, nowMs, createMask(secrets))

describe('the result of a push', () => {
  test.each([200, 202, 204])('%i: accepted', status => {
    expect(read(answered(status))).toEqual({ kind: 'accepted' })
  })

  test.each([500, 502, 503, 429])('%i: retried later', status => {
    expect(read(answered(status))).toEqual({ kind: 'later', reason: `status ${status}`, afterMs: null })
  })

  test.each([400, 401, 404, 413])('%i: refused', status => {
    expect(read(answered(status))).toEqual({ kind: 'refused', reason: `status ${status}` })
  })

  test('a redirect is not followed', () => {
    expect(read(answered(307, { location: 'http://elsewhere' }))).toMatchObject({ kind: 'refused' })
  })

  test('no response: retried later', () => {
    const failure = { reason: 'connect-refused', detail: 'ECONNREFUSED' } as const
    expect(read({ ...answered(0), status: null, failure })).toMatchObject({ kind: 'later', afterMs: null })
    // A truncated response is not conclusive.
    expect(read({ ...answered(204), failure })).toMatchObject({ kind: 'later' })
  })

  test.each([
    ['120', 120_000],
    ['0', 0],
    ['Thu, 15 Jan 2026 12:00:30 GMT', 30_000],
    ['Thu, 15 Jan 2026 11:00:00 GMT', 0],
    ['soon', null],
  ])('retry-after: %s', (text, afterMs) => {
    const reply = read(answered(429, { 'retry-after': text }))
    expect(reply).toMatchObject({ kind: 'later', afterMs })
  })

  test('the response is quoted as one short line', () => {
    const message = `out of\n\u001b[31morder ${'x'.repeat(500)}`
    const reply = read(answered(400, {}, message))
    expect(reply).toMatchObject({ reason: expect.stringMatching(/^status 400: out of \[31morder x+$/) })
    expect('reason' in reply && reply.reason.length).toBeLessThan(200)
  })

  test('a response with a secret is quoted without it', () => {
    const reply = read(answered(401, {}, 'no such token hush-93, sorry'), ['aHVzaC05Mw==', 'hush-93'])
    expect(reply).toEqual({ kind: 'refused', reason: 'status 401: no such token ***, sorry' })
  })
})

describe('the final work for a receiver', () => {
  /** Work that runs until its abort, and the time of that abort. */
  async function overAtMs(quit: AbortSignal, clock = manualClock()): Promise<number> {
    await clock.run(
      finishInTime(
        clock,
        quit,
        until =>
          new Promise<void>(resolve => (until.aborted ? resolve() : until.addEventListener('abort', () => resolve()))),
      ),
    )
    return clock.nowMs()
  }

  test('has ten seconds', async () => {
    expect(await overAtMs(new AbortController().signal)).toBe(10_000)
  })

  test('ends immediately on a quit, before or during the work', async () => {
    expect(await overAtMs(AbortSignal.abort())).toBe(0)
    const clock = manualClock()
    const quit = new AbortController()
    clock.at(3_000, () => quit.abort())
    expect(await overAtMs(quit.signal, clock)).toBe(3_000)
  })

  test('leaves no timer if it is done in time', async () => {
    const clock = manualClock()
    await clock.run(finishInTime(clock, new AbortController().signal, async () => {}))
    await expect(clock.run(new Promise(() => {}))).rejects.toThrow('no timer')
    expect(clock.nowMs()).toBe(0)
  })
})
