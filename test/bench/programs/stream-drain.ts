import { connect } from 'node:net'

/**
 * Reads streams as fast as the server writes, and drops their bytes: what remains is the server's own speed. Arguments:
 * port, streams at a time, seconds. Sends the streams per second that it read by IPC, with parts of streams.
 */
const [port = 0, count = 0, seconds = 0] = process.argv.slice(2).map(Number)
const body = '{"stream":true}'
const request = `POST /api/v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: ${body.length}\r\n\r\n${body}`
/** The last read of a stream ends with it. */
const bodyEnd = Buffer.from('\r\n0\r\n\r\n')
const endMs = performance.now() + seconds * 1_000
let streams = 0
let bytesOfStreams = 0
let bytesOfParts = 0

await Promise.all(Array.from({ length: count }, drain))
process.send?.({ perSecond: (streams + (bytesOfParts * streams) / bytesOfStreams) / seconds })
process.once('disconnect', () => process.exit())

function drain(): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  let read = 0
  return new Promise((resolve, reject) => {
    socket.on('connect', () => socket.write(request))
    socket.on('error', reject)
    socket.on('data', bytes => {
      if (performance.now() >= endMs) {
        bytesOfParts += read
        socket.destroy()
        resolve()
        return
      }
      read += bytes.length
      if (!bytes.subarray(-bodyEnd.length).equals(bodyEnd)) return
      streams++
      bytesOfStreams += read
      read = 0
      socket.write(request)
    })
  })
}
