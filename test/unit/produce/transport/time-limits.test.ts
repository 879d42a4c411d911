import { createServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import { limits, ok, portOf, responding, sendingTo } from './loopback.ts'

const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'
const piece = '3\r\n: x\r\n'

describe('each timeout ends its request with its own reason', () => {
  test('a server that accepts and never responds', async () => {
    const { url } = await responding(() => {})
    const exchange = await sendingTo(url)({ timeouts: { ...limits, headersMs: 30 } })
    expect(exchange).toMatchObject({
      status: null,
      headersMs: null,
      failure: { reason: 'headers-timeout', detail: 'no headers within 30 ms' },
    })
    expect(exchange.endMs - exchange.sentMs).toBeGreaterThanOrEqual(30)
  })

  test('headers, and then nothing', async () => {
    const { url } = await responding(head)
    const exchange = await sendingTo(url)({ timeouts: { ...limits, idleMs: 30 } })
    expect(exchange).toMatchObject({ status: 200, bytes: 0, failure: { reason: 'idle-timeout' } })
  })

  test('half a body, and then nothing', async () => {
    const { url } = await responding('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhello')
    const exchange = await sendingTo(url)({ timeouts: { ...limits, idleMs: 30 } })
    expect(exchange).toMatchObject({ bytes: 5, failure: { reason: 'idle-timeout' } })
  })

  test('a slow body that takes longer than the idle timeout is complete', async () => {
    const { url } = await responding(socket => {
      socket.write(head)
      let left = 10
      const timer = setInterval(() => {
        socket.write(left-- > 0 ? piece : '0\r\n\r\n')
        if (left < 0) clearInterval(timer)
      }, 20)
    })
    expect(await sendingTo(url)({ timeouts: { ...limits, idleMs: 120 } })).toMatchObject({ bytes: 30, failure: null })
  })

  test('an endless slow body ends with the total timeout', async () => {
    const { url } = await responding(socket => {
      socket.write(head)
      const timer = setInterval(() => socket.write(piece), 5)
      socket.on('close', () => clearInterval(timer))
    })
    const exchange = await sendingTo(url)({ timeouts: { ...limits, totalMs: 60 } })
    expect(exchange).toMatchObject({
      status: 200,
      failure: { reason: 'total-timeout', detail: 'not complete within 60 ms' },
    })
    expect(exchange.bytes).toBeGreaterThan(0)
  })

  test('a connection that is accepted without a TLS handshake', async () => {
    const port = await portOf(createServer(() => {}))
    const send = sendingTo(`https://127.0.0.1:${port}`, 1)
    const failure = (await send({ timeouts: { ...limits, connectMs: 30 } })).failure
    expect(failure).toEqual({ reason: 'connect-timeout', detail: 'no connection within 30 ms' })
  })

  test('a cancelled connection attempt makes room for the next', async () => {
    let connections = 0
    const port = await portOf(createServer(() => connections++))
    const send = sendingTo(`https://127.0.0.1:${port}`, 1)
    const timeouts = { ...limits, connectMs: 30 }
    const reasons = [await send({ timeouts }), await send({ timeouts })].map(each => each.failure?.reason)
    expect(reasons).toEqual(['connect-timeout', 'connect-timeout'])
    expect(connections).toBe(2)
  })

  test('a request that waits for a free connection', async () => {
    const { url, seen } = await responding(() => {})
    const send = sendingTo(url, 1)
    const occupying = send({ timeouts: { ...limits, headersMs: 120 } })
    expect((await send({ timeouts: { ...limits, connectMs: 30 } })).failure?.reason).toBe('connect-timeout')
    await occupying
    await new Promise(resolve => setTimeout(resolve, 20))
    expect(seen.requests).toHaveLength(1)
  })

  test('the timeouts of one request do not apply to another on the same connection', async () => {
    const { url } = await responding(socket => setTimeout(() => socket.write(ok('{}')), 60))
    const send = sendingTo(url, 1)
    expect((await send({ timeouts: { ...limits, headersMs: 20 } })).failure?.reason).toBe('headers-timeout')
    expect((await send()).failure).toBeNull()
  })
})

describe('a stall of the harness itself', () => {
  test('causes no timeout of a response that arrived in time', async () => {
    let answered = () => {}
    const { url } = await responding(socket => setImmediate(() => socket.write(ok('{}'), () => answered())))
    const send = sendingTo(url)
    await send()
    const inTime = new Promise<void>(resolve => {
      answered = resolve
    })
    const pending = send({ timeouts: { connectMs: 40, headersMs: 40, idleMs: 40, totalMs: 40 } })
    await inTime
    const until = performance.now() + 80
    while (performance.now() < until);
    expect((await pending).failure).toBeNull()
  })
})

describe('an abort', () => {
  test('during a stream ends it as cancelled and closes the connection', async () => {
    let closed = false
    const { url } = await responding(socket => {
      socket.write(`${head}${piece}`)
      socket.on('close', () => {
        closed = true
      })
    })
    const abort = new AbortController()
    const exchange = await sendingTo(url)({ onStreamBytes: () => abort.abort() }, abort.signal)
    expect(exchange).toMatchObject({ status: 200, bytes: 3, failure: { reason: 'cancelled' } })
    await expect.poll(() => closed).toBe(true)
  })

  test('before the response ends every request of the signal, and none of another', async () => {
    const { url } = await responding(socket => setTimeout(() => socket.write(ok('{}')), 60))
    const send = sendingTo(url, 40)
    const abort = new AbortController()
    const pending = Array.from({ length: 20 }, () => send({}, abort.signal))
    const others = Array.from({ length: 5 }, () => send())
    setTimeout(() => abort.abort(), 20)
    expect(new Set((await Promise.all(pending)).map(each => each.failure?.reason))).toEqual(new Set(['cancelled']))
    expect((await Promise.all(others)).every(each => each.failure === null)).toBe(true)
  })

  test('before the request prevents sending', async () => {
    const { url, seen } = await responding(ok('{}'))
    const exchange = await sendingTo(url)({}, AbortSignal.abort())
    expect(exchange.failure?.reason).toBe('cancelled')
    expect(seen.connections).toBe(0)
  })

  test('while the request waits for a connection prevents sending', async () => {
    const { url, seen } = await responding(socket => setTimeout(() => socket.write(ok('{}')), 30))
    const send = sendingTo(url, 1)
    const first = send()
    const abort = new AbortController()
    const waiting = send({}, abort.signal)
    abort.abort()
    expect((await waiting).failure?.reason).toBe('cancelled')
    await first
    expect((await send()).failure).toBeNull()
    expect(seen).toMatchObject({ connections: 1, requests: { length: 2 } })
  })

  test('while the request waits for a connection opens no other connection', async () => {
    const { url, seen } = await responding(socket => socket.end(ok('{}', 'connection: close\r\n')))
    const send = sendingTo(url, 1)
    const first = send()
    const abort = new AbortController()
    const waiting = send({}, abort.signal)
    abort.abort()
    await Promise.all([first, waiting])
    await new Promise(resolve => setTimeout(resolve, 30))
    expect(seen.connections).toBe(1)
  })

  test('between two turns of a kept connection prevents sending and keeps the connection', async () => {
    const { url, seen } = await responding(ok('{}'))
    const send = sendingTo(url, 1)
    await send()
    const abort = new AbortController()
    const pending = send({}, abort.signal)
    abort.abort()
    expect((await pending).failure?.reason).toBe('cancelled')
    expect((await send()).failure).toBeNull()
    expect(seen).toMatchObject({ connections: 1, requests: { length: 2 } })
  })
})
