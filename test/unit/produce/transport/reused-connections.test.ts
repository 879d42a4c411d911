import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { HttpRequest } from '../../../../src/produce/transport/transport.ts'
import { ok, responding, sendingTo } from './loopback.ts'

const get: Partial<HttpRequest> = { method: 'GET', body: null }
const keyed: Partial<HttpRequest> = { headers: { 'idempotency-key': 'k-1' } }

/** Responds to each request but the `bad` one, which gets `fate`. */
const respondingBut = (bad: number, fate: (socket: Socket) => void) => {
  let calls = 0
  return responding(socket => (++calls === bad ? fate(socket) : void socket.write(ok('{}'))))
}
const endings = {
  closed: (socket: Socket) => void socket.end(),
  reset: (socket: Socket) => void socket.resetAndDestroy(),
}

describe.each(Object.entries(endings))('a kept connection that is %s at the moment of a request', (_, end) => {
  test.each([
    ['a GET', get],
    ['a request with an idempotency key', keyed],
  ])('%s is sent again on a new connection, and this is noted', async (_, request) => {
    const { url, seen } = await respondingBut(2, end)
    const send = sendingTo(url)
    expect((await send(request)).retried).toBe(false)
    expect(await send(request)).toMatchObject({ status: 200, failure: null, retried: true })
    expect(seen).toMatchObject({ connections: 2, requests: { length: 3 } })
  })

  test('a POST that the target may have processed is not sent again, and the reason is named', async () => {
    const { url, seen } = await respondingBut(2, end)
    const send = sendingTo(url)
    const exchanges = [await send(), await send(), await send()]
    expect(exchanges.map(each => each.failure?.reason ?? 'complete')).toEqual([
      'complete',
      'connection-reused-closed',
      'complete',
    ])
    expect(seen.requests).toHaveLength(3)
  })

  test('a request is sent again once, not twice', async () => {
    let calls = 0
    const { url, seen } = await responding(socket => (++calls > 1 ? end(socket) : void socket.write(ok('{}'))))
    const send = sendingTo(url)
    await send(get)
    expect(await send(get)).toMatchObject({ failure: { reason: 'connection-lost' }, retried: true })
    expect(seen.requests).toHaveLength(3)
  })
})

test('the time of a request that is sent again counts from its first attempt', async () => {
  const { url } = await respondingBut(2, socket => void setTimeout(() => socket.end(), 100))
  const send = sendingTo(url)
  await send(get)
  const { sentMs, endMs, retried } = await send(get)
  expect(retried).toBe(true)
  expect(endMs - sentMs).toBeGreaterThan(95)
})

test('the timeouts of a request that is sent again count from its first attempt', async () => {
  let calls = 0
  const { url } = await responding(socket => {
    if (++calls === 1) socket.write(ok('{}'))
    if (calls === 2) setTimeout(() => socket.end(), 100)
  })
  const send = sendingTo(url)
  await send(get)
  const timeouts = { connectMs: 5_000, headersMs: 5_000, idleMs: 5_000, totalMs: 300 }
  const { failure, endMs, sentMs } = await send({ ...get, timeouts })
  expect(failure?.reason).toBe('total-timeout')
  expect(endMs - sentMs).toBeLessThan(390)
})

describe('no retry, and an ordinary lost connection', () => {
  test('on a connection that carried no response yet', async () => {
    const { url, seen } = await respondingBut(1, endings.closed)
    expect(await sendingTo(url)(get)).toMatchObject({ failure: { reason: 'connection-lost' }, retried: false })
    expect(seen.requests).toHaveLength(1)
  })

  test('after the first byte of the response', async () => {
    const { url, seen } = await respondingBut(2, socket => void socket.end('HTTP/1.1 200 OK\r\nconte'))
    const send = sendingTo(url)
    await send(get)
    expect(await send(get)).toMatchObject({ failure: { reason: 'connection-lost' }, retried: false })
    expect(seen.requests).toHaveLength(2)
  })

  test('if the target closed it so late that this may be its response to the request', async () => {
    const { url } = await respondingBut(2, socket => void setTimeout(() => socket.end(), 700))
    const send = sendingTo(url)
    await send()
    expect((await send()).failure?.reason).toBe('connection-lost')
  })
})

describe('a target that closes idle connections after a second', () => {
  const closing = (headers: string) =>
    responding(socket => {
      socket.setTimeout(1_000, () => socket.end())
      socket.write(ok('{}', headers))
    })

  test.concurrent.each([
    ['without announcing it', ''],
    ['and announces it', 'keep-alive: timeout=1\r\n'],
  ])('%s loses no request of one per second', async (_, headers) => {
    const { url } = await closing(headers)
    const send = sendingTo(url)
    const reasons: unknown[] = []
    for (let sent = 0; sent < 3; sent++) {
      if (sent > 0) await pause(1_000)
      reasons.push((await send()).failure)
    }
    expect(reasons).toEqual([null, null, null])
  })

  test('and announces it still gets frequent requests on one connection', async () => {
    const { url, seen } = await closing('keep-alive: timeout=1\r\n')
    const send = sendingTo(url)
    for (let sent = 0; sent < 5; sent++) await send()
    expect(seen.connections).toBe(1)
  })
})
