import type { ServerResponse } from 'node:http'
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

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

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

export async function send(reply: Reply, response: ServerResponse, variant: Variant): Promise<void> {
  response.sendDate = false
  const connection: readonly Header[] =
    variant.connections === 'kept' ? [] : [['Connection', variant.connections === 'closed' ? 'close' : 'keep-alive']]
  if (reply.body.kind === 'events') {
    response.writeHead(reply.status, rawHeaders(reply, variant, connection))
    await sendEvents(reply.body, response, variant)
    return
  }
  const plain =
    reply.body.kind === 'bytes'
      ? reply.body.bytes
      : Buffer.from(JSON.stringify(reply.body.value, null, variant.pretty ? 2 : undefined))
  const bytes = reply.encoding === null ? plain : (reply.encoding === 'br' ? brotliCompressSync : gzipSync)(plain)
  const coding: readonly Header[] = reply.encoding === null ? [] : [['Content-Encoding', reply.encoding]]
  if (variant.framing === 'length') {
    const length: Header = ['Content-Length', `${bytes.length}`]
    response.writeHead(reply.status, rawHeaders(reply, variant, [...connection, ...coding, length]))
    response.end(bytes)
    return
  }
  response.writeHead(reply.status, rawHeaders(reply, variant, [...connection, ...coding]))
  const half = Math.ceil(bytes.length / 2)
  response.write(bytes.subarray(0, half))
  await pause(1)
  response.end(bytes.subarray(half))
}

async function sendEvents(
  { chunks, paceMs }: Extract<Body, { kind: 'events' }>,
  response: ServerResponse,
  { sse, deltas }: Variant,
): Promise<void> {
  const end = sse === 'crlf' ? '\r\n' : '\n'
  const space = sse === 'no-space' ? '' : ' '
  const event = (data: string) => `data:${space}${data}${end}${end}`
  const events = chunks.map((chunk, index) => {
    const text = event(typeof chunk.raw === 'string' ? chunk.raw : JSON.stringify(chunk))
    return sse === 'comments' && index % 3 === 0 ? `: keep-alive${end}${end}${text}` : text
  })
  const step = deltas === 'several-per-write' ? 4 : 1
  if (sse === 'comments') response.write(`: welcome${end}${end}`)
  for (let index = 0; index < events.length; index += step) {
    if (response.destroyed) return
    response.write(events.slice(index, index + step).join(''))
    await pause(paceMs)
  }
  response.end()
}
