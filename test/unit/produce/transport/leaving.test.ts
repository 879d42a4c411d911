import { expect, onTestFinished, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import type { Leave } from '../../../../src/produce/transport/transport.ts'
import { undiciTransport } from '../../../../src/produce/transport/undici.ts'
import { serviceForClients } from '../../../support/service-for-clients.ts'
import { plainRequest } from './loopback.ts'

/** A client of a service that charges for what was delivered, 5 ms for each token. */
async function client() {
  const billing = { ...documentedContract.billing, hangUp: 'delivered' as const }
  const { base, server } = await serviceForClients(
    { ...documentedContract, billing },
    { timing: { ttftMs: 5, itlMs: 5 } },
  )
  const { send, close } = undiciTransport({ baseUrl: base, clock: systemClock(), maxConnections: 1 })
  onTestFinished(async () => {
    await close()
    await server.close()
  })
  const headers = { authorization: 'Bearer ref_default_grace', 'content-type': 'application/json' }
  const { signal } = new AbortController()
  const messages = [{ role: 'user', content: 'word '.repeat(40) }]
  const body = JSON.stringify({ model: 'ref-small-24b', stream: true, max_completion_tokens: 400, messages })
  let chunks = 0
  let reads = 0
  const onStreamBytes = (bytes: Buffer) => {
    reads++
    chunks += bytes.toString().split('"content":"').length - 1
  }
  return {
    chunks: () => chunks,
    reads: () => reads,
    chat: (leave?: Leave) => send({ ...plainRequest, headers, body, onStreamBytes, ...(leave && { leave }) }, signal),
    balance: async () => {
      const { headers: got } = await send(
        { ...plainRequest, method: 'GET', path: '/api_keys/rate_limits', headers, body: null },
        signal,
      )
      return Number(got['x-service-balance-usd'])
    },
  }
}

test('a client leaves after some tokens, pays for those, and its connection can be opened again', async () => {
  const { chat, balance, chunks } = await client()
  const exchange = await chat({ at: { isReached: () => chunks() >= 5 }, text: '5 tokens' })
  expect(exchange).toMatchObject({ status: 200, failure: { reason: 'left', detail: '5 tokens' } })
  await new Promise(resolve => setTimeout(resolve, 50))
  const paid = 10 - (await balance())
  // The prompt, and at least five tokens at two dollars per million.
  expect(paid).toBeGreaterThan(30e-6)
  expect(paid).toBeLessThan(500e-6)
})

test.each<[string, Leave['at'], number | null]>([
  ['headers', 'headers', 200],
  ['first-byte', 'first-byte', 200],
  ['1ms', { ms: 1 }, null],
])('a client leaves at %s', async (text, at, status) => {
  const { chat, balance } = await client()
  const exchange = await chat({ at, text })
  expect(exchange.failure).toEqual({ reason: 'left', detail: text })
  if (status !== null) expect(exchange.status).toBe(status)
  expect(await balance()).toBeGreaterThan(9.99)
})

test('a client that stops reading reads no more until it closes the connection', async () => {
  const { chat, reads } = await client()
  const exchange = await chat({ at: 'first-byte', text: 'first-byte, and 80 ms without reading', silentMs: 80 })
  expect(exchange.failure?.reason).toBe('left')
  expect(reads()).toBe(1)
  expect(exchange.endMs - (exchange.headersMs ?? 0)).toBeGreaterThan(75)
})
