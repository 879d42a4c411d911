import type { Clock } from '../lib/clock.ts'
import type { FailureReason } from '../observation/observation.ts'
import { startDeadline } from './deadline.ts'
import { joined, lateness } from './exchange.ts'
import type { Failure } from './failure-of.ts'
import { headerRecord, noHeaders } from './header-record.ts'
import type { Errand } from './transport.ts'

/** One errand on its way, told of each thing that happens to it. What comes after its end is of no account. */
export type ErrandExchange = {
  readonly onConnected: () => void
  /** `raw`: names and values in turn, as they came. */
  readonly onHeaders: (status: number, raw: readonly string[]) => void
  readonly onBody: (bytes: Buffer) => void
  /** The whole answer is here; null: it is complete as HTTP goes. */
  readonly end: (failure: Failure | null) => void
  /** The connection has ended under it. */
  readonly onClosed: () => void
  /** Whether the answer asks for the connection to be closed behind it. */
  readonly closesConnection: () => boolean
  readonly hasEnded: () => boolean
}

/** The errand is sent now. `giveUp` closes its connection, which is of no use once it was broken off. */
export function startErrand(
  { request, onEnd }: Errand,
  { clock, isConnected, giveUp }: { readonly clock: Clock; readonly isConnected: boolean; readonly giveUp: () => void },
): ErrandExchange {
  const sentMs = clock.nowMs()
  let headersMs: number | null = null
  let status: number | null = null
  let headers = noHeaders
  let bytes = 0
  let ended = false
  const kept: Buffer[] = []

  const end = (failure: Failure | null): void => {
    if (ended) return
    ended = true
    deadline.stop()
    onEnd({ sentMs, headersMs, endMs: clock.nowMs(), status, headers, body: joined(kept), bytes, failure })
  }
  const breakOff = (reason: FailureReason, detail: string): void => {
    if (ended) return
    end({ reason, detail })
    giveUp()
  }
  const deadline = startDeadline(clock, request.timeouts, sentMs, limit =>
    breakOff(`${limit}-timeout`, lateness(limit, request)),
  )
  if (isConnected) deadline.enter('headers', sentMs)

  return {
    end,
    onConnected: () => {
      if (!ended) deadline.enter('headers', clock.nowMs())
    },
    onHeaders: (code, raw) => {
      if (ended) return
      headersMs = clock.nowMs()
      status = code
      headers = headerRecord(raw)
      deadline.enter('idle', headersMs)
    },
    onBody: part => {
      if (ended) return
      deadline.touch(clock.nowMs())
      bytes += part.length
      if (bytes > request.maxBodyBytes) breakOff('body-too-large', `more than ${request.maxBodyBytes} bytes`)
      else kept.push(part)
    },
    onClosed: () => {
      // Without a length or chunks, the end of the connection is the end of the body.
      const isWhole = headersMs !== null && !('content-length' in headers) && !('transfer-encoding' in headers)
      end(isWhole ? null : { reason: 'connection-lost', detail: 'the other side closed the connection' })
    },
    closesConnection: () => /\bclose\b/i.test(headers.connection ?? ''),
    hasEnded: () => ended,
  }
}
