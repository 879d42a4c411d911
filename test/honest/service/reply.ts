import { brotliCompressSync, gzipSync } from 'node:zlib'
import type { Variant } from './variant.ts'

export type Header = readonly [name: string, value: string]
export type Json = Readonly<Record<string, unknown>>

export type Body =
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'bytes'; readonly bytes: Buffer }
  | { readonly kind: 'events'; readonly chunks: readonly Json[]; readonly paceMs: number }

export type Reply = {
  readonly status: number
  readonly type: string
  readonly headers: readonly Header[]
  readonly body: Body
  /** The content coding, if the body is to be compressed. */
  readonly encoding: 'gzip' | 'br' | null
}

export const json = (status: number, value: unknown, headers: readonly Header[] = []): Reply => ({
  status,
  type: 'application/json',
  headers,
  body: { kind: 'json', value },
  encoding: null,
})

export const headerOf = ({ headers }: Reply, name: string): string | undefined =>
  headers.find(([other]) => other.toLowerCase() === name.toLowerCase())?.[1]

export const withHeader = (reply: Reply, name: string, value: string): Reply => ({
  ...reply,
  headers: [...withoutHeader(reply, name).headers, [name, value]],
})

export const withoutHeader = (reply: Reply, name: string): Reply => ({
  ...reply,
  headers: reply.headers.filter(([other]) => other.toLowerCase() !== name.toLowerCase()),
})

export const objectIn = ({ body }: Reply): Json | null =>
  body.kind === 'json' && typeof body.value === 'object' && body.value !== null && !Array.isArray(body.value)
    ? (body.value as Json)
    : null

export const withValue = (reply: Reply, value: unknown): Reply => ({ ...reply, body: { kind: 'json', value } })

const spelled = (name: string, { headerCase }: Variant): string =>
  ({ documented: name, upper: name.toUpperCase(), lower: name.toLowerCase() })[headerCase]

/** The headers as they are sent. */
function rawHeaders(reply: Reply, variant: Variant, more: readonly Header[]): string[] {
  const extra = Array.from(
    { length: variant.extraHeaders },
    (_, index) => [`X-Edge-Hop-${index + 1}`, `${index}`] as const,
  )
  const all: readonly Header[] = [...extra, ['Content-Type', reply.type], ...reply.headers, ...more]
  return all.flatMap(([name, value]) => [spelled(name, variant), variant.headerSpaces ? `  ${value}  ` : value])
}

/** A response as it goes over the wire. */
export type Wire = {
  readonly status: number
  /** Names and values in turn. */
  readonly headers: readonly string[]
  /** The body, and how long to wait after each part. */
  readonly parts: readonly { readonly bytes: Buffer; readonly pauseMs: number }[]
}

export function onWire(reply: Reply, variant: Variant): Wire {
  const { status, body, encoding } = reply
  const connection: readonly Header[] =
    variant.connections === 'kept' ? [] : [['Connection', variant.connections === 'closed' ? 'close' : 'keep-alive']]
  if (body.kind === 'events')
    return { status, headers: rawHeaders(reply, variant, connection), parts: eventParts(body, variant) }
  const plain =
    body.kind === 'bytes' ? body.bytes : Buffer.from(JSON.stringify(body.value, null, variant.pretty ? 2 : undefined))
  const bytes = encoding === null ? plain : (encoding === 'br' ? brotliCompressSync : gzipSync)(plain)
  const coding: readonly Header[] = encoding === null ? [] : [['Content-Encoding', encoding]]
  if (variant.framing === 'length') {
    const length: Header = ['Content-Length', `${bytes.length}`]
    const headers = rawHeaders(reply, variant, [...connection, ...coding, length])
    return { status, headers, parts: [{ bytes, pauseMs: 0 }] }
  }
  const half = Math.ceil(bytes.length / 2)
  const parts = [
    { bytes: bytes.subarray(0, half), pauseMs: 1 },
    { bytes: bytes.subarray(half), pauseMs: 0 },
  ]
  return { status, headers: rawHeaders(reply, variant, [...connection, ...coding]), parts }
}

function eventParts({ chunks, paceMs }: Extract<Body, { kind: 'events' }>, { sse, deltas }: Variant): Wire['parts'] {
  const end = sse === 'crlf' ? '\r\n' : '\n'
  const space = sse === 'no-space' ? '' : ' '
  const event = (data: string) => `data:${space}${data}${end}${end}`
  const events = chunks.map((chunk, index) => {
    const text = event(typeof chunk.raw === 'string' ? chunk.raw : JSON.stringify(chunk))
    return sse === 'comments' && index % 3 === 0 ? `: keep-alive${end}${end}${text}` : text
  })
  const step = deltas === 'several-per-write' ? 4 : 1
  const welcome = sse === 'comments' ? [{ bytes: Buffer.from(`: welcome${end}${end}`), pauseMs: 0 }] : []
  const writes = Array.from({ length: Math.ceil(events.length / step) }, (_, index) => ({
    bytes: Buffer.from(events.slice(index * step, (index + 1) * step).join('')),
    pauseMs: paceMs,
  }))
  return [...welcome, ...writes]
}
