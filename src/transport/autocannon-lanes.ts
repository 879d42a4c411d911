import type { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import autocannon from 'autocannon'
import type { Clock } from '../lib/clock.ts'
import { abortWatch } from './abort-watch.ts'
import { type ErrandExchange, startErrand } from './errand-exchange.ts'
import { failureOf } from './failure-of.ts'
import type { Errand, Saturate } from './transport.ts'

/** What autocannon keeps of a connection. Its types name little of it; the version is pinned, and tests hold it to this. */
type Client = EventEmitter & {
  readonly conn: Socket
  readonly parser: {
    [callback: number]: (bytes: Buffer, start: number, length: number) => void
    readonly constructor: { readonly kOnBody: number }
    readonly hadError: boolean
  }
  /** Having made so many requests, a client ends when it is to make the next one. */
  responseMax: number
  readonly destroy: () => void
}

/** autocannon is told no end in time: when to stop is known elsewhere. In seconds, of which a timer holds so many. */
const forever = 2_000_000
/** More than this was made from the beginning. */
const endNow = -1
/** A connection that could not be opened is tried again after so long. */
const reopenMs = 100

/**
 * Connections of autocannon, which sends the next request in the same turn in which the answer has come. It corrects
 * latencies by an interval in the wrong unit, decodes a body piece by piece, sends on a connection that is closing,
 * and mistakes the answers of a new one for the rest of the last: so its sums are not read, bodies are taken from its
 * parser as bytes, and a connection is given up at the first irregularity, for another one.
 */
export function autocannonLanes({
  baseUrl,
  clock,
}: {
  /** `http:`; autocannon verifies no certificate. */
  readonly baseUrl: string
  readonly clock: Clock
}): Saturate {
  const base = new URL(baseUrl)
  if (base.protocol !== 'http:') throw new RangeError(`${base.protocol} is not for autocannon`)
  const pathPrefix = base.pathname.replace(/\/+$/, '')
  const watchAbort = abortWatch()

  return (next, connections, signal) =>
    new Promise((resolve, reject) => {
      let open = connections
      const close = () => {
        if (--open === 0) resolve()
      }
      const reopen = () => {
        const errand = next()
        if (errand === null) close()
        else start(1, errand)
      }

      /** Opens connections, of which the first sends what is given, if anything is. */
      function start(count: number, given: Errand | null): void {
        /** What the next request is to be; null while a client is made, which builds its first one before it is shown. */
        let upcoming: Errand | null = null
        let first = given
        autocannon({
          url: base.origin,
          connections: count,
          duration: forever,
          timeout: forever,
          requests: [
            {
              setupRequest: blank => {
                if (upcoming === null) first ??= next()
                const errand = upcoming ?? first
                upcoming = null
                if (errand === null) return blank
                const { method, path, headers, body } = errand.request
                return { ...blank, method, path: pathPrefix + path, headers, ...(body !== null && { body }) }
              },
            },
          ],
          setupClient: client => {
            const errand = first
            first = null
            runLane(client as unknown as Client, errand, next => {
              upcoming = next
            })
          },
        }).then(() => {}, reject)
      }

      /** One connection from its opening to its end. `prepare` says what the client is to build and send next. */
      function runLane(client: Client, first: Errand | null, prepare: (errand: Errand) => void): void {
        let errand = first
        let exchange: ErrandExchange | null = null
        let isConnected = false
        /** Whether autocannon is at work on the client: now it makes it. */
        let isInside = true
        let isOver = false

        const finish = (then: () => void): void => {
          if (isOver) return
          isOver = true
          unwatch()
          // A client that is destroyed while autocannon works on it sends once more, and waits for ever.
          if (isInside) client.responseMax = endNow
          else client.destroy()
          then()
        }
        const giveUp = () => finish(isConnected ? reopen : () => void clock.at(clock.nowMs() + reopenMs, reopen))
        const unwatch = watchAbort(signal, () => {
          exchange?.end({ reason: 'cancelled', detail: 'aborted by the harness' })
          finish(close)
        })

        const watchConnection = ({ conn, parser }: Client) => {
          conn.once('connect', () => {
            isConnected = true
            exchange?.onConnected()
          })
          // Before autocannon hears of it, and opens another one that it takes for the same.
          conn.prependListener('end', () => {
            exchange?.onClosed()
            giveUp()
          })
          conn.on('data', () => {
            if (!parser.hadError) return
            exchange?.end({ reason: 'protocol', detail: 'the answer is no HTTP' })
            giveUp()
          })
          parser[parser.constructor.kOnBody] = (bytes, start, length) =>
            exchange?.onBody(bytes.subarray(start, start + length))
        }

        client.on('request', () => {
          if (errand === null) return
          if (exchange === null) watchConnection(client)
          else prepare(errand)
          exchange = startErrand(errand, { clock, isConnected, giveUp })
          errand = null
        })
        client.on('headers', (head: unknown) => {
          const { statusCode, headers } = head as { readonly statusCode: number; readonly headers: readonly string[] }
          if (statusCode >= 200) return exchange?.onHeaders(statusCode, headers)
          exchange?.end({ reason: 'cancelled', detail: `autocannon cannot read on behind an answer of ${statusCode}` })
          giveUp()
        })
        client.on('response', () => {
          isInside = true
          exchange?.end(null)
          if (exchange?.closesConnection()) finish(reopen)
          else if (!isOver) {
            errand = next()
            if (errand === null) finish(close)
          }
          isInside = false
        })
        client.on('connError', (error: unknown) => {
          exchange?.end(failureOf(error, isConnected ? 'open' : 'opening'))
          giveUp()
        })
        if (first === null) finish(close)
        isInside = false
      }

      start(connections, null)
    })
}
