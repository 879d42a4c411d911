import { createMask, type Mask } from '../../src/lib/mask/mask.ts'
import { maskExchange, responseOf } from '../../src/produce/calls/read-response.ts'
import { createStreamReader } from '../../src/produce/calls/stream-reader.ts'
import type { Exchange } from '../../src/produce/transport/transport.ts'
import type { Bench } from './support/figure.ts'

const keys = 16
const tokens = 200
const items = 10

const headers = {
  'content-type': 'application/json',
  date: 'Thu, 15 Jan 2026 12:00:00 GMT',
  'cf-ray': '8f1d2c3b4a596877-FRA',
  'x-request-id': 'b8f0a1c2-7d3e-4f5a-9b6c-0d1e2f3a4b5c',
  'x-service-version': '20260115.120000',
  'x-ratelimit-limit-requests': '500',
  'x-ratelimit-remaining-requests': '499',
  'x-ratelimit-reset-requests': '1768478460',
  'x-service-balance-usd': '9.99812345',
}

const batch = Buffer.from(
  JSON.stringify(
    Array.from({ length: items }, (_, id) => ({ jsonrpc: '2.0', id, result: `0x${'4b3c2d1e0f'.repeat(6)}${id}` })),
  ),
)
const chunkOf = (content: string) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { content } }] })}\n\n`
const stream = Buffer.from(
  `${Array.from({ length: tokens }, (_, at) => chunkOf(`word${at} `)).join('')}data: [DONE]\n\n`,
)

const exchange: Exchange = {
  ...{ sentMs: 0, headersMs: 1, endMs: 2, status: 200, headers, body: batch, bytes: batch.length, failure: null },
}

const readBatch = (mask: Mask): unknown =>
  responseOf(maskExchange(exchange, mask), null, { digest: false, maxBytes: 1_000_000, mask })

function readStream(mask: Mask): unknown {
  const reader = createStreamReader({ doneMarker: '[DONE]', echoField: null, mask })
  for (let at = 0; at < stream.length; at += 1_400) reader.push(stream.subarray(at, at + 1_400), at)
  return responseOf(maskExchange(exchange, mask), reader.end(), { digest: false, maxBytes: 1_000_000, mask })
}

/** CPU time of reading a response with a mask over 16 keys, and with a mask over none, in turns. */
export const benchMask: Bench = async ({ short }) => {
  const masked = createMask(Array.from({ length: keys }, (_, index) => `sk-proj-8Jk2Lm4Np6Qr${index}St0Uv1`))
  const bare = createMask([])
  const rounds = short ? 20 : 200
  const ratioOf = (read: (mask: Mask) => unknown): number => {
    const spent = { masked: 0, bare: 0 }
    for (let round = -5; round < rounds; round++) {
      for (const [name, mask] of [
        ['masked', masked],
        ['bare', bare],
      ] as const) {
        const start = process.cpuUsage()
        for (let count = 0; count < 200; count++) read(mask)
        const { user, system } = process.cpuUsage(start)
        // The first rounds warm up.
        if (round >= 0) spent[name] += user + system
      }
    }
    const each = (us: number) => (us / rounds / 200).toFixed(1)
    console.log(`  ${each(spent.masked)} µs with the mask, ${each(spent.bare)} µs without`)
    return spent.masked / spent.bare
  }
  console.log(
    `\nReading a response under a mask over ${keys} keys: a batch of ${items}, and a stream of ${tokens} tokens`,
  )
  return [
    { name: 'CPU of reading an RPC batch, with the mask ÷ without', value: ratioOf(readBatch), unit: '', aim: null },
    { name: 'CPU of reading a chat stream, with the mask ÷ without', value: ratioOf(readStream), unit: '', aim: null },
  ]
}
