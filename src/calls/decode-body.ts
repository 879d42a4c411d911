import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib'

/** A body as it was before it was compressed, or why it cannot be told. */
export type Decoded =
  | { readonly kind: 'decoded'; readonly bytes: Buffer }
  | { readonly kind: 'undecodable'; readonly encoding: string; readonly why: string }

type Decode = (bytes: Buffer, options: { readonly maxOutputLength: number }) => Buffer

/** A service may answer with one that it was not asked for; what can be read is read, and the encoding judged. */
const decoders: ReadonlyMap<string, Decode> = new Map([
  ['gzip', gunzipSync],
  ['x-gzip', gunzipSync],
  ['br', brotliDecompressSync],
  ['deflate', inflateSync],
])

const longestName = 64

/** Undoes the Content-Encoding of a body. What becomes longer than `maxBytes` is given up, however short it came. */
export function decodeBody(bytes: Buffer, contentEncoding: string | undefined, maxBytes: number): Decoded {
  const encoding = (contentEncoding ?? '').trim().toLowerCase()
  if (encoding === '' || encoding === 'identity' || bytes.length === 0) return { kind: 'decoded', bytes }
  const decode = decoders.get(encoding)
  const fail = (why: string): Decoded => ({ kind: 'undecodable', encoding: encoding.slice(0, longestName), why })
  if (decode === undefined) return fail('unknown encoding')
  try {
    return { kind: 'decoded', bytes: decode(bytes, { maxOutputLength: maxBytes }) }
  } catch (cause) {
    if (!(cause instanceof Error)) throw cause
    return fail(cause.message)
  }
}
