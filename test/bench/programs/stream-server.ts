import { createServer, type Socket } from 'node:net'
import { readRequests } from '../../../src/calibration/server.ts'
import { createCalibrationAccount, limitsResponse, streamTexts } from '../../../src/calibration/server-answers.ts'
import { systemClock } from '../../../src/lib/clock.ts'

/**
 * A server that writes streams as fast as their clients read. All open streams take turns, as those of a model do: each
 * gets a write of some chunks, with one token each. It keeps every promise that is judged. Arguments: tokens of a
 * stream, chunks per write. Sends its port by IPC.
 */
const [tokens = 0, chunksPerWrite = 0] = process.argv.slice(2).map(Number)
const account = createCalibrationAccount(systemClock())

type Stream = { readonly socket: Socket; readonly row: Buffer; readonly closing: string; left: number }

let streams: Stream[] = []

function writeAll(): void {
  let hasEnded = false
  for (const stream of streams) {
    const { socket } = stream
    if (socket.destroyed) {
      stream.left = 0
      hasEnded = true
    } else if (!socket.writableNeedDrain) {
      socket.write(stream.row)
      stream.left -= chunksPerWrite
      if (stream.left > 0) continue
      socket.write(stream.closing)
      hasEnded = true
    }
  }
  if (hasEnded) streams = streams.filter(({ left }) => left > 0)
  if (streams.length > 0) setImmediate(writeAll)
}

function begin(socket: Socket): void {
  const texts = streamTexts(account.draw(tokens), tokens)
  // A stamp would differ in each chunk, so all chunks of a stream repeat its first tokens instead.
  const row = Array.from({ length: chunksPerWrite }, () => texts.tokens(1, { writtenMs: 0, lateMs: 0 })).join('')
  socket.write(texts.opening)
  streams.push({ socket, row: Buffer.from(row), closing: texts.closing, left: tokens })
  if (streams.length === 1) setImmediate(writeAll)
}

const server = createServer(socket => {
  socket.setNoDelay(true)
  socket.on('error', () => socket.destroy())
  const read = readRequests(({ method }) => {
    if (method === 'POST') begin(socket)
    else socket.write(limitsResponse(account.draw(0)))
  })
  socket.on('data', bytes => {
    if (!read(bytes)) socket.destroy()
  })
})
server.listen({ port: 0, host: '127.0.0.1', backlog: 1_024 }, () => {
  const address = server.address()
  process.send?.({ port: typeof address === 'object' ? address?.port : 0 })
})
process.once('disconnect', () => process.exit())
