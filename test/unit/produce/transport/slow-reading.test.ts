import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { responding, sendingTo } from './loopback.ts'

const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n'
const event = `data: ${'x'.repeat(92)}\n\n`
const chunk = `${event.length.toString(16)}\r\n${event}\r\n`
const chunked = `${head}transfer-encoding: chunked\r\n\r\n`

/** Reads what `answer` sends, each 100 bytes in this time. Returns the exchange and when each byte was read. */
async function readSlowly(answer: string | ((socket: Socket) => void), msPer100: number, idleMs = 10_000) {
  const { url } = await responding(answer)
  const send = sendingTo(url)
  let text = ''
  const readMs: number[] = []
  const readingMs = (bytes: number) => (bytes / 100) * msPer100
  const onStreamBytes = (bytes: Buffer, atMs: number) => {
    text += bytes.toString()
    readMs.push(atMs)
  }
  const timeouts = { connectMs: 10_000, headersMs: 10_000, idleMs, totalMs: idleMs * 2 }
  const request = { readingMs, onStreamBytes, timeouts }
  const exchange = await send(request)
  return { exchange, text, readMs, again: () => send({ onStreamBytes: () => {} }) }
}

test('a stream that has arrived is read in small parts, whole, and then its connection is free', async () => {
  const { exchange, text, readMs, again } = await readSlowly(`${chunked}${chunk.repeat(60)}0\r\n\r\n`, 5)
  expect(exchange.failure).toBeNull()
  expect(text).toBe(event.repeat(60))
  expect(exchange.endMs - exchange.sentMs).toBeGreaterThan(200)
  expect(new Set(readMs).size).toBeGreaterThan(20)
  expect((await again()).failure).toBeNull()
})

test('what arrives while the client reads is not read at once', async () => {
  let sent = 0
  const trickle = (socket: Socket) => {
    socket.write(chunked)
    const timer = setInterval(() => {
      socket.write(chunk)
      if (++sent < 40) return
      clearInterval(timer)
      socket.write('0\r\n\r\n')
    }, 1)
  }
  const { exchange, text, readMs } = await readSlowly(trickle, 8)
  expect(exchange.failure).toBeNull()
  expect(text).toBe(event.repeat(40))
  // 40 events of 100 bytes at 8 ms each, less what timers may be late.
  expect(exchange.endMs - (exchange.headersMs ?? 0)).toBeGreaterThan(40 * 8 - 60)
  expect(new Set(readMs).size).toBeGreaterThan(10)
})

test('the pauses of the client count for no timeout', async () => {
  const { exchange, text } = await readSlowly(`${chunked}${chunk.repeat(10)}0\r\n\r\n`, 40, 100)
  expect(exchange.failure).toBeNull()
  expect(text).toBe(event.repeat(10))
  expect(exchange.endMs - exchange.sentMs).toBeGreaterThan(300)
})

test.each([
  ['ends', 'a body that ends with its connection is whole', null],
  ['resets', 'a reset during a pause is a lost connection', 'connection-lost'],
])('a target that %s while the client pauses: %s', async (how, _, reason) => {
  const early = (socket: Socket) => {
    socket.write(`${head}connection: close\r\n\r\n${event}`)
    setTimeout(() => (how === 'ends' ? socket.end() : socket.resetAndDestroy()), 20)
  }
  const { exchange, text } = await readSlowly(early, 150)
  expect(exchange.failure?.reason ?? null).toBe(reason)
  expect(text).toBe(event)
})

test('a target that stops sending is timed out all the same', async () => {
  const { exchange } = await readSlowly(`${chunked}${chunk}`, 20, 80)
  expect(exchange.failure?.reason).toBe('idle-timeout')
})
