import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import type { Reply } from './message.ts'

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
