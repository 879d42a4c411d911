import { createHash } from 'node:crypto'
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib'
import { parseJson } from '../../lib/json.ts'
import type { Mask } from '../../lib/mask/mask.ts'
import { is2xx } from '../../lib/numbers.ts'
import {
  type Body,
  isLocalFault,
  type ObservedResponse,
  type Outcome,
  recordedLength,
} from '../../observation/observation.ts'
import { maxValueLength } from '../transport/headers.ts'
import type { Exchange, TransportFailure } from '../transport/transport.ts'
import type { ReadStream } from './stream-reader.ts'

/**
 * How the request ended. A stream that was truncated or contained an error is a failure, although its status is 200. A
 * request for which this machine could not open a connection is not a failure of the target: it was never sent.
 */
export function outcomeOf(exchange: Exchange, stream: ReadStream | null): Outcome {
  const failure = exchange.failure ?? stream?.failure ?? null
  if (failure !== null) {
    const { reason, detail } = failure
    if (reason === 'left') return { kind: 'left', after: detail }
    return isLocalFault(reason) ? { kind: 'dropped', reason } : { kind: 'failed', reason, detail }
  }
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
  const { status, headers, bytes } = exchange
  return exchange.headersCut ? { status, headers, headersCut: true, bytes, body } : { status, headers, bytes, body }
}

const clippedAboveBytes = 4096
const maxTextLength = 512
/** Members of one list or object, and values of one body. */
const maxMembers = 1_024
const maxValues = 100_000

function bodyOf({ status, body, headers }: Exchange, options: BodyOptions): Body {
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
  const isShort = bytes.length <= clippedAboveBytes
  if (isShort && !mayOverflow.test(text)) return { kind: 'json', value: masked, digest }
  const bound = boundBody(masked, isShort ? clippedAboveBytes : recordedLength.body, is2xx(status))
  return bound.cut
    ? { kind: 'json', value: bound.value, cut: true, digest }
    : { kind: 'json', value: bound.value, digest }
}

/** Whether a text may contain a number beyond any double. The log has no infinity, so such a number counts as null. */
const mayOverflow = /\d[eE]\+?\d{3}|\d{309}/

type Container = unknown[] | Record<string, unknown>
type Pending = { readonly from: object; readonly to: Container }

/**
 * The same value, small enough for an observation: long strings, lists and objects are cut. The outer levels are copied
 * first, so what is cut lies deep. The texts of a success may be shortened without a mark, as only their beginning is
 * judged. The message of an error must name every method.
 */
function boundBody(
  root: unknown,
  maxString: number,
  isSuccess: boolean,
): { readonly value: unknown; readonly cut: boolean } {
  const pending: Pending[] = []
  let values = 0
  let cut = false

  const copy = (value: unknown): unknown => {
    values++
    if (typeof value === 'string' && value.length > maxString && !isBloom(value)) {
      cut ||= !isSuccess
      return value.slice(0, maxString)
    }
    if (typeof value === 'number') return Number.isFinite(value) ? value : null
    if (typeof value !== 'object' || value === null) return value
    const to: Container = Array.isArray(value) ? [] : {}
    pending.push({ from: value, to })
    return to
  }

  const value = copy(root)
  // The list grows while it is read.
  for (const { from, to } of pending) {
    const isList = Array.isArray(from)
    const entries: readonly (readonly [string, unknown])[] = isList
      ? from.slice(0, maxMembers).map(member => ['', member])
      : Object.entries(from).slice(0, maxMembers)
    if ((isList ? from.length : Object.keys(from).length) > maxMembers || values + entries.length > maxValues)
      cut = true
    if (values + entries.length > maxValues) continue
    for (const [key, member] of entries) {
      if (Array.isArray(to)) to.push(copy(member))
      else setMember(to, key.slice(0, recordedLength.body), copy(member))
    }
  }
  return { value, cut }
}

/** Of logs, which are compared whole. */
const isBloom = (value: string): boolean => value.length === 514 && /^0x[0-9a-f]*$/i.test(value)

/** Also sets a member called `__proto__`. */
function setMember(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__')
    Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
  else object[name] = value
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
