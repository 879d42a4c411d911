import { Client } from 'undici'
import { bareRequest } from '../support/bare-request.ts'

/**
 * Bare undici on one call, without any check, after a warm-up of a second. Each connection has its own client, as in
 * Turnpike's transport. Arguments: port, connections, seconds.
 */
const [port, connections, seconds] = process.argv.slice(2)
const startMs = performance.now() + 1_000
const endMs = startMs + Number(seconds) * 1_000
let answered = 0

await Promise.all(Array.from({ length: Number(connections) }, keepBusy))
process.send?.({ perSecond: answered / Number(seconds), failed: 0 })
process.once('disconnect', () => process.exit())

function keepBusy(): Promise<void> {
  const client = new Client(`http://127.0.0.1:${port}`, { pipelining: 1, headersTimeout: 0, bodyTimeout: 0 })
  return new Promise((resolve, reject) => {
    const next = () => {
      if (performance.now() >= endMs) return resolve(client.destroy())
      client.dispatch(bareRequest, {
        onRequestStart: () => {},
        onResponseStart: () => {},
        onResponseData: () => {},
        onResponseEnd: () => {
          if (performance.now() >= startMs) answered++
          next()
        },
        onResponseError: (_, error) => reject(error),
      })
    }
    next()
  })
}
