import { createServer, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../../../src/lib/clock.ts'
import { type UndiciTransport, undiciTransport } from '../../../../src/produce/transport/undici.ts'
import { ok, plainRequest, portOf, responding } from './loopback.ts'

const never = new AbortController().signal

function transportTo(url: string, maxConnections = 8): UndiciTransport {
  const transport = undiciTransport({ baseUrl: url, clock: systemClock(), maxConnections })
  onTestFinished(transport.close)
  return transport
}

const sendTo = ({ send }: UndiciTransport) => send(plainRequest, never)

test('connections that are opened in advance carry the first requests, and no request opens them', async () => {
  const { url, seen } = await responding(ok('{}'))
  const transport = transportTo(url)
  await transport.preopen(3, never)
  await vi.waitFor(() => expect(seen.connections).toBe(3))
  expect(seen.requests).toEqual([])
  const exchanges = await Promise.all([sendTo(transport), sendTo(transport), sendTo(transport)])
  expect(exchanges.map(({ status, failure }) => [status, failure])).toEqual(Array(3).fill([200, null]))
  expect(seen.connections).toBe(3)
})

test('they count towards the maximum', async () => {
  const { url, seen } = await responding(ok('{}'))
  const transport = transportTo(url, 2)
  await transport.preopen(5, never)
  await Promise.all([sendTo(transport), sendTo(transport), sendTo(transport)])
  expect(seen.connections).toBe(2)
})

test('the first one that was opened is used first', async () => {
  const used: number[] = []
  let accepted = 0
  const server = createServer(socket => {
    const index = accepted++
    socket.on('data', () => {
      used.push(index)
      socket.write(ok('{}'))
    })
  })
  const transport = transportTo(`http://127.0.0.1:${await portOf(server)}`)
  for (const _ of [1, 2, 3]) await transport.preopen(1, never)
  await Promise.all([sendTo(transport), sendTo(transport)])
  expect(used.toSorted()).toEqual([0, 1])
})

test('a target that closes them at once gets the request on a new connection', async () => {
  let accepted = 0
  const closed: Promise<unknown>[] = []
  const server = createServer(socket => {
    socket.on('error', () => {})
    socket.on('data', () => void socket.write(ok('{}')))
    if (accepted++ >= 2) return
    closed.push(new Promise(resolve => socket.on('close', resolve)))
    socket.end()
  })
  const transport = transportTo(`http://127.0.0.1:${await portOf(server)}`)
  await transport.preopen(2, never)
  await vi.waitFor(() => expect(closed).toHaveLength(2))
  await Promise.all(closed)
  const exchanges = [await sendTo(transport), await sendTo(transport)]
  expect(exchanges.map(({ status, failure }) => [status, failure])).toEqual(Array(2).fill([200, null]))
  expect(accepted).toBe(3)
})

test('a target that closes one when its request arrives is no worse than with a kept connection', async () => {
  let accepted = 0
  const server = createServer(socket => {
    socket.on('error', () => {})
    const isFirst = accepted++ === 0
    socket.on('data', () => (isFirst ? socket.destroy() : void socket.write(ok('{}'))))
  })
  const transport = transportTo(`http://127.0.0.1:${await portOf(server)}`)
  await transport.preopen(1, never)
  expect((await sendTo(transport)).failure?.reason).toBe('connection-reused-closed')
})

test('bytes that answer no request, such as a 408 to an idle connection, reach no request', async () => {
  let accepted = 0
  const idle: Socket[] = []
  const server = createServer(socket => {
    socket.on('error', () => {})
    if (accepted++ === 0) idle.push(socket)
    socket.on('data', () => void socket.write(ok('{}')))
  })
  const transport = transportTo(`http://127.0.0.1:${await portOf(server)}`)
  await transport.preopen(1, never)
  await vi.waitFor(() => expect(idle).toHaveLength(1))
  const written = new Promise(resolve => idle[0]?.on('finish', resolve))
  idle[0]?.end('HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n')
  await written
  await pause(50)
  expect(await sendTo(transport)).toMatchObject({ status: 200, failure: null })
})

test('a target that refuses connections gets few attempts, and no request fails for them', async () => {
  const server = createServer()
  const port = await portOf(server)
  await new Promise(resolve => server.close(resolve))
  const transport = transportTo(`http://127.0.0.1:${port}`, 1_000)
  await transport.preopen(1_000, never)
  const reborn = createServer(socket => socket.on('data', () => void socket.write(ok('{}'))))
  reborn.listen(port, '127.0.0.1')
  onTestFinished(() => void reborn.close())
  expect(await sendTo(transport)).toMatchObject({ status: 200, failure: null })
})

test('an abort ends the opening, and closing the transport closes what was opened', async () => {
  const { url, seen } = await responding(ok('{}'))
  const transport = transportTo(url)
  await transport.preopen(4, AbortSignal.abort())
  expect(seen.connections).toBe(0)
  let closed = 0
  const server = createServer(socket => void socket.on('close', () => closed++).resume())
  const other = transportTo(`http://127.0.0.1:${await portOf(server)}`)
  await other.preopen(3, never)
  await other.close()
  await vi.waitFor(() => expect(closed).toBe(3))
})
