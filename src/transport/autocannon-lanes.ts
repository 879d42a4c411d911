import type { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import autocannon from 'autocannon'
import type { Clock } from '../lib/clock.ts'
import { abortWatch } from './abort-watch.ts'
import { createDelivery } from './delivery.ts'
import { type ErrandExchange, startErrand } from './errand-exchange.ts'
import { type Failure, failureOf } from './failure-of.ts'
import { requestText } from './request-text.ts'
import type { Exchange, Saturate } from './transport.ts'

/** What autocannon keeps of a connection. Its types name little of it; the version is pinned, and tests hold it to this. */
type Client = EventEmitter & {
  readonly conn: Socket
  readonly parser: {
    [callback: number]: (bytes: Buffer, start: number, length: number) => void
    readonly constructor: { readonly kOnBody: number }
    readonly hadError: boolean
  }
  /** Called whenever the connection is free, to send the next request. */
  _doRequest: () => void
  /** Who was sent and is not answered; an answer without one is a crash. */
  readonly pipelinedRequests: { readonly insertRequest: (request: object) => void }
  readonly destroy: () => void
}

/** autocannon is told no end in time: when to stop is known elsewhere. In seconds, of which a timer holds so many. */
const forever = 2_000_000
/** A connection that could not be opened is tried again after so long. */
const reopenMs = 100

/**
 * Connections of autocannon, each of which has its next request as soon as it has its answer. It corrects latencies by an
 * interval in the wrong unit, decodes a body piece by piece, sends on a connection that is closing, and mistakes the
 * answers of a new one for the rest of the last: so its sums are not read, bodies are taken from its parser as bytes, and
 * a connection is given up at the first irregularity, for another one.
 *
 * It would send where it reads. A write that wakes the target up costs five times one that finds it at work, and
 * whatever is done between two reads makes the stamp of the second late: so what has come is read first, and then
 * several requests are sent in a row.
 */
export function autocannonLanes({
  baseUrl,
  clock,
}: {
  /** `http:`; autocannon verifies no certificate. */
  readonly baseUrl: string
  readonly clock: Clock
}): Saturate {
  const { protocol, origin, host, pathname } = new URL(baseUrl)
  if (protocol !== 'http:') throw new RangeError(`${protocol} is not for autocannon`)
  const base = { host, pathPrefix: pathname.replace(/\/+$/, '') }
  const watchAbort = abortWatch()
  const deliver = createDelivery(clock)
  const inARow = oneAfterTheOther()

  return (next, connections, signal) =>
    new Promise((resolve, reject) => {
      let open = connections
      const close = () =>
        deliver(() => {
          if (--open === 0) resolve()
        })

      function start(count: number): void {
        autocannon({
          url: origin,
          connections: count,
          duration: forever,
          timeout: forever,
          setupClient: client => runLane(client as unknown as Client),
        }).then(() => {}, reject)
      }

      /** One connection from its opening to its end. */
      function runLane(client: Client): void {
        let exchange: ErrandExchange | null = null
        let isConnected = false
        let isOver = false

        const finish = (then: () => void): void => {
          if (isOver) return
          isOver = true
          unwatch()
          // While it makes a client, autocannon does not hear of its end.
          if (exchange === null) deliver(client.destroy.bind(client))
          else client.destroy()
          then()
        }
        const reopen = () => start(1)
        const giveUp = () => finish(isConnected ? reopen : () => void clock.at(clock.nowMs() + reopenMs, reopen))
        const unwatch = watchAbort(signal, () => {
          exchange?.end(aborted)
          finish(close)
        })

        const watchConnection = () => {
          const { conn, parser } = client
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

        const send = () => {
          const errand = isOver ? null : next()
          if (errand === null) return finish(close)
          const { request } = errand
          const text = requestText(request, base)
          const onEnd = (ended: Exchange) =>
            deliver(() => {
              // The next is on its way before this one is worked on.
              send()
              errand.onEnd(ended)
            })
          inARow(() => {
            // autocannon would add up each answer, and its sums are not read.
            if (exchange === null) client.removeAllListeners('response').on('response', onResponse)
            exchange = startErrand({ request, onEnd }, { clock, isConnected, giveUp })
            if (isOver) return exchange.end(aborted)
            client.pipelinedRequests.insertRequest(request)
            client.conn.write(text)
          })
        }
        client._doRequest = () => {
          // Behind each answer autocannon comes here again.
          if (exchange !== null) return
          watchConnection()
          send()
        }

        client.on('headers', (head: unknown) => {
          const { statusCode, headers } = head as { readonly statusCode: number; readonly headers: readonly string[] }
          if (statusCode >= 200) exchange?.onHeaders(statusCode, headers)
          else exchange?.end(notReadOn(statusCode))
          // What comes behind the end of an answer is none: autocannon finds no request that it could belong to.
          if (exchange?.hasEnded()) giveUp()
        })
        const onResponse = () => {
          exchange?.end(null)
          if (exchange?.closesConnection()) finish(reopen)
        }
        client.on('connError', (error: unknown) => {
          exchange?.end(failureOf(error, isConnected ? 'open' : 'opening'))
          giveUp()
        })
      }

      start(connections)
    })
}

const aborted: Failure = { reason: 'cancelled', detail: 'aborted by the harness' }

const notReadOn = (status: number): Failure => ({
  reason: 'cancelled',
  detail: `autocannon cannot read on behind an answer of ${status}`,
})

/** Has work done when the callback is over in which the first of it was asked for. */
function oneAfterTheOther(): (work: () => void) => void {
  let waiting: (() => void)[] = []
  const doAll = () => {
    const ready = waiting
    waiting = []
    for (const work of ready) work()
  }
  return work => {
    if (waiting.push(work) === 1) queueMicrotask(doAll)
  }
}
