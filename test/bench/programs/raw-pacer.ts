import { connect } from 'node:net'
import { sleepPreciselyUntil, systemClock } from '../../../src/lib/clock.ts'

/**
 * A bare schedule: one loop with Turnpike's precise sleep, and one socket. Its interval errors come from the machine,
 * so no tool on it can be more precise. Arguments: port, requests per second, number of requests.
 */
const [port = '', perSecond, count] = process.argv.slice(2)
const clock = systemClock()
const body = '{"jsonrpc":"2.0","id":"r-1","method":"eth_blockNumber","params":[]}'
const request = `POST /api/v1/crypto/rpc/ethereum-mainnet HTTP/1.1\r\nauthorization: Bearer bare\r\ncontent-length: ${body.length}\r\n\r\n${body}`
const socket = connect({ port: Number(port), host: '127.0.0.1', noDelay: true })
socket.resume()
await new Promise(resolve => socket.once('connect', resolve))
const startMs = clock.nowMs() + 500
for (let index = 0; index < Number(count); index++) {
  await sleepPreciselyUntil(clock, startMs + (1_000 * index) / Number(perSecond))
  socket.write(request)
}
await new Promise(resolve => setTimeout(resolve, 100))
socket.destroy()
process.send?.({})
process.once('disconnect', () => process.exit())
