import { createHash } from 'node:crypto'
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib'
import { parseJson } from '../../lib/json.ts'
import type { Mask } from '../../lib/mask/mask.ts'
import type { Body, ObservedResponse, Outcome } from '../../observation/observation.ts'
import { maxValueLength } from '../transport/headers.ts'
import type { Exchange, TransportFailure } from '../transport/transport.ts'
import type { ReadStream } from './stream-reader.ts'

/**
 * How the request ended. A stream that was truncated or contained an error is a failure, although its status is 200.
 */
export function outcomeOf(exchange: Exchange, stream: ReadStream | null): Outcome {
  const failure = exchange.failure ?? stream?.failure ?? null
  if (failure !== null) return { kind: 'failed', ...failure }
  return { kind: 'answered', status: exchange.status ?? 0 }
}

/** The exchange without secrets in its headers and in the message of its failure. Its body is masked when it is read. */
export function maskExchange(exchange: Exchange, mask: Mask): Exchange {
  const headers = mask.headers(exchange.headers, maxValueLength)
  const { failure } = exchange
  const isSame = headers === exchange.headers && failure === null
  return isSame ? exchange : { ...exchange, headers, failure: failure && maskFailure(failure, mask) }
}

const maxDetailLength = 160

const maskFailure = ({ reason, detail }: TransportFailure, mask: Mask): TransportFailure => ({
  reason,
  detail: mask.beginning(detail, maxDetailLength),
})

/** `digest`: keep a fingerprint of the body. `maxBytes`: the maximum length of the decoded body. */
export type BodyOptions = { readonly digest: boolean; readonly maxBytes: number; readonly mask: Mask }

/** The response as stored in an observation; null if no headers arrived. */
export function responseOf(
  exchange: Exchange,
  stream: ReadStream | null,
  options: BodyOptions,
): ObservedResponse | null {
  if (exchange.status === null) return null
  const body: Body = stream === null ? bodyOf(exchange, options) : { kind: 'stream', stream: stream.reading }
  return { status: exchange.status, headers: exchange.headers, bytes: exchange.bytes, body }
}

const clippedAboveBytes = 4096
const maxStringLength = 256
const maxTextLength = 512
const maxDepth = 64

function bodyOf({ body, headers }: Exchange, options: BodyOptions): Body {
  const decoded = decodeBody(body, headers['content-encoding'], options.maxBytes)
  if (decoded.kind === 'undecodable') return decoded
  const { mask } = options
  const { bytes } = decoded
  if (bytes.length === 0) return { kind: 'empty' }
  const digest = options.digest ? createHash('sha256').update(bytes).digest('base64url').slice(0, 22) : null
  const text = bytes.toString('utf8')
  const value = parseJson(text)
  if (value === undefined) return { kind: 'text', head: mask.beginning(text, maxTextLength), digest }
  const masked = mask.isIn(text) ? mask.json(value) : value
  return { kind: 'json', value: bytes.length > clippedAboveBytes ? cutStrings(masked) : masked, digest }
}

/**
 * The same value with its long strings cut: the observation stays small, and checks still see the shape. Also replaces
 * values that are nested too deep: the JSON parser has no depth limit, but serializing them would overflow the stack.
 */
function cutStrings(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return value.length > maxStringLength ? value.slice(0, maxStringLength) : value
  if (typeof value !== 'object' || value === null) return value
  if (depth === maxDepth) return null
  if (Array.isArray(value)) return value.map(member => cutStrings(member, depth + 1))
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, cutStrings(member, depth + 1)]))
}

/** A body without its compression, or why it cannot be decompressed. */
export type DecodedBody =
  | { readonly kind: 'decoded'; readonly bytes: Buffer }
  | { readonly kind: 'undecodable'; readonly encoding: string; readonly why: string }

type Decode = (bytes: Buffer, options: { readonly maxOutputLength: number }) => Buffer

/** Includes encodings that the request did not accept. Turnpike still reads the body; a check flags the encoding. */
const decoders: ReadonlyMap<string, Decode> = new Map([
  ['gzip', gunzipSync],
  ['x-gzip', gunzipSync],
  ['br', brotliDecompressSync],
  ['deflate', inflateSync],
])

const maxEncodingLength = 64

/** Undoes the Content-Encoding of a body. Gives up if the result would be longer than `maxBytes`. */
export function decodeBody(bytes: Buffer, contentEncoding: string | undefined, maxBytes: number): DecodedBody {
  const encoding = (contentEncoding ?? '').trim().toLowerCase()
  if (encoding === '' || encoding === 'identity' || bytes.length === 0) return { kind: 'decoded', bytes }
  const decode = decoders.get(encoding)
  if (decode === undefined) return undecodable(encoding, 'unknown encoding')
  try {
    return { kind: 'decoded', bytes: decode(bytes, { maxOutputLength: maxBytes }) }
  } catch (cause) {
    if (!(cause instanceof Error)) throw cause
    return undecodable(encoding, cause.message)
  }
}

const undecodable = (encoding: string, why: string): DecodedBody => ({
  kind: 'undecodable',
  encoding: encoding.slice(0, maxEncodingLength),
  why,
})
