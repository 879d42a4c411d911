import type { Cancel, Clock } from '../../lib/clock.ts'
import { is2xx } from '../../lib/numbers.ts'
import { areCut, headerRecord, noHeaders } from './headers.ts'
import { type Deadline, type DeadlineWatch, postpone, type TimeoutPhase, touch } from './timeouts.ts'
import type { EndReason, Exchange, Leave, OnStreamBytes, RawHttpRequest, TransportFailure } from './transport.ts'

/**
 * One HTTP exchange in progress. An HTTP client reports its events with the functions below; each does nothing after
 * the end. They are functions over one record, because closures would be allocated for every request.
 */
export type ExchangeRecorder = Readonly<Pick<Exchange, 'sentMs'>> & {
  readonly clock: Clock
  readonly request: RawHttpRequest
  readonly onEnd: (exchange: Exchange) => void
  readonly disconnect: (reason: EndReason) => void
  readonly watch: DeadlineWatch
  readonly deadline: Deadline
  readonly body: Buffer[]
  headersMs: number | null
  status: number | null
  headers: Exchange['headers']
  headersCut: boolean
  retried: boolean
  bytes: number
  /** Set when the headers show that the response is an event stream. */
  onStreamBytes: OnStreamBytes | null
  /** Stops waiting for the time at which the client leaves; null: it leaves at no time. */
  stayOn: Cancel | null
  /** The client has stopped reading, and will leave. */
  silent: boolean
  /** When a client that reads slowly has read all it got; it then wants more. */
  readyMs: number
  /** Stops reading the connection; the result reads on. null: no connection yet, or it cannot be stopped. */
  hold: (() => () => void) | null
  ended: boolean
}

/**
 * Starts an exchange and its timeouts. Calls `onEnd` once. If the exchange was cancelled, calls `disconnect` after
 * that: the client then closes the connection, or stops waiting for one.
 */
export function recordExchange(
  clock: Clock,
  watch: DeadlineWatch,
  request: RawHttpRequest,
  onEnd: ExchangeRecorder['onEnd'],
  disconnect: ExchangeRecorder['disconnect'],
): ExchangeRecorder {
  const sentMs = clock.nowMs()
  const onTimeout = (limit: TimeoutPhase | 'total') =>
    cancelWith(recorder, `${limit}-timeout`, timeoutMessage(limit, request))
  const recorder: ExchangeRecorder = {
    clock,
    request,
    onEnd,
    disconnect,
    watch,
    deadline: watch.start(request.timeouts, sentMs, onTimeout),
    sentMs,
    headersMs: null,
    status: null,
    headers: noHeaders,
    headersCut: false,
    retried: false,
    body: [],
    bytes: 0,
    onStreamBytes: null,
    stayOn: null,
    silent: false,
    readyMs: 0,
    hold: null,
    ended: false,
  }
  const at = request.leave?.at
  if (typeof at === 'object' && 'ms' in at) recorder.stayOn = clock.at(sentMs + at.ms, () => leave(recorder))
  return recorder
}

/** The request waits for a new connection. `wasSent`: on the last one it was sent. */
export function onReconnect(recorder: ExchangeRecorder, wasSent: boolean, atMs: number): void {
  if (wasSent) recorder.retried = true
  recorder.watch.enter(recorder.deadline, 'connect', atMs)
}

/** The request has a connection. */
export function onConnected(recorder: ExchangeRecorder, atMs: number): void {
  if (!recorder.ended) recorder.watch.enter(recorder.deadline, 'headers', atMs)
}

/** `raw` alternates names and values as received. */
export function onHeaders(recorder: ExchangeRecorder, status: number, raw: readonly (Buffer | string)[]): void {
  if (recorder.ended) return
  const { clock, watch, deadline, request } = recorder
  const atMs = clock.nowMs()
  recorder.headersMs = atMs
  recorder.status = status
  recorder.headers = headerRecord(raw)
  recorder.headersCut = areCut(recorder.headers, raw)
  if (request.onStreamBytes !== null && isEventStream(recorder)) recorder.onStreamBytes = request.onStreamBytes
  watch.enter(deadline, 'idle', atMs)
  if (request.leave?.at === 'headers' && is2xx(status)) leave(recorder)
}

export function onBody(recorder: ExchangeRecorder, bytes: Buffer): void {
  if (recorder.ended || recorder.silent) return
  const { clock, deadline, request, onStreamBytes } = recorder
  const atMs = clock.nowMs()
  touch(deadline, atMs)
  recorder.bytes += bytes.length
  const { maxBodyBytes } = request
  if (recorder.bytes > maxBodyBytes) cancelWith(recorder, 'body-too-large', `more than ${maxBodyBytes} bytes`)
  else if (onStreamBytes === null) recorder.body.push(bytes)
  else {
    onStreamBytes(bytes, atMs)
    if (request.readingMs !== undefined) readSlowly(recorder, request.readingMs(bytes.length), atMs)
  }
  if (request.leave !== undefined && leavesAt(request.leave, recorder.status)) leave(recorder)
}

