import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { directReads, readDirectly } from '../../../../src/produce/transport/connections.ts'
import { portOf } from './loopback.ts'

type Pair = { readonly near: Socket; readonly far: Socket }

/** Both ends of a connection; the near one is read directly. */
async function pair(): Promise<Pair> {
  const server = createServer()
  const port = await portOf(server)
  const accepted = once(server, 'connection')
  const near = connect({ port, host: '127.0.0.1', onread: directReads })
  readDirectly(near)
  onTestFinished(() => void near.destroy())
  const [far] = await accepted
  return { near, far }
}

/** Reads like undici: everything available on each `readable`. The returned list grows. */
function readAll(socket: Socket): Buffer[] {
  const reads: Buffer[] = []
  socket.on('readable', () => {
    for (let bytes = socket.read(); bytes !== null; bytes = socket.read()) reads.push(bytes)
  })
  return reads
}

/** Resolves after `readable` at the near end. */
async function bring({ near, far }: Pair, text: string): Promise<void> {
  const readable = once(near, 'readable')
  far.write(text)
  await readable
}

const texts = (reads: readonly Buffer[]) => reads.map(bytes => bytes.toString())

test('each read has its own memory, which later reads do not change', async () => {
  const ends = await pair()
  const reads = readAll(ends.near)
  for (const text of ['first', 'second', 'third']) await bring(ends, text)
  expect(texts(reads)).toEqual(['first', 'second', 'third'])
})

test('two connections do not mix, although they share a read buffer', async () => {
  const [one, other] = [await pair(), await pair()]
  const reads = [readAll(one.near), readAll(other.near)]
  await Promise.all([bring(one, 'one'), bring(other, 'other')])
  await Promise.all([bring(one, ' more'), bring(other, ' more')])
  expect(reads.map(each => texts(each).join(''))).toEqual(['one more', 'other more'])
})

test('bytes that were not read on arrival are read later, in order', async () => {
  const ends = await pair()
  // A listener that does not read.
  ends.near.once('readable', () => {})
  await bring(ends, 'first, ')
  ends.far.write('second, ')
  await vi.waitFor(() => expect(ends.near.readableLength).toBe('first, second, '.length))
  const reads = readAll(ends.near)
  ends.far.end('third')
  await once(ends.near, 'end')
  expect(texts(reads).join('')).toBe('first, second, third')
})

test('the end comes after all bytes', async () => {
  const { near, far } = await pair()
  const reads = readAll(near)
  const length = 300_000
  far.end('x'.repeat(length))
  await once(near, 'end')
  expect(texts(reads).join('')).toHaveLength(length)
})

test('a handler of one connection that reads from another takes no bytes of the first', async () => {
  const [one, other] = [await pair(), await pair()]
  const taken: unknown[] = []
  one.near.on('readable', () => taken.push(other.near.read()))
  const reads = readAll(one.near)
  await bring(one, 'mine')
  expect([texts(reads), taken]).toEqual([['mine'], [null]])
})

test('a callback that is not called as a method of a socket throws', () => {
  expect(() => directReads.callback(1, Buffer.alloc(1))).toThrow(TypeError)
})
