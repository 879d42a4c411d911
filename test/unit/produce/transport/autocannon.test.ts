import type { Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { type Clock, systemClock } from '../../../../src/lib/clock.ts'
import { createSaturate, toHttpText } from '../../../../src/produce/transport/autocannon.ts'
import type { Exchange, HttpRequest } from '../../../../src/produce/transport/transport.ts'
import { limits, ok, plainRequest, responding } from './loopback.ts'

/** Keeps connections busy with `calls` requests; each body contains its index. Returns their exchanges in order. */
async function saturate(
  url: string,
  {
    calls,
    connections = 1,
    signal = new AbortController().signal,
    ...request
  }: { readonly calls: number; readonly connections?: number; readonly signal?: AbortSignal } & Partial<HttpRequest>,
): Promise<readonly Exchange[]> {
  const ends: Exchange[] = []
  let sent = 0
  const next = () => {
    if (sent === calls || signal.aborted) return null
    const call = sent++
    const body = JSON.stringify({ call })
    return {
      request: { ...plainRequest, body, ...request },
      onEnd: (exchange: Exchange) => {
        if (ends[call] !== undefined) throw new Error(`call ${call} ended twice`)
        ends[call] = exchange
      },
    }
  }
  await createSaturate({ baseUrl: `${url}/api/v1/`, clock: systemClock() })(next, connections, signal)
  return ends
}

/**
 * A server that sends the nth of these responses to the nth request over all connections, and the last one to all later
 * requests.
 */
async function script(...responses: readonly (string | ((socket: Socket) => void))[]) {
  let served = 0
  return responding(socket => {
    const response = responses[Math.min(served++, responses.length - 1)]
    if (typeof response === 'string') socket.write(response, 'latin1')
    else response?.(socket)
  })
}

const outcomes = (ends: readonly Exchange[]) =>
  ends.map(({ failure, status, body }) => failure?.reason ?? `${status} ${body.toString()}`)

describe('busy connections', () => {
  test('send each request once and unchanged, and return the response with times in order', async () => {
    const { url, seen } = await responding(ok('{"ok":true}', 'X-Twice: a\r\nx-twice: b\r\n'))
    const ends = await saturate(url, { calls: 200, connections: 8, headers: { authorization: 'Bearer k' } })
    const sent = seen.requests.map(text => text.slice(text.indexOf('\r\n\r\n') + 4))
    expect(sent.toSorted()).toEqual(Array.from({ length: 200 }, (_, call) => JSON.stringify({ call })).toSorted())
    expect(seen.connections).toBe(8)
    expect(seen.requests[0]).toMatch(/^POST \/api\/v1\/chat\/completions HTTP\/1\.1\r\n/)
    expect(seen.requests[199]).toContain('authorization: Bearer k')
    expect(ends).toHaveLength(200)
    for (const { sentMs, headersMs, endMs, status, headers, body, bytes, failure } of ends) {
      expect(sentMs <= (headersMs ?? Number.NaN) && (headersMs ?? Number.NaN) <= endMs).toBe(true)
      expect({ status, failure, bytes, body: body.toString() }).toEqual({
        status: 200,
        failure: null,
        bytes: 11,
        body: '{"ok":true}',
      })
      expect(headers).toMatchObject({ 'content-length': '11', 'x-twice': 'a, b' })
    }
  })

  test('send a GET without a body', async () => {
    const { url, seen } = await responding(ok('{}'))
    await saturate(url, { calls: 2, method: 'GET', path: '/models', body: null })
    expect(seen.requests.map(text => text.split('\r\n')[0])).toEqual(Array(2).fill('GET /api/v1/models HTTP/1.1'))
    expect(seen.requests.join()).not.toMatch(/content-length/i)
  })

  test('end without sending if there are no requests', async () => {
    const { url, seen } = await responding(ok('{}'))
    expect(await saturate(url, { calls: 0, connections: 3 })).toEqual([])
    expect(await saturate(url, { calls: 1, connections: 3 })).toHaveLength(1)
    expect(seen.requests).toHaveLength(1)
  })

  test('return the bytes of a body whose characters are split between reads', async () => {
    const text = Buffer.from('{"text":"größer €"}')
    const { url } = await responding(socket => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n`)
      const pieces = [...text].map(byte => Buffer.from([byte]))
      const writeNext = () => {
        const piece = pieces.shift()
        if (piece !== undefined) socket.write(piece, () => setImmediate(writeNext))
      }
      socket.setNoDelay(true)
      writeNext()
    })
    expect(outcomes(await saturate(url, { calls: 2 }))).toEqual(Array(2).fill('200 {"text":"größer €"}'))
  })

  test('return a complete chunked body', async () => {
    const { url } = await responding(
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\n{"a\r\n4\r\n":1}\r\n0\r\n\r\n',
    )
    expect(outcomes(await saturate(url, { calls: 2 }))).toEqual(Array(2).fill('200 {"a":1}'))
  })
})

describe('a fault on one connection fails one request, and the next one gets a new connection', () => {
  const closing = (text: string) => (socket: Socket) => void socket.end(text, 'latin1')

  test.each([
    ['is closed inside the body', closing('HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{"a'), 'connection-lost'],
    ['is closed without a response', closing(''), 'connection-lost'],
    ['is reset', (socket: Socket) => void socket.resetAndDestroy(), 'connection-lost'],
    ['returns invalid HTTP', 'SSH-2.0-OpenSSH_9.6\r\n\r\n', 'protocol'],
    ['returns a body above the maximum', ok('x'.repeat(100_001)), 'body-too-large'],
    ['says something in between first', 'HTTP/1.1 103 Early Hints\r\n\r\n', 'cancelled'],
    ['is closed at the end of a body of no length', closing('HTTP/1.1 200 OK\r\n\r\nall of it'), '200 all of it'],
    ['announces that it closes', ok('last', 'Connection: close\r\n'), '200 last'],
  ])('when it %s', async (_, response, outcome) => {
    const { url, seen } = await script(ok('first'), response, ok('third'))
    expect(outcomes(await saturate(url, { calls: 4 }))).toEqual(['200 first', outcome, '200 third', '200 third'])
    expect(seen.connections).toBe(2)
  })

  test('when no response arrives in time', async () => {
    const { url, seen } = await script(ok('first'), () => {}, ok('third'))
    const ends = await saturate(url, { calls: 3, timeouts: { ...limits, headersMs: 40 } })
    expect(outcomes(ends)).toEqual(['200 first', 'headers-timeout', '200 third'])
    expect(seen.connections).toBe(2)
  })
})

test('an unrequested response is not the response to the next request', async () => {
  const { url, seen } = await script(`${ok('first')}${ok('nobody asked for this')}`, ok('second'))
  expect(outcomes(await saturate(url, { calls: 3 }))).toEqual(['200 first', '200 second', '200 second'])
  expect(seen.connections).toBe(2)
})

test('a response is stamped when it is read; the next request is sent in a later turn', async () => {
  const { url } = await responding(ok('{}'))
  const real = systemClock()
  const log: string[] = []
  const endsMs: number[] = []
  const turnsMs: number[] = []
  const atPrecisely: Clock['atPrecisely'] = (dueMs, wake) =>
    real.atPrecisely(dueMs, () => {
      turnsMs.push(real.nowMs())
      log.push('turn')
      wake()
      log.push('over')
    })
  let calls = 3
  const next = () => {
    log.push('asked')
    const onEnd = ({ endMs }: Exchange) => {
      endsMs.push(endMs)
      log.push('handed')
    }
    return calls-- > 0 ? { request: plainRequest, onEnd } : null
  }
  await createSaturate({ baseUrl: url, clock: { ...real, atPrecisely } })(next, 1, new AbortController().signal)
  expect(log.join(' ')).toMatch(/^asked(?: turn asked handed over){3}/)
  expect(endsMs.map((endMs, index) => endMs <= (turnsMs[index] ?? 0))).toEqual([true, true, true])
})

test('a target that does not listen fails each request, and is retried', async () => {
  const ends = await saturate('http://127.0.0.1:1', { calls: 3 })
  expect(outcomes(ends)).toEqual(Array(3).fill('connect-refused'))
})

test('an abort cancels requests in flight, and no more are sent', async () => {
  const abort = new AbortController()
  const { url, seen } = await responding(() => {
    if (seen.requests.length === 4) abort.abort()
  })
  const ends = await saturate(url, { calls: 100, connections: 4, signal: abort.signal })
  expect(outcomes(ends)).toEqual(Array(4).fill('cancelled'))
})

test('an https target is refused, because its certificate would not be verified', () => {
  expect(() => createSaturate({ baseUrl: 'https://localhost', clock: systemClock() })).toThrow('https:')
})

describe('the text of a request', () => {
  const base = { host: 'api.test:8080', pathPrefix: '/api/v1' }

  test('a request is written unchanged, with the headers that HTTP requires and no others', () => {
    const headers = { authorization: 'Bearer k', 'content-type': 'application/json' }
    expect(toHttpText({ method: 'POST', path: '/x?y=1', headers, body: '{}' }, base).split('\r\n')).toEqual([
      'POST /api/v1/x?y=1 HTTP/1.1',
      'host: api.test:8080',
      'connection: keep-alive',
      'authorization: Bearer k',
      'content-type: application/json',
      'content-length: 2',
      '',
      '{}',
    ])
  })

  test('content-length is the number of bytes, and a request without a body has none', () => {
    expect(toHttpText({ method: 'POST', path: '/', headers: {}, body: '"€"' }, base)).toContain('content-length: 5\r\n')
    expect(toHttpText({ method: 'GET', path: '/', headers: {}, body: null }, base)).toBe(
      'GET /api/v1/ HTTP/1.1\r\nhost: api.test:8080\r\nconnection: keep-alive\r\n\r\n',
    )
  })
})