/** A timer that is late by less than this does not make the client slower. */
const graceMs = 50

/** The client takes this long to read what it got, and reads no more until then. */
function readSlowly(recorder: ExchangeRecorder, ms: number, atMs: number): void {
  const { clock, deadline, readyMs, hold, ended } = recorder
  if (ended || hold === null) return
  const until = Math.max(readyMs, atMs - graceMs) + ms
  recorder.readyMs = until
  if (until <= atMs) return
  postpone(deadline, until - Math.max(readyMs, atMs), until)
  if (readyMs > atMs) return
  const readOn = hold()
  const wait = () => {
    // What one read brought may have several parts, each of which takes its time.
    recorder.stayOn = clock.at(recorder.readyMs, () => (clock.nowMs() < recorder.readyMs ? wait() : readOn()))
  }
  wait()
}

/** Whether the client leaves now that it has some of the body. */
export const leavesAt = ({ at }: Leave, status: number | null): boolean =>
  is2xx(status) && (at === 'first-byte' || (typeof at === 'object' && 'isReached' in at && at.isReached()))

function leave(recorder: ExchangeRecorder): void {
  const { clock, watch, deadline, request, ended, silent } = recorder
  if (ended || silent || request.leave === undefined) return
  const { text, silentMs } = request.leave
  const close = () => cancelWith(recorder, 'left', text)
  if (silentMs === undefined) {
    close()
    return
  }
  // Nothing is read, so that the target finds its buffers full, and no timeout of ours ends that.
  recorder.silent = true
  watch.stop(deadline)
  recorder.stayOn = clock.at(clock.nowMs() + silentMs, close)
}

/** Ends the exchange. null: the response is complete HTTP. */
export function endExchange(recorder: ExchangeRecorder, failure: TransportFailure | null): void {
  if (recorder.ended) return
  recorder.ended = true
  const { clock, onEnd, sentMs, headersMs, status, headers, headersCut, retried, body, bytes } = recorder
  recorder.watch.stop(recorder.deadline)
  recorder.stayOn?.()
  onEnd({
    sentMs,
    headersMs,
    endMs: clock.nowMs(),
    status,
    headers,
    headersCut,
    retried,
    body: concatBody(body),
    bytes,
    failure,
  })
}

/** Ends the exchange and disconnects. */
export function cancelWith(recorder: ExchangeRecorder, reason: EndReason, detail: string): void {
  if (recorder.ended) return
  endExchange(recorder, { reason, detail })
  recorder.disconnect(reason)
}

/**
 * Whether the body is an event stream. Other responses to a streamed request, such as errors, have an ordinary body.
 */
export const isEventStream = ({ status, headers }: Pick<Exchange, 'status' | 'headers'>): boolean =>
  is2xx(status) && /^text\/event-stream\s*(;|$)/i.test(headers['content-type'] ?? '')

const emptyBody = Buffer.alloc(0)

function concatBody(parts: readonly Buffer[]): Buffer {
  const [first] = parts
  return parts.length < 2 ? (first ?? emptyBody) : Buffer.concat(parts)
}

function timeoutMessage(limit: TimeoutPhase | 'total', { timeouts }: Pick<RawHttpRequest, 'timeouts'>): string {
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

/** At least this many callbacks run in a row; then the sockets are read again. */
const minBatch = 16
/** The share of the waiting callbacks that runs in a row, so that they wait for a few turns even if ever more come. */
const share = 1 / 2

export type FairQueue = {
  readonly callLater: (callback: () => void) => void
  /** Runs the one that has waited longest now, if there is one. */
  readonly callOne: () => void
}

/**
 * Runs callbacks after all responses that have arrived are read and stamped. Work on one response delays the stamps of
 * the responses that wait in the kernel. After a stall there are many, and the delay would count as their latency.
 */
export function createFairQueue(clock: Clock): FairQueue {
  let waiting: (() => void)[] = []
  let isScheduled = false
  const schedule = () => {
    isScheduled = true
    clock.atPrecisely(clock.nowMs(), runBatch)
  }
  const runBatch = () => {
    isScheduled = false
    const count = Math.max(minBatch, Math.ceil(waiting.length * share))
    const ready = waiting
    waiting = ready.length <= count ? [] : ready.splice(count)
    if (waiting.length > 0) schedule()
    for (const callback of ready) callback()
  }
  return {
    callLater: callback => {
      waiting.push(callback)
      if (!isScheduled) schedule()
    },
    callOne: () => waiting.shift()?.(),
  }
}
