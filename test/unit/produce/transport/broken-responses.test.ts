import { createServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import { ok, portOf, responding, sendingTo } from './loopback.ts'

const announced = 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n'
const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n'

describe('a truncated response is a lost connection, and its beginning is kept', () => {
  test.each([
    ['a body shorter than announced', 'end', `${announced}hello`],
    ['a body shorter than announced, with connection: close', 'end', `${closing(announced)}hello`],
    ['half a body, then a reset', 'reset', `${announced}hello`],
    ['chunks without the last one', 'end', chunked],
    ['chunks without the last one, with connection: close', 'end', closing(chunked)],
    ['chunks without the last one, then a reset', 'reset', chunked],
    ['a body of unknown length, then a reset', 'reset', 'HTTP/1.1 200 OK\r\n\r\nhello'],
  ] as const)('%s', async (_, ending, bytes) => {
    const { url, seen } = await responding(socket => {
      socket.write(bytes, () => setTimeout(() => (ending === 'end' ? socket.end() : socket.resetAndDestroy()), 5))
    })
    const exchange = await sendingTo(url)()
    expect(exchange).toMatchObject({ status: 200, bytes: 5, failure: { reason: 'connection-lost' } })
    expect(exchange.body.toString()).toBe('hello')
    expect(seen.requests).toHaveLength(1)
  })
})

describe('a connection that ends before the response', () => {
  test.each([
    ['closed', 'end'],
    ['reset', 'reset'],
  ] as const)('when it is %s: lost, without a retry of the POST', async (_, ending) => {
    const { url, seen } = await responding(socket => (ending === 'end' ? socket.end() : socket.resetAndDestroy()))
    expect(await sendingTo(url)()).toMatchObject({ status: null, failure: { reason: 'connection-lost' } })
    await new Promise(resolve => setTimeout(resolve, 30))
    expect(seen.requests).toHaveLength(1)
  })

  test('is not retried for a GET either', async () => {
    const { url, seen } = await responding(socket => socket.destroy())
    expect((await sendingTo(url)({ method: 'GET', body: null })).failure?.reason).toBe('connection-lost')
    await new Promise(resolve => setTimeout(resolve, 30))
    expect(seen.requests).toHaveLength(1)
  })
})

test('a 103 response and then nothing is no response', async () => {
  const { url } = await responding(socket => socket.end('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'))
  const exchange = await sendingTo(url)()
  expect(exchange).toMatchObject({ status: null, headersMs: null, failure: { reason: 'connection-lost' } })
  expect(Object.keys(exchange.headers)).toEqual([])
})

describe('invalid HTTP', () => {
  test.each([
    ['garbage', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['a header without a colon', 'HTTP/1.1 200 OK\r\nnot a header\r\n\r\n'],
    ['a chunk of no size', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n'],
    ['headers without end', `HTTP/1.1 200 OK\r\n${'x-a: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n'.repeat(2_000)}`],
  ])('%s is a protocol failure', async (_, bytes) => {
    const { url } = await responding(bytes)
    expect((await sendingTo(url)()).failure?.reason).toBe('protocol')
  })

  test('bytes after a complete response do not affect it', async () => {
    const { url } = await responding(`${ok('{}')}trailing rubbish`)
    expect(await sendingTo(url)()).toMatchObject({ status: 200, bytes: 2, failure: null })
  })
})

describe('excessive responses', () => {
  test('of 300 header lines, 256 are kept', async () => {
    const lines = Array.from({ length: 300 }, (_, i) => `x-${i}: ${'a'.repeat(150)}\r\n`).join('')
    const { url } = await responding(ok('{}', lines))
    const exchange = await sendingTo(url)()
    expect(exchange.failure).toBeNull()
    expect(Object.keys(exchange.headers)).toHaveLength(256)
  })

  test.each([
    ['announced', `HTTP/1.1 200 OK\r\ncontent-length: 2000\r\n\r\n${'x'.repeat(2_000)}`],
    [
      'in chunks',
      `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${`64\r\n${'x'.repeat(100)}\r\n`.repeat(20)}0\r\n\r\n`,
    ],
    ['to the end of the connection', `HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n${'x'.repeat(2_000)}`],
  ])('a body above the maximum, %s, ends the exchange, and the next one is complete', async (_, bytes) => {
    const { url } = await responding(bytes)
    const send = sendingTo(url, 1)
    const exchange = await send({ maxBodyBytes: 1_000 })
    expect(exchange).toMatchObject({ status: 200, failure: { reason: 'body-too-large' } })
    expect(exchange.body.length).toBeLessThanOrEqual(1_000)
    const limits = { connectMs: 500, headersMs: 500, idleMs: 50, totalMs: 500 }
    expect((await send({ timeouts: limits })).bytes).toBe(2_000)
  })

  test('a body of exactly the maximum is complete', async () => {
    const { url } = await responding(ok('x'.repeat(1_000)))
    expect(await sendingTo(url)({ maxBodyBytes: 1_000 })).toMatchObject({ bytes: 1_000, failure: null })
  })

  test('an event stream is bounded like any body', async () => {
    const { url } = await responding(ok(': x\n'.repeat(500), 'content-type: text/event-stream\r\n'))
    let received = 0
    const exchange = await sendingTo(url)({
      maxBodyBytes: 1_000,
      onStreamBytes: bytes => {
        received += bytes.length
      },
    })
    expect(exchange.failure?.reason).toBe('body-too-large')
    expect(received).toBeLessThanOrEqual(1_000)
  })
})

describe('no connection', () => {
  test('no server listens', async () => {
    const server = createServer()
    const port = await portOf(server)
    await new Promise(resolve => server.close(resolve))
    const failure = (await sendingTo(`http://127.0.0.1:${port}`)()).failure
    expect(failure).toEqual({ reason: 'connect-refused', detail: `connect ECONNREFUSED 127.0.0.1:${port}` })
  })

  test('no server listens for many concurrent requests, and then one does', async () => {
    const first = createServer()
    const port = await portOf(first)
    await new Promise(resolve => first.close(resolve))
    const send = sendingTo(`http://127.0.0.1:${port}`, 4)
    const refused = await Promise.all(Array.from({ length: 20 }, () => send()))
    expect(new Set(refused.map(each => each.failure?.reason))).toEqual(new Set(['connect-refused']))
    const second = createServer(socket => socket.on('data', () => socket.write(ok('{}'))))
    await new Promise<void>(resolve => second.listen(port, '127.0.0.1', resolve))
    expect(await send()).toMatchObject({ status: 200, failure: null })
    second.close()
  })

  test('a name that does not exist', async () => {
    const reason = (await sendingTo('http://no-such-host.invalid')()).failure?.reason
    expect(reason).toBe('name-not-resolved')
  })
})

function closing(head: string): string {
  return head.replace('\r\n', '\r\nconnection: close\r\n')
}
