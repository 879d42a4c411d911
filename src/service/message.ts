import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import type { Contract } from '../contract/contract.ts'
import type { Account } from './account.ts'
import type { Route } from './router.ts'

/** What the service is asked. Header names are in lower case. */
export type ServiceRequest = {
  readonly method: string
  /** Relative to the base address; it may carry a query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | string
}
/** What the service answers, with the instants at which it does. */
export type Reply = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** From the request's arrival until the head is sent. */
  readonly afterMs: number
  readonly body: ReplyBody
}
export type ReplyBody =
  | { readonly kind: 'whole'; readonly text: string }
  | { readonly kind: 'bytes'; readonly bytes: Buffer }
  | { readonly kind: 'stream'; readonly chunks: readonly StreamChunk[] }
export type StreamChunk = {
  /** From the request's arrival; never falls along a stream. */
  readonly afterMs: number
  readonly text: string
}
/** One request while it is answered. The headers gather on the way, so that a refusal carries all that was known. */
export type Visit = {
  readonly request: ServiceRequest
  readonly route: Route
  readonly account: Account | null
  /** Unix time. */
  readonly arrivedMs: number
  readonly headers: Record<string, string>
}
export function json(visit: Visit, value: unknown, afterMs = 0): Reply {
  return { status: 200, headers: visit.headers, afterMs, body: { kind: 'whole', text: JSON.stringify(value) } }
}
/** An error object. Refusals are not kept waiting. */
export function refuse(
  visit: Visit,
  status: number,
  error: string,
  more: Readonly<Record<string, unknown>> = {},
): Reply {
  const text = JSON.stringify({ error, ...more })
  return { status, headers: visit.headers, afterMs: 0, body: { kind: 'whole', text } }
}
/** A profile may have no code for it. */
export const insufficient = (visit: Visit, { errors }: Contract): Reply =>
  refuse(
    visit,
    402,
    'Insufficient USD or DIEM balance to complete the request',
    errors.insufficientBalanceCode === null ? {} : { code: errors.insufficientBalanceCode },
  )
export type Encoding = 'gzip' | 'br' | 'deflate'
/** What a reply is compressed with, of what Accept-Encoding names: a completion that is sent whole, and nothing else. */
export function encodingFor(accepted: string | undefined, { status, body }: Reply): Encoding | null {
  if (accepted === undefined || status !== 200 || body.kind !== 'whole') return null
  const names = accepted.split(',').map(name => name.trim().toLowerCase())
  return names.includes('br') ? 'br' : names.includes('gzip') ? 'gzip' : null
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
/** The reply with its text as `compressed` makes it. A stream is sent all at once when it is complete. */
export function encoded(reply: Reply, encoding: Encoding, compressed: (text: string) => Buffer): Reply {
  const { headers, body } = reply
  if (body.kind === 'bytes') return reply
  const [text, afterMs] =
    body.kind === 'whole'
      ? [body.text, reply.afterMs]
      : [body.chunks.map(chunk => chunk.text).join(''), body.chunks.at(-1)?.afterMs ?? reply.afterMs]
  return {
    ...reply,
    headers: { ...headers, 'content-encoding': encoding, vary: 'accept-encoding' },
    afterMs,
    body: { kind: 'bytes', bytes: compressed(text) },
  }
}
