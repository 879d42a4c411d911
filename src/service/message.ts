import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import type { Contract } from '../contract/contract.ts'
import { is2xx } from '../lib/numbers.ts'
import type { Account } from './account.ts'
import type { Route } from './router.ts'

/** What precedes every path of the service. */
export const basePath = '/api/v1'

/** A request. Header names are in lower case. */
export type ServiceRequest = {
  readonly method: string
  /** Relative to the base address, with the query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | string
  /** What it lacks of what the profile adds to each request. */
  readonly lacks?: string | null
  /** The status of the reply if it could not be read: it is not HTTP, or too large. */
  readonly unreadable?: number
}

/** A response, and when to send each part. */
export type Reply = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** From the arrival of the request until the headers are sent. */
  readonly afterMs: number
  readonly body: ReplyBody
  /** Called if the client leaves before the end: how long after the arrival of its request. */
  readonly onLeave?: OnLeave | undefined
}

export type OnLeave = (afterMs: number) => void

export type ReplyBody =
  | { readonly kind: 'whole'; readonly text: string }
  | { readonly kind: 'bytes'; readonly bytes: Buffer }
  | { readonly kind: 'stream'; readonly chunks: readonly StreamChunk[]; readonly whileFull?: WhileFull | undefined }
  /** Parts that are sent as they come. Iterating rejects if there will be no end; the connection is then broken off. */
  | { readonly kind: 'live'; readonly parts: AsyncIterable<string> }

/** What happens to a chunk that is due while the buffers to its client are full. Missing: it waits. */
export type WhileFull = (text: string) => 'waits' | 'is-lost' | 'breaks-off'

export type StreamChunk = {
  /** From the arrival of the request; never decreases along a stream. */
  readonly afterMs: number
  readonly text: string
}

/** One request while the service handles it. Each step adds headers, so an error reply carries all those known by then. */
export type RequestState = {
  readonly request: ServiceRequest
  readonly route: Route
  readonly account: Account | null
  /** Unix milliseconds. */
  readonly arrivedMs: number
  readonly headers: Record<string, string>
}

export function jsonReply(state: RequestState, value: unknown, afterMs = 0): Reply {
  return { status: 200, headers: state.headers, afterMs, body: { kind: 'whole', text: JSON.stringify(value) } }
}

/** A reply with an error object, sent without delay. */
export function errorReply(
  state: RequestState,
  status: number,
  error: string,
  more: Readonly<Record<string, unknown>> = {},
): Reply {
  const text = JSON.stringify({ error, ...more })
  return { status, headers: state.headers, afterMs: 0, body: { kind: 'whole', text } }
}

/** The reply to a request that the balance does not cover. A profile may document no code for it. */
export const paymentRequiredReply = (state: RequestState, { errors }: Contract): Reply =>
  errorReply(
    state,
    402,
    'Insufficient USD or DIEM balance to complete the request',
    errors.insufficientBalanceCode === null ? {} : { code: errors.insufficientBalanceCode },
  )

export type Encoding = 'gzip' | 'br' | 'deflate'

/** The encoding of a reply, from the Accept-Encoding of its request. Only a whole successful body is compressed. */
export function encodingFor(accepted: string | undefined, { status, body }: Reply): Encoding | null {
  if (accepted === undefined || !is2xx(status) || body.kind !== 'whole') return null
  const weights = new Map(accepted.split(',').map(weighed))
  const [br = 0, gzip = 0] = ['br', 'gzip'].map(name => weights.get(name) ?? weights.get('*'))
  if (br === 0 && gzip === 0) return null
  return br >= gzip ? 'br' : 'gzip'
}

/** An element of Accept-Encoding and its weight, which is 1 if it states none. */
function weighed(element: string): readonly [name: string, weight: number] {
  const [name = '', ...parameters] = element.split(';').map(part => part.trim().toLowerCase())
  const weight = parameters.find(parameter => parameter.startsWith('q='))
  return [name, weight === undefined ? 1 : Number(weight.slice(2)) || 0]
}

export function compress(text: string, encoding: Encoding): Buffer {
  switch (encoding) {
    case 'gzip':
      return gzipSync(text)
    case 'br':
      return brotliCompressSync(text)
    case 'deflate':
      return deflateSync(text)
  }
}

/** The reply with a compressed body. A stream becomes one body, sent when it is complete. */
export function compressReply(reply: Reply, encoding: Encoding, compressText: (text: string) => Buffer): Reply {
  const { headers, body } = reply
  if (body.kind === 'bytes' || body.kind === 'live') return reply
  const [text, afterMs] =
    body.kind === 'whole'
      ? [body.text, reply.afterMs]
      : [body.chunks.map(chunk => chunk.text).join(''), body.chunks.at(-1)?.afterMs ?? reply.afterMs]
  return {
    ...reply,
    headers: { ...headers, 'content-encoding': encoding, vary: 'accept-encoding' },
    afterMs,
    body: { kind: 'bytes', bytes: compressText(text) },
  }
}
