import { createServer } from 'node:net'

/**
 * A target that costs next to nothing and still keeps every promise of a single `eth_blockNumber`: ids are new, limits
 * and balance count down. It answers each read with one answer, so a client must not pipeline. Tells its port by IPC.
 */
const limit = 1_000_000_000
const resetSeconds = Math.floor(Date.now() / 1000) + 3_600
const openingUnits = 10_000_000_000_000n // of 10⁻⁷ USD; one call costs 125 of them
let served = 0
let statements = 0

const rpcBodies = { number: rpcBody('1'), text: rpcBody('"r-1"') }
const statementBody = JSON.stringify({ data: { rateLimits: [{ apiModelId: 'other', rateLimits: [] }] } })

function rpcBody(id: string): string {
  return `{"jsonrpc":"2.0","id":${id},"result":"0x1312d00"}`
}

const server = createServer(socket => {
  socket.setNoDelay(true)
  socket.on('error', () => {})
  socket.on('data', bytes => {
    const isRpc = bytes[0] === 0x50 // P of POST
    // The id of a single call is 1 or "r-1".
    const body = !isRpc ? statementBody : bytes.includes('"r-1"') ? rpcBodies.text : rpcBodies.number
    // A balance is the one before the request, a remainder the one behind it.
    const balance = (openingUnits - BigInt(served) * 125n).toString()
    if (isRpc) served++
    else statements++
    const lines = [
      'HTTP/1.1 200 OK',
      'content-type: application/json',
      `content-length: ${body.length}`,
      `date: ${new Date().toUTCString()}`,
      `cf-ray: ${served}-${statements}`,
      'x-service-version: 20260801.120000',
      `x-service-balance-usd: ${balance.slice(0, -7)}.${balance.slice(-7)}`,
      'x-service-balance-diem: 0',
      `x-ratelimit-limit-requests: ${limit}`,
      `x-ratelimit-remaining-requests: ${limit - (isRpc ? served : statements)}`,
      `x-ratelimit-reset-requests: ${resetSeconds}`,
      'x-service-rpc-credits: 20',
      'x-service-rpc-cost-usd: 0.00001250',
      `x-request-id: r${served}`,
    ]
    socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`)
  })
})

server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.send?.({ port: typeof address === 'object' ? address?.port : 0 })
})
process.once('disconnect', () => process.exit())
