import type { Dispatcher } from 'undici'
import type { Clock } from '../lib/clock.ts'
import type { FailureReason } from '../observation/observation.ts'
import type { WatchAbort } from './abort-watch.ts'
import type { Connections, Lane } from './connections.ts'
import { type Phase, startDeadline } from './deadline.ts'
import { isEventStream } from './event-stream.ts'
import { type ConnectionState, type Failure, failureOf } from './failure-of.ts'
import { headerRecord, noHeaders } from './header-record.ts'
import type { Exchange, OnStreamBytes, RawRequest } from './transport.ts'

/** What every exchange of a transport shares. */
export type Wire = {
  readonly clock: Clock
  readonly connections: Connections
  readonly watchAbort: WatchAbort
  /** What the base address puts in front of each path. */
  readonly pathPrefix: string
}

const nothing = Buffer.alloc(0)

/**
 * Sends the request and reports to `onEnd` once. The exchange can end before undici is done with the request (a limit
 * passed, the run was aborted); the connection is given back when undici is done, and not before.
 */
export function startExchange(
  wire: Wire,
  request: RawRequest,
  signal: AbortSignal,
  onEnd: (exchange: Exchange) => void,
): void {
  const { clock, connections } = wire
  const sentMs = clock.nowMs()
  let headersMs: number | null = null
  let status: number | null = null
  let headers = noHeaders
  let bytes = 0
  let onStreamBytes: OnStreamBytes | null = null
  const kept: Buffer[] = []
  let lane: Lane | null = null
  let abortRequest: ((error: Error) => void) | null = null
  let ended = false

  const end = (failure: Failure | null): void => {
    if (ended) return
    ended = true
    deadline.stop()
    unwatch()
    onEnd({ sentMs, headersMs, endMs: clock.nowMs(), status, headers, body: joined(kept), bytes, failure })
  }

  const breakOff = (reason: FailureReason, detail: string): void => {
    if (ended) return
    end({ reason, detail })
    if (lane === null) leaveQueue()
    else if (abortRequest === null) lane.giveUp()
    else abortRequest(new Error(reason))
  }

  const connectionState = (): ConnectionState => {
    if (abortRequest === null) return 'opening'
    return lane?.farEnd() === 'open' ? 'open' : 'ended'
  }

  const giveBack = (): void => {
    const used = lane
    lane = null
    if (used !== null) connections.giveBack(used)
  }

  // undici's older handler: the newer one has the headers of every answer made an object, by names and values that are
  // read one by one, which costs a tenth of all that is done for a call.
  const handler: Dispatcher.DispatchHandler = {
    onConnect: abort => {
      // The connection came too late for this request. To throw here leaves it open for the next; to abort closes it.
      if (ended) throw new Error('ended before it was sent')
      abortRequest = abort
      deadline.enter('headers', clock.nowMs())
    },
    onHeaders: (statusCode, raw) => {
      // A 1xx comes before the answer and is none.
      if (ended || statusCode < 200) return true
      headersMs = clock.nowMs()
      status = statusCode
      headers = headerRecord(raw)
      if (isEventStream({ status, headers })) onStreamBytes = request.onStreamBytes
      deadline.enter('idle', headersMs)
      return true
    },
    onData: chunk => {
      if (ended) return true
      const atMs = clock.nowMs()
      deadline.touch(atMs)
      bytes += chunk.length
      if (bytes > request.maxBodyBytes) breakOff('body-too-large', `more than ${request.maxBodyBytes} bytes`)
      else if (onStreamBytes === null) kept.push(chunk)
      else onStreamBytes(chunk, atMs)
      return true
    },
    onComplete: () => {
      const cutOff = lane?.farEnd() === 'reset'
      end(cutOff ? { reason: 'connection-lost', detail: 'ECONNRESET: reset inside the body' } : null)
      giveBack()
    },
    onError: error => {
      end(failureOf(error, connectionState()))
      // undici is still clearing away the failed request, and would trip over a new one.
      queueMicrotask(giveBack)
    },
  }

  const deadline = startDeadline(clock, request.timeouts, sentMs, limit =>
    breakOff(`${limit}-timeout`, lateness(limit, request)),
  )
  const unwatch = wire.watchAbort(signal, () => breakOff('cancelled', 'aborted by the harness'))
  const leaveQueue = connections.take(taken => {
    lane = taken
    const { method, headers, body } = request
    taken.dispatch({ path: wire.pathPrefix + request.path, method, headers, body }, handler)
  })
}

export function joined(kept: readonly Buffer[]): Buffer {
  const [first] = kept
  return kept.length < 2 ? (first ?? nothing) : Buffer.concat(kept)
}

/** Which limit of a request was passed, in words. */
export function lateness(limit: Phase | 'total', { timeouts }: Pick<RawRequest, 'timeouts'>): string {
  switch (limit) {
    case 'connect':
      return `no connection within ${timeouts.connectMs} ms`
    case 'headers':
      return `no headers within ${timeouts.headersMs} ms`
    case 'idle':
      return `nothing for ${timeouts.idleMs} ms inside the body`
    case 'total':
      return `not complete within ${timeouts.totalMs} ms`
  }
}
