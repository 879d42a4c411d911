import type { Clock } from '../../src/lib/clock.ts'
import type { Exchange, Saturate, Transport } from '../../src/produce/transport/transport.ts'
import type { Service } from '../../src/service/service.ts'

export type Network = {
  /** The network delay of each request and each response, in milliseconds. */
  readonly delayMs: () => number
  /** Whether the connection of the next request is reset before the request reaches the service; by default never. */
  readonly isReset?: () => boolean
}

/** The reference service without sockets, on the clock of the test. It has no timeouts. */
export function memoryTransport(service: Service, clock: Clock, network: Network = { delayMs: () => 0.5 }): Transport {
  return request =>
    new Promise<Exchange>(resolve => {
      const sentMs = clock.nowMs()
      if (network.isReset?.() === true)
        return after(clock, network.delayMs(), () => resolve(resetAt(sentMs, clock.nowMs())))
      after(clock, network.delayMs(), async () => {
        const headers = Object.fromEntries(
          Object.entries(request.headers).map(([name, value]) => [name.toLowerCase(), value]),
        )
        const asked = { method: request.method, path: request.path, headers, body: request.body ?? '' }
        // Only wallets make the service wait for something else than its clock.
        const reply =
          'authorization' in headers
            ? service.respond(asked)
            : await (service.respondLater(asked) ?? service.respond(asked))
        const startMs = clock.nowMs()
        const backMs = network.delayMs()
        after(clock, reply.afterMs + backMs, () => {
          const headersMs = clock.nowMs()
          const response = { sentMs, headersMs, status: reply.status, headers: reply.headers, failure: null }
          if (reply.body.kind === 'whole' || reply.body.kind === 'bytes') {
            const body = reply.body.kind === 'whole' ? Buffer.from(reply.body.text) : reply.body.bytes
            resolve({ ...response, endMs: headersMs, body, bytes: body.length })
            return
          }
          if (reply.body.kind === 'live') throw new Error('a live stream has no place in virtual time')
          let bytes = 0
          const { chunks } = reply.body
          chunks.forEach((chunk, index) => {
            const dueMs = Math.max(headersMs, startMs + chunk.afterMs + backMs)
            clock.at(dueMs, () => {
              const read = Buffer.from(chunk.text)
              bytes += read.length
              request.onStreamBytes?.(read, clock.nowMs())
              if (index === chunks.length - 1)
                resolve({ ...response, endMs: clock.nowMs(), body: Buffer.alloc(0), bytes })
            })
          })
        })
      })
    })
}

const resetAt = (sentMs: number, endMs: number): Exchange => ({
  sentMs,
  headersMs: null,
  endMs,
  status: null,
  headers: {},
  body: Buffer.alloc(0),
  bytes: 0,
  failure: { reason: 'connection-lost', detail: 'read ECONNRESET' },
})

function after(clock: Clock, delayMs: number, then: () => void): void {
  clock.at(clock.nowMs() + delayMs, then)
}

/** Saturated connections over any transport. */
export const busyOver =
  (transport: Transport): Saturate =>
  async (next, connections, signal) => {
    const connection = async () => {
      for (let pending = next(); pending !== null; pending = next())
        pending.onEnd(await transport({ ...pending.request, onStreamBytes: null }, signal))
    }
    await Promise.all(Array.from({ length: connections }, connection))
  }
