import { UpstreamError } from './failure.ts'

/** A server that the service forwards to. */
export type Upstream = {
  /** Posts JSON. Rejects with an `UpstreamError`; also when `signal` aborts. */
  readonly post: (place: Place, body: string, signal: AbortSignal) => Promise<UpstreamReply>
  /** Tells the operator of the service about a failure. Callers do not see it. */
  readonly warn: (note: string) => void
  readonly close: () => Promise<void>
}

/** What follows the URL, and what replaces `{network}` in it. */
type Place = { readonly path?: string; readonly network?: string }

export type UpstreamReply = {
  readonly status: number
  readonly contentType: string
  /** The header `Retry-After`; null if there is none. */
  readonly retryAfter: string | null
  /** Iterating rejects with an `UpstreamError`. Ending it early closes the connection. */
  readonly body: AsyncIterable<Buffer>
}

/** The whole body as a text. Throws an `UpstreamError` if it is longer than `maxBytes`. */
export async function wholeText({ body }: UpstreamReply, maxBytes: number): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of body) {
    bytes += part.length
    if (bytes > maxBytes) throw new UpstreamError(500, `An upstream sent more than ${maxBytes} bytes.`)
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}
