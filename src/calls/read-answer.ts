import { createHash } from 'node:crypto'
import type { Answer, Body, Outcome, StreamRecord } from '../observation/observation.ts'
import type { Exchange } from '../transport/transport.ts'
import { decodeBody } from './decode-body.ts'

/** What a stream reader made of an event stream. */
export type StreamResult = {
  readonly reading: StreamRecord
  readonly failure: Extract<Outcome, { kind: 'failed' }> | null
}

/** How the request ended. A stream that broke off or carried an error is a failure although its status was 200. */
export function outcomeOf(exchange: Exchange, stream: StreamResult | null): Outcome {
  if (exchange.failure !== null) return { kind: 'failed', ...exchange.failure }
  if (stream?.failure) return stream.failure
  return { kind: 'answered', status: exchange.status ?? 0 }
}

/** What of a body is wanted: a fingerprint of it, and no more than so many bytes when it is decoded. */
export type Wanted = { readonly digest: boolean; readonly maxBytes: number }

/** What came back; null when not even the headers did. */
export function answerOf(exchange: Exchange, stream: StreamResult | null, wanted: Wanted): Answer | null {
  if (exchange.status === null) return null
  const body: Body = stream === null ? bodyOf(exchange, wanted) : { kind: 'stream', stream: stream.reading }
  return { status: exchange.status, headers: exchange.headers, bytes: exchange.bytes, body }
}

const clippedAboveBytes = 4096
const longestString = 256
const longestHead = 512
const deepestNesting = 64

function bodyOf({ body, headers }: Exchange, wanted: Wanted): Body {
  const decoded = decodeBody(body, headers['content-encoding'], wanted.maxBytes)
  if (decoded.kind === 'undecodable') return decoded
  const { bytes } = decoded
  if (bytes.length === 0) return { kind: 'empty' }
  const digest = wanted.digest ? createHash('sha256').update(bytes).digest('base64url').slice(0, 22) : null
  const text = bytes.toString('utf8')
  try {
    const value: unknown = JSON.parse(text)
    return { kind: 'json', value: bytes.length > clippedAboveBytes ? clip(value) : value, digest }
  } catch {
    return { kind: 'text', head: text.slice(0, longestHead), digest }
  }
}

/**
 * The same value with its long strings cut, so that an observation stays small and its shape can still be judged. What
 * is nested deeper than any real answer is cut, too: a parser reads it without end, but whoever writes it again runs
 * out of stack.
 */
function clip(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return value.length > longestString ? value.slice(0, longestString) : value
  if (typeof value !== 'object' || value === null) return value
  if (depth === deepestNesting) return null
  if (Array.isArray(value)) return value.map(member => clip(member, depth + 1))
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, clip(member, depth + 1)]))
}
