import type { Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../../src/lib/clock.ts'
import { undiciTransport } from '../../../../src/produce/transport/undici.ts'
import { ok, plainRequest, responding, sendingTo } from './loopback.ts'

describe('requests', () => {
  test('a request has its own headers, those that HTTP requires, and no others', async () => {
    const { url, seen } = await responding(ok('{}'))
    await sendingTo(url)({ headers: { 'Content-Type': 'application/json', authorization: 'Bearer k' } })
    expect(seen.requests[0]?.split('\r\n')).toEqual([
      'POST /chat/completions HTTP/1.1',
      `host: ${new URL(url).host}`,
      'connection: keep-alive',
      'Content-Type: application/json',
      'authorization: Bearer k',
      'content-length: 13',
      '',
      '{"model":"m"}',
    ])
  })

  test('a GET has no body and no content-length', async () => {
    const { url, seen } = await responding(ok('{}'))
    await sendingTo(url)({ method: 'GET', body: null, headers: {} })
    expect(seen.requests[0]).not.toContain('content-length')
  })

  test.each([
    ['/api/v1', '/api/v1/models'],
    ['/api/v1/', '/api/v1/models'],
    ['', '/models'],
  ])('a base address that ends in "%s" makes the path %s', async (suffix, path) => {
    const { url, seen } = await responding(ok('{}'))
    await sendingTo(url + suffix)({ method: 'GET', body: null, path: '/models' })
    expect(seen.requests[0]).toMatch(`GET ${path} HTTP/1.1`)
  })

  test('text outside ASCII is sent as UTF-8 with its length in bytes', async () => {
    const { url, seen } = await responding(ok('{}'))
    await sendingTo(url)({ body: '"é"' })
    expect(seen.requests[0]).toMatch(/content-length: 4\r\n\r\n/)
  })
})

describe('a sender that is told when it is free', () => {
  test('sends its next request over the same connection, before the response is processed', async () => {
    const { url, seen } = await responding(ok('{}'))
    const { send, close } = undiciTransport({ baseUrl: url, clock: systemClock(), maxConnections: 8 })
    onTestFinished(close)
    const { signal } = new AbortController()
    const order: string[] = []
    const sent: Promise<unknown>[] = []
    const sendNext = (left: number): void => {
      const onFree = () => {
        order.push(`free ${left}`)
        if (left > 1) sendNext(left - 1)
      }
      sent.push(send(plainRequest, signal, onFree).then(({ status }) => order.push(`${status} ${left}`)))
    }
    sendNext(3)
    for (const each of sent) await each
    expect(order).toEqual(['free 3', '200 3', 'free 2', '200 2', 'free 1', '200 1'])
    expect([seen.requests.length, seen.connections]).toEqual([3, 1])
  })

  test('is told nothing after a failure', async () => {
    const { url } = await responding(socket => socket.destroy())
    const { send, close } = undiciTransport({ baseUrl: url, clock: systemClock(), maxConnections: 8 })
    onTestFinished(close)
    let free = 0
    const { failure } = await send(plainRequest, new AbortController().signal, () => free++)
    expect([failure?.reason, free]).toEqual(['connection-lost', 0])
  })

  test('is told when a response without a length closes its connection, and gets another one', async () => {
    const { url, seen } = await responding(socket => socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{}'))
    const { send, close } = undiciTransport({ baseUrl: url, clock: systemClock(), maxConnections: 1 })
    onTestFinished(close)
    const { signal } = new AbortController()
    let next: Promise<{ readonly status: number | null }> | undefined
    await send(plainRequest, signal, () => {
      next = send(plainRequest, signal)
    })
    expect([(await next)?.status, seen.connections]).toEqual([200, 2])
  })
})

describe('responses', () => {
  test('a response has status, headers, body, and times in order', async () => {
    const { url } = await responding(ok('{"a":1}', 'X-Request-ID: r1\r\n'))
    const exchange = await sendingTo(url)()
    expect(exchange).toMatchObject({ status: 200, bytes: 7, failure: null })
    expect({ ...exchange.headers }).toEqual({ 'x-request-id': 'r1', 'content-length': '7' })
    expect(exchange.body.toString()).toBe('{"a":1}')
    expect(exchange.sentMs).toBeLessThanOrEqual(exchange.headersMs ?? Number.NaN)
    expect(exchange.headersMs).toBeLessThanOrEqual(exchange.endMs)
  })

  test('a complete response with status 500 is not a failure', async () => {
    const { url } = await responding('HTTP/1.1 500 Oops\r\ncontent-length: 2\r\n\r\nno')
    expect(await sendingTo(url)()).toMatchObject({ status: 500, failure: null })
  })

  test('a redirect is not followed', async () => {
    const { url, seen } = await responding('HTTP/1.1 302 Found\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n')
    const exchange = await sendingTo(url)()
    expect(exchange).toMatchObject({ status: 302, bytes: 0, failure: null })
    expect(exchange.headers.location).toBe('/elsewhere')
    expect(seen.requests).toHaveLength(1)
  })

  test('a cookie is not sent back, and a compressed body is not decompressed', async () => {
    const { url, seen } = await responding(ok('\x1f\x8b', 'set-cookie: a=1\r\ncontent-encoding: gzip\r\n'))
    const send = sendingTo(url)
    expect((await send()).body).toEqual(Buffer.from([0x1f, 0x8b]))
    await send()
    expect(seen.requests[1]).not.toContain('cookie')
  })

  const early = 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\nx-100: HTTP/1.1 100 No\r\n\r\n'
  const proceed = 'HTTP/1.1 100 Continue\r\n\r\n'
  const wait = 'HTTP/1.1 102 Processing\r\n\r\n'

  test.each([
    ['a 103', early],
    ['a 100', proceed],
    ['a 100 without a reason', 'HTTP/1.1 100 \r\n\r\n'],
    ['a 100 of HTTP/1.1 with headers', 'HTTP/1.1 100 Continue\r\nlink: </x>\r\ncontent-length: 9\r\n\r\n'],
    ['several of them', wait + proceed + early + proceed + wait],
    ['a thousand of them', (proceed + early).repeat(500)],
  ])('%s before the response is skipped, and the final one counts', async (_, interim) => {
    const { url, seen } = await responding(`${interim}${ok('{"a":"HTTP/1.1 100 Continue"}')}`)
    const send = sendingTo(url)
    for (let index = 0; index < 3; index++) {
      const exchange = await send()
      expect(exchange).toMatchObject({ status: 200, failure: null })
      expect(exchange.headers.link).toBeUndefined()
      expect(exchange.body.toString()).toBe('{"a":"HTTP/1.1 100 Continue"}')
    }
    expect(seen.connections).toBe(1)
  })

  test('interim responses are skipped wherever their bytes are split', async () => {
    const text = proceed + early + proceed + ok('{"a":"HTTP/1.1 100 Continue"}')
    const { url } = await responding(socket => {
      socket.setNoDelay(true)
      const write = (at: number): void =>
        void socket.write(text.slice(at, at + 1), () => at + 1 < text.length && setImmediate(() => write(at + 1)))
      write(0)
    })
    const exchange = await sendingTo(url)()
    expect(exchange).toMatchObject({ status: 200, failure: null })
    expect(exchange.body.toString()).toBe('{"a":"HTTP/1.1 100 Continue"}')
  })

  test('a body without a length ends with the connection', async () => {
    const { url } = await responding(socket => socket.end('HTTP/1.1 200 OK\r\n\r\nall of it'))
    const exchange = await sendingTo(url)()
    expect(exchange.failure).toBeNull()
    expect(exchange.body.toString()).toBe('all of it')
  })
})

describe('connections', () => {
  test('sequential requests share a connection', async () => {
    const { url, seen } = await responding(ok('{}'))
    const send = sendingTo(url)
    for (let i = 0; i < 5; i++) await send()
    expect(seen).toMatchObject({ connections: 1, requests: { length: 5 } })
  })

  test('concurrent requests use separate connections', async () => {
    const { url, seen } = await responding(socket => setTimeout(() => socket.write(ok('{}')), 20))
    const send = sendingTo(url, 50)
    const exchanges = await Promise.all(Array.from({ length: 50 }, () => send()))
    expect(exchanges.every(each => each.failure === null)).toBe(true)
    expect(seen.connections).toBe(50)
  })

  test('at most the maximum number of connections is opened, and other requests wait', async () => {
    let inFlight = 0
    let maxOpen = 0
    const { url, seen } = await responding(socket => {
      maxOpen = Math.max(maxOpen, ++inFlight)
      setTimeout(() => {
        inFlight--
        socket.write(ok('{}'))
      }, 2)
    })
    const send = sendingTo(url, 3)
    const exchanges = await Promise.all(Array.from({ length: 40 }, () => send()))
    expect(exchanges.filter(each => each.failure !== null)).toEqual([])
    expect(seen.connections).toBe(3)
    expect(maxOpen).toBe(3)
  })

  test('a server that closes after each response causes no failures', async () => {
    const { url, seen } = await responding(socket => socket.end(ok('{}', 'connection: close\r\n')))
    const send = sendingTo(url, 2)
    const exchanges = await Promise.all(Array.from({ length: 20 }, () => send()))
    expect(exchanges.filter(each => each.failure !== null)).toEqual([])
    expect(seen.requests).toHaveLength(20)
  })

  test('a failed request does not block those that wait for its connection', async () => {
    let calls = 0
    const { url } = await responding(socket => {
      if (++calls % 2 === 1) socket.resetAndDestroy()
      else socket.write(ok('{}'))
    })
    const send = sendingTo(url, 1)
    const exchanges = await Promise.all(Array.from({ length: 10 }, () => send()))
    expect(exchanges.map(each => each.failure?.reason ?? 'complete')).toEqual(
      Array.from({ length: 5 }, (_, k) => [
        k === 0 ? 'connection-lost' : 'connection-reused-closed',
        'complete',
      ]).flat(),
    )
  })

  test('closing ends requests in flight and in the queue, and rejects later ones', async () => {
    const { url } = await responding(() => {})
    const { send, close } = undiciTransport({ baseUrl: url, clock: systemClock(), maxConnections: 1 })
    const signal = new AbortController().signal
    const pending = [send(plainRequest, signal), send(plainRequest, signal), send(plainRequest, signal)]
    await close()
    const ended = await Promise.all([...pending, send(plainRequest, signal)])
    expect(ended.map(each => each.failure?.reason)).toEqual(['cancelled', 'cancelled', 'cancelled', 'cancelled'])
  })
})

describe('an event stream', () => {
  const head = 'HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream; charset=utf-8\r\nconnection: close\r\n\r\n'

  test('goes to its reader as it arrives, with increasing times, and is not kept', async () => {
    const { url } = await responding(socket => {
      socket.write(`${head}data: 1\n\n`)
      setTimeout(() => socket.end('data: 2\n\n'), 20)
    })
    const reads: [string, number][] = []
    const exchange = await sendingTo(url)({ onStreamBytes: (bytes, atMs) => reads.push([bytes.toString(), atMs]) })
    expect(exchange).toMatchObject({ bytes: 18, body: { length: 0 }, failure: null })
    expect(reads.map(([text]) => text).join('')).toBe('data: 1\n\ndata: 2\n\n')
    const instants = [exchange.headersMs, ...reads.map(([, atMs]) => atMs), exchange.endMs]
    expect(instants).toEqual(instants.toSorted((a, b) => Number(a) - Number(b)))
    expect(Number(reads.at(-1)?.[1]) - Number(reads[0]?.[1])).toBeGreaterThan(5)
  })

  test('is kept like any body if there is no reader', async () => {
    const { url } = await responding(socket => socket.end(`${head}data: 1\n\n`))
    expect((await sendingTo(url)()).body.toString()).toBe('data: 1\n\n')
  })

  test.each([
    ['another status', head.replace('200 OK', '400 Bad Request')],
    ['another type', head.replace('Text/Event-Stream', 'application/json')],
    ['a type with the same prefix', head.replace('Text/Event-Stream', 'text/event-streams')],
  ])('with %s is not a stream, and its reader gets nothing', async (_, otherHead) => {
    const { url } = await responding(socket => socket.end(`${otherHead}{"error":1}`))
    const exchange = await sendingTo(url)({ onStreamBytes: () => expect.unreachable() })
    expect(exchange.body.toString()).toBe('{"error":1}')
  })

  test('ends once as a fault of the harness if its reader throws', async () => {
    const { url, seen } = await responding(socket => socket.write(`${head}data: 1\n\n`))
    const send = sendingTo(url)
    const thrown = await send({
      onStreamBytes: () => {
        throw new TypeError('secret')
      },
    })
    expect(thrown.failure).toEqual({ reason: 'cancelled', detail: 'TypeError in the harness' })
    expect(seen.requests).toHaveLength(1)
  })
})

describe('chunks of a stream', () => {
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'
  const chunks = (count: number) => `${'6\r\ndata:\n\r\n'.repeat(count)}`
  const end = '0\r\n\r\n'
  const signal = new AbortController().signal

  test('wake what is due, and parts of other bodies do not', async () => {
    let wakes = 0
    const clock = { ...systemClock(), wakeDue: () => ++wakes < 0 }
    for (const [response, expected] of [
      [head + chunks(5) + end, 5],
      [ok('{}'), 0],
    ] as const) {
      wakes = 0
      const { url } = await responding(response)
      const { send, close } = undiciTransport({ baseUrl: url, clock, maxConnections: 1 })
      onTestFinished(close)
      await send({ ...plainRequest, onStreamBytes: () => {} }, signal)
      expect(wakes).toBe(expected)
    }
  })

  test('hand on a complete response for eight of them, before a turn of the event loop comes for it', async () => {
    const clock = { ...systemClock(), atPrecisely: () => () => {} }
    let streaming: Socket | undefined
    let requests = 0
    const { url } = await responding(socket => {
      if (++requests <= 2) return void socket.write(ok('{}'), 'latin1')
      streaming = socket
      socket.write(head + chunks(15))
    })
    const { send, close } = undiciTransport({ baseUrl: url, clock, maxConnections: 4 })
    onTestFinished(close)
    const handed: number[] = []
    for (const response of [1, 2]) {
      let isRead = false
      void send(plainRequest, signal, () => {
        isRead = true
      }).then(() => handed.push(response))
      await expect.poll(() => isRead).toBe(true)
    }
    expect(handed).toEqual([])
    let bytes = 0
    const onStreamBytes = (read: Buffer) => {
      bytes += read.length
    }
    void send({ ...plainRequest, onStreamBytes }, signal)
    await expect.poll(() => bytes).toBe(15 * 6)
    expect(handed).toEqual([1])
    streaming?.write(chunks(1))
    await expect.poll(() => bytes).toBe(16 * 6)
    expect(handed).toEqual([1, 2])
  })
})
